"""Whatever is predicted, what is found fits, a little more does not, and the ends are judged by their true cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.one_parameter.calibration import largest_temperature, smallest_trim
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.privacy import ORDERS, Cost
from app.core.privacy.boundary_search import WIDTH, BoundarySearch
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.privacy.targets import UNITS, Target
from tests.core.families.family_cases import build
from tests.deep import deep_unless

pytestmark = pytest.mark.slow

DELTA = 1e-6
BEYOND = 2e-3
Prediction = Callable[[float], NDArray[np.float64]]


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    posterior_draw_cost.cache_clear()


def normal_shape(x: float) -> NDArray[np.float64]:
    """α/2·v with v = eˣ, and a pure cost of 3·√v that bounds every order: as of a posterior far from its ends."""
    v = math.exp(x)
    return np.append(np.minimum(np.array(ORDERS) / 2 * v, 3 * math.sqrt(v)), 3 * math.sqrt(v))


@dataclass
class Truth:
    """The same with a step and the rounding of certified costs; counts how often it is asked."""

    asked: list[float] = field(default_factory=list)

    def __call__(self, x: float) -> Cost:
        self.asked.append(x)
        *curve, pure = normal_shape(x) * (1.1 if x > -2.5 else 1.0) * (1 + 3e-4 * math.sin(1e4 * x) ** 2)
        return Cost(pure, tuple(curve))

    def epsilon(self, x: float) -> float:
        *curve, pure = normal_shape(x) * (1.1 if x > -2.5 else 1.0) * (1 + 3e-4 * math.sin(1e4 * x) ** 2)
        return Cost(pure, tuple(curve)).epsilon(DELTA)


PREDICTIONS: dict[str, Prediction] = {
    "right": normal_shape,
    "too low": lambda x: normal_shape(x) / 10,
    "too high": lambda x: normal_shape(x) * 10,
    "too steep": lambda x: normal_shape(2 * x + 3),
    "flat": lambda x: normal_shape(-3.0),
    "falling": lambda x: normal_shape(-6 - x),
    "jagged": lambda x: normal_shape(math.floor(4 * x) / 4),
    "undefined": lambda x: np.full(len(ORDERS) + 1, np.nan),
    "nothing": lambda x: np.zeros(len(ORDERS) + 1),
}


@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.7, 1.6, 2.5])
@pytest.mark.parametrize("start", [-12.0, -3.0, 0.0])
def test_the_boundary_is_found_from_any_prediction(prediction: str, epsilon: float, start: float) -> None:
    truth = Truth()
    found = BoundarySearch(truth, PREDICTIONS[prediction], (epsilon, DELTA), (-20.0, 0.0), start).largest()
    assert found is not None
    assert found in truth.asked
    assert truth.epsilon(found) <= epsilon
    assert truth.epsilon(found + BEYOND) > epsilon


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_ends_are_judged_by_their_own_cost(prediction: str) -> None:
    for epsilon, expected in ((1e-9, None), (50.0, 0.0)):
        truth = Truth()
        found = BoundarySearch(truth, PREDICTIONS[prediction], (epsilon, DELTA), (-20.0, 0.0), -3.0).largest()
        assert found == expected
        assert (-20.0 if expected is None else 0.0) in truth.asked


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_an_end_that_fits_exactly_is_found(prediction: str) -> None:
    for end in (-20.0, 0.0):
        truth = Truth()
        epsilon = truth.epsilon(end)
        found = BoundarySearch(truth, PREDICTIONS[prediction], (epsilon, DELTA), (-20.0, 0.0), -3.0).largest()
        assert found is not None
        assert end <= found <= end + WIDTH


def test_a_good_prediction_needs_two_true_costs() -> None:
    """At targets met below the step."""
    for epsilon in np.geomspace(1e-3, 0.8, 40):
        truth = Truth()
        BoundarySearch(truth, normal_shape, (float(epsilon), DELTA), (-20.0, 0.0), 0.0).largest()
        assert len(truth.asked) <= 2


def wider(model: Model, share: float) -> Model:
    """The same middle in the coordinate the grid is even in, a range wider by `share`."""
    first, last = (model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper))
    more = share * (last - first) / 2
    lower, upper = model.spacing.inverse(np.array([first - more, last + more])).tolist()
    return build(
        model.family,
        model.prior.as_json(),
        lower if model.trim is not None else {"lower": lower, "upper": upper},
        typical=True,
    )


def epsilon_of(model: Model, people: int, mechanism: Baps) -> float:
    return mechanism.cost(model, people, 1).total.epsilon(DELTA)


PEOPLE = [1_000, 100_000, 10_000_000]


def in_turn(family: str, people: int) -> bool:
    """Every other family with one number of people, every number of people with two families."""
    return (sorted(FAMILIES).index(family) + 2 * PEOPLE.index(people)) % 6 == 0


@pytest.mark.cases(2)
@pytest.mark.parametrize(("family", "people"), deep_unless(in_turn, sorted(FAMILIES), PEOPLE))
def test_every_family_is_cooled_to_three_digits_with_three_true_costs(family: str, people: int) -> None:
    model = build(family, typical=True)
    target = Target(0.5 * epsilon_of(model, people, Baps(10)), DELTA)
    posterior_draw_cost.cache_clear()
    temperature = largest_temperature(model, people, 1, 10, target)
    assert posterior_draw_cost.cache_info().misses <= 3
    asked = posterior_draw_cost.cache_info().misses
    assert epsilon_of(model, people, Baps(10, temperature)) <= target.epsilon
    assert posterior_draw_cost.cache_info().misses == asked, "the plan's own cost is known already"
    assert epsilon_of(model, people, Baps(10, temperature * (1 + BEYOND))) > target.epsilon


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("family", "people"),
    deep_unless(
        lambda family, people: sorted(FAMILIES).index(family) % 8 == (0 if people == 1_000 else 1),
        sorted(set(FAMILIES) - {"normal_mean"}),
        [1_000, 10_000_000],
    ),
)
def test_every_family_is_trimmed_to_three_digits_with_three_true_costs(family: str, people: int) -> None:
    """Of the width. A normal mean costs the same in ranges of any width, up to the narrowest: that one is apart."""
    model = build(family, typical=True)
    target = Target(0.8 * epsilon_of(model, people, Baps(10)), DELTA)
    posterior_draw_cost.cache_clear()
    found = smallest_trim(model, people, 1, Baps(10), target)
    asked = posterior_draw_cost.cache_info().misses
    assert asked <= 3
    assert epsilon_of(found, people, Baps(10)) <= target.epsilon
    assert posterior_draw_cost.cache_info().misses == asked, "the plan's own cost is known already"
    assert epsilon_of(wider(found, BEYOND), people, Baps(10)) > target.epsilon


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("family", "unit_rows"),
    deep_unless(
        lambda family, unit_rows: unit_rows == 1,
        sorted(FAMILIES),
        [1, 3],
    ),
)
def test_a_target_of_exactly_what_it_costs_keeps_the_full_likelihood(family: str, unit_rows: int) -> None:
    """In whole units: an account of that target has to admit it."""
    model = build(family)
    cost = Baps(5).cost(model, 40, unit_rows).total.epsilon(DELTA) + 1.01 * UNITS
    assert largest_temperature(model, 40, unit_rows, 5, Target(cost, DELTA)) == 1.0
    if model.trim is None:
        assert smallest_trim(model, 40, unit_rows, Baps(5), Target(cost, DELTA)) == model


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("family", "temperature"),
    deep_unless(
        lambda family, temperature: (sorted(FAMILIES).index(family) % 2 == 0) == (temperature == 1.0),
        sorted(FAMILIES),
        [1.0, 0.05],
    ),
)
def test_predictions_are_within_a_percent_where_orders_are_short(family: str, temperature: float) -> None:
    """Up to order 16 of 10⁵ people, and the pure cost; that saves work, no guarantee rests on it."""
    model = build(family, typical=True)
    cost = posterior_draw_cost(model, 100_000, 1, temperature).drawn
    found = predicted_curve(model, 100_000, 1, temperature)
    short = ORDERS.index(16)
    assert found[:short] == pytest.approx(cost.curve[:short], rel=1e-2)
    assert found[-1] == pytest.approx(cost.pure, rel=1e-2)
