"""Costs add and convert as they should, refuse nonsense, and cover the exact δ(ε) of enumerated pairs."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.privacy import ORDERS, ZERO_COST, Cost, conversion_offset
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.errors import NumericalFailure
from tests.core.brute_force import Neighbourhood, Prior, epsilon_by_rdp, public_points

FLAT = (0.1,) * len(ORDERS)
amounts = st.floats(0, 1e6, allow_nan=False)


def cost_of(pure: float, slope: float, slack: float = 0.0) -> Cost:
    return Cost(pure, tuple(min(pure, slope * order) for order in ORDERS), slack)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100, 1000])
def test_repeating_a_cost_is_adding_it_that_many_times(count: int) -> None:
    """A repetition count once ignored in a well-known library charged 100 draws as 1."""
    one = posterior_draw_cost(bernoulli("x"), 20, 1, 1.0).cost
    looped = reduce(lambda total, _: total.plus(one), range(count), ZERO_COST)
    repeated = one.times(count)
    assert repeated.pure == pytest.approx(looped.pure, rel=1e-12)
    assert repeated.curve == pytest.approx(looped.curve, rel=1e-12)
    assert repeated.epsilon(1e-6) == pytest.approx(looped.epsilon(1e-6), rel=1e-12)


@pytest.mark.slow
def test_a_release_of_n_samples_costs_n_times_one_sample() -> None:
    for samples in (1, 2, 50):
        release = Baps(samples).cost(bernoulli("x"), 30, 2)
        assert release.total.curve == pytest.approx([samples * value for value in release.per_sample.curve])
        assert release.total.pure == pytest.approx(samples * release.per_sample.pure)


def test_slack_adds_with_repetition_and_leaves_less_delta() -> None:
    cost = cost_of(5.0, 0.01, 1e-9).times(10)
    assert cost.slack_delta == pytest.approx(1e-8)
    assert cost.epsilon(1e-6) > cost_of(50.0, 0.1).epsilon(1e-6)
    assert cost.epsilon(1e-9) == math.inf


@pytest.mark.parametrize("bad", [math.nan, -1e-9, -math.inf])
def test_nan_and_negative_costs_are_refused(bad: float) -> None:
    for broken in (
        lambda: Cost(bad, FLAT),
        lambda: Cost(1.0, (bad, *FLAT[1:])),
        lambda: Cost(1.0, FLAT, bad),
    ):
        with pytest.raises(NumericalFailure):
            broken()


def test_a_curve_of_the_wrong_length_or_an_infinite_order_below_a_finite_pure_is_refused() -> None:
    with pytest.raises(NumericalFailure):
        Cost(1.0, FLAT[:-1])
    with pytest.raises(NumericalFailure):
        Cost(1.0, (*FLAT[:-1], math.inf))
    assert Cost(math.inf, (*FLAT[:-1], math.inf)).pure == math.inf


def test_a_negative_repetition_and_a_whole_delta_of_slack_are_refused() -> None:
    with pytest.raises(NumericalFailure):
        cost_of(1.0, 0.1).times(-1)
    with pytest.raises(NumericalFailure):
        Cost(1.0, FLAT, 1.0)


@pytest.mark.parametrize("delta", [math.nan, -1e-9])
def test_an_impossible_delta_never_gives_a_finite_epsilon(delta: float) -> None:
    assert cost_of(3.0, 0.1).epsilon(delta) == math.inf


def test_without_delta_only_the_pure_cost_counts() -> None:
    assert cost_of(3.0, 0.1).best_order(0.0) == (3.0, None)


@given(amounts, amounts, amounts, amounts)
def test_adding_costs_is_commutative_and_never_lowers_epsilon(a: float, b: float, c: float, d: float) -> None:
    first, second = cost_of(a, b), cost_of(c, d)
    both, swapped = first.plus(second), second.plus(first)
    assert both == swapped
    assert both.epsilon(1e-6) >= max(first.epsilon(1e-6), second.epsilon(1e-6)) * (1 - 1e-12)


@given(amounts, st.floats(1e-15, 0.5), st.floats(1e-15, 0.5))
def test_a_larger_delta_never_costs_more(slope: float, one: float, other: float) -> None:
    cost = cost_of(math.inf, slope)
    assert cost.epsilon(max(one, other)) <= cost.epsilon(min(one, other)) + 1e-12


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("samples", [1, 10, 100])
def test_the_conversion_agrees_with_dp_accounting(samples: int, delta: float) -> None:
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    for people in (5, 100, 1000):
        total = Baps(samples).cost(bernoulli("x"), people, 1).total
        converted = Cost(math.inf, total.curve).epsilon(delta)
        theirs, _ = rdp.compute_epsilon(ORDERS, total.curve, delta)
        assert converted == pytest.approx(theirs, abs=1e-9)
        assert converted == pytest.approx(epsilon_by_rdp(ORDERS, np.array(total.curve), delta), abs=1e-9)


def test_the_conversion_offset_is_the_formula_written_out() -> None:
    for order in ORDERS:
        written = math.log(1 - 1 / order) - math.log(1e-6 * order) / (order - 1)
        assert conversion_offset(order, 1e-6) == pytest.approx(written, rel=1e-9, abs=1e-15)


def exact_delta(log_p: np.ndarray, log_q: np.ndarray, epsilon: float) -> float:
    """sup over events of P − e^ε·Q, by definition, for tables with a share 2⁻²⁴ of the uniform one: what is drawn from."""
    p, q = ((1 - 2**-24) * np.exp(log) + 2**-24 / len(log) for log in (log_p, log_q))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize(("people", "unit_rows"), [(6, 1), (3, 2)])
def test_one_sample_keeps_its_epsilon_and_delta_on_every_pair(people: int, unit_rows: int, delta: float) -> None:
    model = bernoulli("x", 5, 2, 0.05)
    epsilon = Baps(1).cost(model, people, unit_rows).total.epsilon(delta)
    points = public_points(model, people, unit_rows, 1.0)
    pairs = Neighbourhood(points, Prior(5, 2), 1.0, people, unit_rows)
    worst = max(
        exact_delta(pairs.log_p[x], pairs.log_p[y], epsilon) for x, y in zip(pairs.first, pairs.second, strict=True)
    )
    assert worst <= delta


def test_ten_samples_keep_their_epsilon_and_delta_on_the_worst_pairs() -> None:
    """Privacy-loss distributions of dp_accounting, rounded against us, one direction at a time, composed ten times."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    people, delta = 6, 1e-3
    model = bernoulli("x", 1, 1, 0.05)
    total = Baps(10).cost(model, people, 1).total
    epsilon = total.epsilon(delta)
    exact = Neighbourhood(public_points(model, people, 1, 1.0), Prior(1, 1), 1.0, people, 1)
    deltas = []
    for x, y in zip(exact.first, exact.second, strict=True):
        lower, upper = (dict(enumerate(exact.log_p[v].tolist())) for v in (y, x))
        one = pld.from_two_probability_mass_functions(
            lower, upper, pessimistic_estimate=True, value_discretization_interval=1e-3, symmetric=False
        )
        deltas.append(one.self_compose(10).get_delta_for_epsilon(epsilon))
    assert 0 < max(deltas) <= delta
