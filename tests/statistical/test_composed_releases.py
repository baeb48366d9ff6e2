"""The (ε, δ) of a composed release against two accounts that are not ours: dp-accounting's conversion, and the exact one.

The privacy-loss distribution of a pair, convolved N times and rounded pessimistically, is an upper bound of the pair's
true ε at δ that is exact up to its rounding; no release may be charged less than the worst pair needs.
"""

import math

import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import privacy_loss_distribution

from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.privacy import ORDERS, ZERO_COST
from app.core.privacy.cost import epsilon_of_curve
from tests.core.families.family_cases import build, exact_tables
from tests.deep import deep

DELTA = 1e-6
INTERVAL = 2e-3
TIMES = (1, 10, 100)
CASES = [
    ("bernoulli", 20, 1),
    deep("bernoulli", 100, 7),
    deep("poisson", 12, 5),
    ("normal_mean", 12, 5),
    deep("exponential", 12, 7),
]
"""(family, people, every so many statistics): all pairs are in the documentation's table."""


def exact_epsilons(model: Model, people: int, stride: int, interval: float = INTERVAL) -> list[float]:
    """The worst pair's ε at δ for each N, both directions (`symmetric` would leave one out), of the table really drawn."""
    steps = model.statistic.steps
    grid = model.grid(people, 1.0)
    totals = range(people * steps + 1)
    log_p = exact_tables(model, grid, [(total, people) for total in totals])
    tables = np.log((1 - 2**-24) * np.exp(log_p) + 2**-24 / grid.size).astype(np.float64).tolist()
    best = [0.0] * len(TIMES)
    for total in range(0, (people - 1) * steps + 1, stride):
        one, other = dict(enumerate(tables[total])), dict(enumerate(tables[total + steps]))
        loss = privacy_loss_distribution.from_two_probability_mass_functions(
            one, other, pessimistic_estimate=True, value_discretization_interval=interval, symmetric=False
        )
        for i, times in enumerate(TIMES):
            composed = loss if times == 1 else loss.self_compose(times)
            best[i] = max(best[i], composed.get_epsilon_for_delta(DELTA))
    return best


@pytest.mark.parametrize(("family", "people", "stride"), CASES)
def test_no_release_is_charged_less_than_its_exact_privacy_loss(family: str, people: int, stride: int) -> None:
    model = build(family)
    exact = exact_epsilons(model, people, stride)
    for times, needed in zip(TIMES, exact, strict=True):
        charged = Baps(times).cost(model, people, 1).total.epsilon(DELTA)
        assert charged >= needed - INTERVAL * times  # a pure cost has no room for their rounding
        assert charged <= 1.25 * needed


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "normal_mean", "pareto"])
def test_conversion_equals_that_of_dp_accounting(family: str) -> None:
    model = build(family)
    for people, times, delta in ((20, 1, 1e-6), (20, 10, 1e-9), (100, 100, 1e-6), (100, 1, 1e-3)):
        curve = Baps(times).cost(model, people, 1).total.curve
        theirs, order = rdp.compute_epsilon(ORDERS, curve, delta)
        ours, our_order = epsilon_of_curve(curve, delta)
        assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
        assert ours == 0 or order == our_order


def test_composing_is_a_loop_of_single_draws() -> None:
    """A known fault elsewhere: a repetition count that was ignored, so a hundred draws cost as much as one."""
    one = Baps(1).cost(build("bernoulli"), 50, 1).total
    looped = ZERO_COST
    for times in range(1, 101):
        looped = looped.plus(one)
        composed = Baps(times).cost(build("bernoulli"), 50, 1).total
        assert composed.pure == pytest.approx(looped.pure, rel=1e-12)
        assert composed.curve == pytest.approx(looped.curve, rel=1e-12)
    assert looped.epsilon(DELTA) > 10 * one.epsilon(DELTA)
