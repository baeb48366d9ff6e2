"""Contract: what a release of draws promises alone, by the law of its own losses: never below the exact ε, at most 1.10 above it.

Exact is the largest of *every* neighbouring pair, both directions, by convolutions written apart (`privacy_loss.py`), on tables
written apart too; where that is too much, of the pairs that are farthest apart at the three orders which convert best, which can
only make a ratio look larger.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint, likelihood_power
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.drawn_cost import drawn_cost
from tests.contracts.charge_cases import DELTA, DRAWS, Setting, random_settings
from tests.contracts.converted_cases import family_figures
from tests.contracts.privacy_loss import exact_epsilon, loss_of
from tests.contracts.test_converted_charges import RARE, RARER, ROUNDING
from tests.core.brute_force import epsilon_by_rdp
from tests.core.families.drawn_tables import drawn_tables
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.deep import deep

LIMIT = 1.10
PEOPLE_FEW = Setting("binomial", prior=4, trim=0, people=11, unit_rows=1, steps=1, temperature=1.0)
SEVERAL_ROWS = Setting("pareto", prior=0, trim=0, people=3, unit_rows=3, steps=1, temperature=0.1)
MIDDLING = Setting("poisson", prior=1, trim=0, people=60, unit_rows=1, steps=2, temperature=0.5)


def cost_of(setting: Setting) -> Cost:
    return drawn_cost(setting.model(), setting.people, setting.unit_rows, setting.temperature).cost


def exact_of_every_pair(setting: Setting, draws: int) -> float:
    """Those pairs are left out whose own Rényi curve already converts to less than the largest found."""
    model = setting.model()
    pairs = reachable_pairs(model.statistic.steps, setting.people, setting.unit_rows)
    statistics = sorted({side for pair in pairs for side in pair})
    tables = drawn_tables(model, setting.people * setting.unit_rows, setting.temperature, statistics).astype(float)
    row = dict(zip(statistics, tables, strict=True))
    curves = [[renyi(row[first], row[second], order) for order in ORDERS] for first, second in pairs]
    most = [epsilon_by_rdp(ORDERS, draws * np.array(curve), DELTA) for curve in curves]
    found = 0.0
    for place in np.argsort(most)[::-1]:
        if most[place] > found:
            first, second = pairs[place]
            found = max(found, exact_epsilon([loss_of(row[first], row[second])], draws, DELTA))
    return found


def renyi(log_p: NDArray[np.float64], log_q: NDArray[np.float64], order: float) -> float:
    return float(np.logaddexp.reduce(order * log_p + (1 - order) * log_q)) / (order - 1)


@pytest.mark.parametrize("setting", [PEOPLE_FEW, RARE, deep(SEVERAL_ROWS), deep(RARER), deep(MIDDLING)], ids=str)
def test_epsilon_alone_is_never_below_that_of_any_pair_nor_a_tenth_above(setting: Setting) -> None:
    cost = cost_of(setting)
    for draws in DRAWS:
        exact = exact_of_every_pair(setting, draws)
        assert exact * (1 - ROUNDING) <= cost.times(draws).alone(DELTA) <= LIMIT * exact, (draws, exact)


@pytest.mark.parametrize(
    "setting", [Setting("bernoulli", 0, 0, 1_000, 1, 1, 1.0), deep(RARER)], ids=lambda each: each.family
)
def test_epsilon_alone_is_near_that_of_the_pairs_that_are_farthest_apart(setting: Setting) -> None:
    for each in family_figures(setting):
        alone = cost_of(setting).times(each.draws).alone(DELTA)
        assert each.exact * (1 - ROUNDING) <= alone <= 1.03 * each.exact
        assert alone < each.charged * (1 - 0.02)


@pytest.mark.deep
@pytest.mark.parametrize(("seed", "unit_rows", "count"), [(71, 1, 60), (72, 2, 20), (73, 3, 12), (74, 1, 60)])
def test_a_search_finds_no_release_whose_epsilon_alone_is_a_tenth_above_its_exact_one(
    seed: int, unit_rows: int, count: int
) -> None:
    for setting in random_settings(seed, unit_rows, count):
        cost = cost_of(setting)
        for each in family_figures(setting):
            alone = cost.times(each.draws).alone(DELTA)
            assert each.exact * (1 - ROUNDING) <= alone <= each.charged, (setting, each)
            if each.exact >= 0.001:
                assert alone <= LIMIT * each.exact, (setting, each)


def test_it_grows_with_draws_and_falls_with_delta_and_is_not_kept_in_sums() -> None:
    cost = cost_of(PEOPLE_FEW)
    by_draws = [cost.times(draws).alone(DELTA) for draws in (1, 2, 3, 10, 11, 100)]
    assert by_draws == sorted(by_draws)
    by_delta = [cost.times(10).alone(delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert cost.times(2).times(5).alone(DELTA) == cost.times(10).alone(DELTA)
    assert ZERO_COST.plus(cost).alone(DELTA) == cost.alone(DELTA) == cost.plus(ZERO_COST).alone(DELTA)
    other = cost_of(RARE)
    for together in (cost.plus(other), cost.plus(cost), other.times(3).plus(cost)):
        assert together.losses is None
        assert together.alone(DELTA) == together.epsilon(DELTA)
    assert cost.times(10).alone(0.0) == cost.times(10).epsilon(0.0) == cost.times(10).pure


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_a_point_by_its_log_density_is_one_draw_at_a_power(epsilon: float) -> None:
    model = PEOPLE_FEW.model()
    cost = MapPoint(epsilon, "log_density").cost(model, 30, 1)
    power = likelihood_power(model, epsilon, 30, 1)
    setting = replace(PEOPLE_FEW, people=30, temperature=power)
    exact = exact_of_every_pair(setting, 1)
    assert exact * (1 - ROUNDING) <= cost.total.alone(DELTA) <= LIMIT * exact
    assert cost.total.alone(DELTA) == cost_of(setting).alone(DELTA)


def test_where_pairs_are_too_many_to_visit_the_curve_says_it() -> None:
    total = Baps(samples=100).cost(bernoulli("cured"), 10**6, unit_rows=1).total
    assert total.alone(DELTA) == total.epsilon(DELTA)
