"""A cost that cannot be computed, or says nothing, never looks like a small one."""

import math
from dataclasses import replace

import pytest

from app.core.kinds.one_parameter.mechanisms import Baps, Laplace, MapPoint, Mechanism
from app.core.noise.discrete_laplace import discrete_laplace_cost
from app.core.privacy import ORDERS, ZERO_COST, Cost
from app.core.privacy.targets import Target
from app.errors import InvalidMechanism, NumericalFailure
from tests.core.families.family_cases import build

FLAT = (1.0,) * len(ORDERS)


@pytest.mark.parametrize("bad", [math.nan, -1e-300, -1.0])
def test_a_cost_that_is_undefined_or_negative_cannot_exist(bad: float) -> None:
    with pytest.raises(NumericalFailure):
        Cost(bad, FLAT)
    with pytest.raises(NumericalFailure):
        Cost(1.0, (bad, *FLAT[1:]))
    with pytest.raises(NumericalFailure):
        Cost(1.0, FLAT, bad)
    with pytest.raises(NumericalFailure):
        Cost(1.0, (math.inf, *FLAT[1:]))


def test_no_delta_leaves_only_the_pure_cost_and_a_delta_below_the_slack_leaves_nothing() -> None:
    cost = Cost(7.0, FLAT, 1e-7)
    assert cost.epsilon(1e-8) == math.inf
    assert cost.epsilon(math.nan) == math.inf
    assert replace(cost, slack_delta=0.0).epsilon(0.0) == 7.0
    assert Cost(math.inf, FLAT).epsilon(0.0) == math.inf
    assert not Target(1e300, 1e-8).fits(replace(Baps(1).cost(build("bernoulli"), 9, 1), per_sample=cost))


@pytest.mark.parametrize("mechanism", [Baps(3), Laplace(3, 0.5), MapPoint(0.5)], ids=lambda m: m.kind)
def test_a_release_costs_something_at_every_order_and_no_more_than_pure(mechanism: Mechanism) -> None:
    for family in ("bernoulli", "poisson", "normal_mean"):
        total = mechanism.cost(build(family), 10**5, 1).total
        assert all(0 < value <= total.pure * (1 + 1e-9) for value in total.curve)
        assert total.epsilon(1e-6) > 0
        assert total.epsilon(1e-12) >= total.epsilon(1e-6)


def test_repeating_a_cost_counts_every_repetition() -> None:
    cost = Cost(0.25, FLAT, 1e-9)
    assert cost.times(1000).pure == 250.0
    assert cost.times(1000).slack_delta == pytest.approx(1e-6)
    assert cost.times(0) == ZERO_COST
    with pytest.raises(NumericalFailure):
        cost.times(-1)


@pytest.mark.parametrize(("shift", "scale"), [(0, 1.0), (1, 0.0), (1, -1.0), (1, math.nan), (-3, 1.0)])
def test_noise_that_protects_nothing_has_no_price(shift: int, scale: float) -> None:
    with pytest.raises(ValueError, match="shift"):
        discrete_laplace_cost(shift, scale)


@pytest.mark.parametrize("temperature", [0.0, -1.0, 1.0000001, math.nan, math.inf])
def test_a_temperature_outside_its_range_is_refused(temperature: float) -> None:
    with pytest.raises(InvalidMechanism, match="temperature"):
        Baps(1, temperature)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_an_epsilon_that_protects_nothing_is_refused_by_every_constructor(epsilon: float) -> None:
    """Not only when JSON is read: plans and calibration build mechanisms themselves."""
    for build_one in (lambda: Laplace(1, epsilon), lambda: MapPoint(epsilon)):
        with pytest.raises(InvalidMechanism, match="epsilon"):
            build_one()
