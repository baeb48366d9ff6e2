"""Calibrated settings fit their target, the next larger ones do not, and the impossible is refused with a figure."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.grids.bernoulli import TRIM_MIN
from app.core.kinds import parse_model
from app.core.kinds.mechanism_fields import SCORES, Score
from app.core.kinds.one_parameter.accuracy import expected_accuracy
from app.core.kinds.one_parameter.calibration import (
    largest_noise_epsilon,
    largest_point_epsilon,
    largest_temperature,
    smallest_trim,
)
from app.core.kinds.one_parameter.comparison import Alternative, Comparison, alternatives, best, reason
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.kinds.one_parameter.mechanisms import Baps, Laplace, MapPoint
from app.core.kinds.one_parameter.trim_advice import trim_advice
from app.core.parameters import Parameter
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX
from app.core.privacy.targets import Target, largest_samples
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidMechanism
from tests.core.families.family_cases import CASES, build
from tests.deep import deep_unless, each_in_turn

FINE = 2e-3
"""One part in 500: coarser than the last step of any bisection here (13.8 natural units in 2¹⁴)."""

MODELS = ["bernoulli", "poisson", "normal_mean"]
POINTS = [Target(1.0, 1e-6), Target(0.5, 0.0), Target(0.1, 1e-6), Target(10.0, 1e-9)]


def epsilon_of(mechanism: Any, model: Model, people: int, delta: float) -> float:
    epsilon: float = mechanism.cost(model, people, 1).total.epsilon(delta)
    return epsilon


TARGETS = [Target(3.0, 1e-6), Target(12.0, 1e-9), Target(40.0, 0.0)]
COOLED = [(1, Target(0.3, 1e-6)), (50, Target(1.0, 1e-6)), (20, Target(2.0, 0.0))]


@pytest.mark.parametrize(("family", "target"), deep_unless(each_in_turn(MODELS, TARGETS), MODELS, TARGETS))
def test_one_more_sample_would_not_fit(family: str, target: Target) -> None:
    model = build(family)
    samples = largest_samples(Baps(1, 0.5).cost(model, 500, 1), target)
    assert 1 <= samples < SAMPLES_MAX
    assert epsilon_of(Baps(samples, 0.5), model, 500, target.delta) <= target.epsilon
    assert epsilon_of(Baps(samples + 1, 0.5), model, 500, target.delta) > target.epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("family", "asked"), deep_unless(each_in_turn(MODELS, COOLED), MODELS, COOLED))
def test_a_slightly_warmer_release_would_not_fit(family: str, asked: tuple[int, Target]) -> None:
    model, (samples, target) = build(family), asked
    temperature = largest_temperature(model, 100, 1, samples, target)
    assert temperature < 1
    assert epsilon_of(Baps(samples, temperature), model, 100, target.delta) <= target.epsilon
    assert epsilon_of(Baps(samples, temperature * (1 + FINE)), model, 100, target.delta) > target.epsilon


def test_a_release_that_fits_anyway_keeps_its_full_likelihood() -> None:
    assert largest_temperature(build("bernoulli"), 1000, 1, 1, Target(50.0, 1e-6)) == 1.0
    assert largest_samples(Baps(1).cost(build("bernoulli"), 10**5, 1), Target(1e9, 1e-6)) == SAMPLES_MAX


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "target"), [(10, Target(1.2, 1e-6)), (1, Target(1.0, 0.0))])
def test_a_slightly_wider_range_would_not_fit(samples: int, target: Target) -> None:
    model = build("bernoulli")
    found = smallest_trim(model, 300, 1, Baps(samples), target)
    assert found.trim is not None
    assert found.parameter.lower == found.trim
    assert found.parameter.upper == 1 - found.trim
    assert epsilon_of(Baps(samples), found, 300, target.delta) <= target.epsilon
    wider = build("bernoulli", trim=found.trim * (1 - 5 * FINE))
    assert epsilon_of(Baps(samples), wider, 300, target.delta) > target.epsilon


def test_a_calibrated_trim_reads_back_as_the_model_a_steward_would_write() -> None:
    """Everything that depends on the trim moves with it, the papers' figure included."""
    found = smallest_trim(build("bernoulli"), 300, 1, Baps(10), Target(1.2, 1e-6))
    written = build("bernoulli", trim=found.trim)
    assert found.as_json() == written.as_json()
    assert found == written


def test_the_widest_trim_is_given_when_it_fits() -> None:
    found = smallest_trim(build("bernoulli"), 10**4, 1, Baps(1), Target(100.0, 1e-6))
    assert found.trim == pytest.approx(TRIM_MIN)


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "family", deep_unless(lambda family: sorted(FAMILIES).index(family) % 3 == 0, sorted(FAMILIES))
)
def test_every_family_is_trimmed_for_a_target_around_its_own_middle(family: str) -> None:
    """What is found fits, a range wider by half a percent on either side does not, and it reads back as it is."""
    model, target = build(family), Target(0.9, 1e-6)
    found = smallest_trim(model, 200, 1, Baps(3), target)
    assert epsilon_of(Baps(3), found, 200, target.delta) <= target.epsilon
    columns = parse_columns({"x": dict(CASES[family].column)})
    assert parse_model(found.as_json(), columns).parameter == found.parameter
    middle, width = middle_and_width(found)
    if model.trim is None:
        assert middle == pytest.approx(middle_and_width(model)[0], abs=1e-9 * max(1.0, abs(middle)))
        assert model.parameter.lower <= found.parameter.lower < found.parameter.upper <= model.parameter.upper
    ends = model.spacing.inverse(np.array([middle - 0.505 * width, middle + 0.505 * width])).tolist()
    wider = replace(found, parameter=replace(found.parameter, lower=ends[0], upper=ends[1]))
    assert epsilon_of(Baps(3), wider, 200, target.delta) > target.epsilon


def middle_and_width(model: Model) -> tuple[float, float]:
    first, last = (model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper))
    return (first + last) / 2, last - first


def test_a_range_that_fits_is_left_as_it_is() -> None:
    model = build("poisson")
    assert smallest_trim(model, 10**6, 1, Baps(1), Target(20.0, 1e-6)) == model


@pytest.mark.slow
@pytest.mark.parametrize(("score", "target"), deep_unless(each_in_turn(SCORES, POINTS), SCORES, POINTS))
def test_a_point_is_chosen_as_sharply_as_the_target_allows(score: Score, target: Target) -> None:
    model = build("poisson")
    epsilon = largest_point_epsilon(model, 100, 1, score, target)
    assert epsilon >= target.epsilon
    assert epsilon_of(MapPoint(epsilon, score), model, 100, target.delta) <= target.epsilon
    assert epsilon_of(MapPoint(epsilon * (1 + FINE), score), model, 100, target.delta) > target.epsilon


@pytest.mark.parametrize("target", [Target(0.1, 1e-6), Target(1.0, 1e-6), Target(10.0, 1e-9), Target(0.5, 0.0)])
def test_noise_is_as_small_as_the_target_allows(target: Target) -> None:
    model = build("poisson")
    epsilon = largest_noise_epsilon(model, 100, 1, 10, target)
    assert epsilon_of(Laplace(10, epsilon), model, 100, target.delta) <= target.epsilon
    assert epsilon_of(Laplace(10, epsilon * (1 + FINE)), model, 100, target.delta) > target.epsilon
    assert epsilon >= target.epsilon * (1 - FINE)


def stated(refusal: InvalidMechanism) -> float:
    found = re.search(r"at least ([0-9.e+-]+):", str(refusal))
    assert found, str(refusal)
    return float(found[1])


def test_an_impossible_target_is_refused_with_the_figure_it_would_take() -> None:
    model = build("bernoulli")
    one = Baps(1).cost(model, 20, 1)
    with pytest.raises(InvalidMechanism) as too_few:
        largest_samples(one, Target(0.01, 1e-6))
    needed = stated(too_few.value)
    assert largest_samples(one, Target(needed, 1e-6)) >= 1
    with pytest.raises(InvalidMechanism) as too_hot:
        largest_temperature(model, 20, 1, 10**6, Target(1e-7, 0.0))
    needed = stated(too_hot.value)
    assert 0 < largest_temperature(model, 20, 1, 10**6, Target(needed, 0.0)) <= 1
    with pytest.raises(InvalidMechanism) as too_wide:
        smallest_trim(model, 20, 1, Baps(1000), Target(0.01, 1e-6))
    assert smallest_trim(model, 20, 1, Baps(1000), Target(stated(too_wide.value), 1e-6)).trim
    with pytest.raises(InvalidMechanism) as too_broad:
        smallest_trim(build("poisson"), 20, 1, Baps(10**5), Target(1e-4, 1e-6))
    assert smallest_trim(build("poisson"), 20, 1, Baps(10**5), Target(stated(too_broad.value), 1e-6)).trim is None


@pytest.mark.parametrize("epsilon", [math.nan, 0.0, -1.0])
def test_a_target_that_is_no_number_fits_nothing(epsilon: float) -> None:
    with pytest.raises(InvalidMechanism):
        largest_samples(Baps(1).cost(build("bernoulli"), 100, 1), Target(epsilon, 1e-6))
    with pytest.raises(InvalidMechanism):
        largest_temperature(build("bernoulli"), 100, 1, 1, Target(epsilon, 0.0))
    with pytest.raises(InvalidMechanism):
        largest_noise_epsilon(build("bernoulli"), 100, 1, 1, Target(epsilon, 1e-6))


def compared(family: str, people: int, target: Target, samples: int | None = None, unit_rows: int = 1) -> Comparison:
    return Comparison(build(family), people, unit_rows, target, samples)


def error_of(asked: Comparison, kind: str) -> float:
    return asked.error(next(each for each in alternatives(asked) if each.mechanism.kind == kind))


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "samples", "epsilon"),
    deep_unless(
        lambda family, samples, epsilon: (
            MODELS.index(family) == [0.2, 3.0, 30.0].index(epsilon) and (samples is None) == (family == "poisson")
        ),
        list(MODELS),
        [None, 20],
        [0.2, 3.0, 30.0],
    ),
)
def test_alternatives_fit_the_target_most_accurate_first_and_a_point_last(
    family: str, epsilon: float, samples: int | None
) -> None:
    asked = compared(family, 200, Target(epsilon, 1e-6), samples)
    *sets, point = alternatives(asked)
    assert {each.mechanism.kind for each in sets} == {"baps", "laplace", "gaussian"}
    assert point.mechanism.kind == "map"
    assert [asked.error(each) for each in sets] == sorted(asked.error(each) for each in sets)
    for each in (*sets, point):
        assert each.cost.total.epsilon(1e-6) <= epsilon
    assert samples is None or {each.mechanism.samples for each in sets} == {samples}
    assert best(asked) == sets[0]
    assert reason(asked, sets[0], [*sets[1:], point]).startswith(f"{sets[0].mechanism.kind}: ")


@pytest.mark.deep
@pytest.mark.slow
def test_the_default_number_of_free_samples_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three samples or a million: the ranking and its figures stay, because free samples are compared without end."""
    asked = compared("bernoulli", 100_000, Target(10.0, 1e-6))
    orders, errors = set(), set()
    for free in (3, 1_000, 10**6):
        monkeypatch.setattr("app.core.kinds.one_parameter.comparison.FREE_SAMPLES", free)
        found = alternatives(asked)
        orders.add(tuple(each.mechanism.kind for each in found))
        errors.add(tuple(asked.error(each) for each in found))
        assert next(each for each in found if each.mechanism.kind == "laplace").mechanism.samples == free
    assert len(orders) == len(errors) == 1


@pytest.mark.deep
@pytest.mark.slow
def test_one_sample_of_noise_is_believed_like_many_and_a_point_is_not() -> None:
    """A million people and ε = 5: what was measured tells all there is to know, one sample of the posterior half of it."""
    one = compared("bernoulli", 10**6, Target(5.0, 1e-6), 1)
    best, *rest = alternatives(one)
    assert best.mechanism.kind == "laplace"
    assert best.mechanism.samples == 1
    assert "noise on one sum" in reason(one, best, [each for each in rest if each.mechanism.kind != "gaussian"])
    assert one.error(best) < error_of(one, "baps") / 1.3
    assert one.error(best) < error_of(one, "map")


@pytest.mark.slow
def test_a_target_below_what_any_noise_gives_is_refused_and_one_above_gets_the_least() -> None:
    model = build("poisson")
    with pytest.raises(InvalidMechanism) as refused:
        largest_noise_epsilon(model, 100, 1, 10, Target(1e-9, 0.0))
    assert largest_noise_epsilon(model, 100, 1, 10, Target(stated(refused.value), 0.0)) >= EPSILON_MIN
    with pytest.raises(InvalidMechanism, match="at least"):
        alternatives(Comparison(model, 100, 1, Target(1e-9, 0.0), 1000))
    assert largest_noise_epsilon(model, 100, 1, 10, Target(1e9, 1e-6)) == EPSILON_MAX


@pytest.mark.deep
@pytest.mark.slow
def test_noise_wins_and_drawn_samples_come_near_with_people_and_with_samples() -> None:
    """Ten samples of 10⁵ people fit ε = 1 without cooling and add a tenth to the variance; what is left open comes nearer."""
    assert alternatives(compared("bernoulli", 1_000, Target(0.1, 1e-6)))[0].mechanism.kind == "laplace"
    few = compared("bernoulli", 100_000, Target(1.0, 1e-6), 10)
    best, *_ = alternatives(few)
    drawn = few.baps()
    assert best.mechanism.kind == "laplace"
    assert drawn.mechanism == Baps(10, 1.0)
    assert "drawing 10 samples" in reason(few, best, [drawn])
    open_number = compared("bernoulli", 100_000, Target(1.0, 1e-6))
    assert open_number.error(best) <= open_number.error(open_number.baps()) < few.error(drawn)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_as_many_and_as_cool_as_tell_most_is_nearly_gaussian_noise(epsilon: float) -> None:
    """At the same cost, where the number is open: within 3 % of the noise, 5 % where it is wide and less is known of truths
    beyond the trim, and cooler than the posterior itself."""
    asked = compared("bernoulli", 1_000, Target(epsilon, 1e-6))
    drawn, noisy = asked.baps(), asked.gaussian()
    assert isinstance(drawn.mechanism, Baps)
    assert drawn.mechanism.temperature < 0.1
    assert drawn.accuracy.calibrated_sd == pytest.approx(
        noisy.accuracy.calibrated_sd, rel=0.03 if epsilon == 1 else 0.05
    )
    warm = Baps(largest_samples(Baps(1).cost(asked.model, 1_000, 1), asked.target)) if epsilon == 1 else None
    assert warm is None or asked.error(asked.rated(warm)) > 1.05 * asked.error(drawn)


@pytest.mark.deep
@pytest.mark.slow
def test_several_rows_a_person_are_compared_with_every_mechanism() -> None:
    asked = compared("bernoulli", 100, Target(5.0, 1e-6), unit_rows=2)
    found = alternatives(asked)
    assert {each.mechanism.kind for each in found} == {"laplace", "gaussian", "baps", "map"}
    assert all(each.cost.total.epsilon(1e-6) <= 5 for each in found)
    with pytest.raises(InvalidMechanism, match="at least"):
        alternatives(compared("bernoulli", 2, Target(1e-9, 0.0), 1000, unit_rows=2))


@pytest.mark.slow
def test_without_a_delta_there_is_no_gaussian_noise() -> None:
    found = alternatives(compared("bernoulli", 100, Target(5.0, 0.0)))
    assert {each.mechanism.kind for each in found} == {"laplace", "baps", "map"}


def test_the_number_of_free_samples_does_not_rank() -> None:
    noisy = compared("poisson", 500, Target(1.0, 1e-6)).laplace()
    assert isinstance(noisy, Alternative)
    assert noisy.accuracy.limit_sd < noisy.accuracy.total_sd
    for samples in (None, 7, 1000):
        asked = compared("poisson", 500, Target(1.0, 1e-6), samples)
        assert asked.error(asked.laplace()) == noisy.accuracy.calibrated_sd


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.usefixtures("shared_constants")
def test_expected_error_is_what_simulated_releases_show() -> None:
    """The plan's figure against 300 simulated releases, θ from the prior: within 15 %, over three standard deviations."""
    model, people, source = build("bernoulli"), 400, np.random.Generator(np.random.PCG64(8))
    for mechanism in (Baps(3, 0.5), Baps(40, 0.02), Laplace(50, 0.3), MapPoint(3.0)):
        errors = []
        for theta in source.uniform(0.05, 0.95, 300):
            statistic = ExactStatistic(int(source.binomial(people, theta)), people)
            errors.append(mechanism.draw(model, people, 1, statistic, source.bytes).mean() - theta)
        found = math.sqrt(np.square(errors).mean())
        assert expected_accuracy(model, mechanism, people).total_sd == pytest.approx(found, rel=0.15)


def test_replacing_samples_changes_only_their_number() -> None:
    cost = Baps(7, 0.25).cost(build("bernoulli"), 50, 1)
    assert replace(cost, samples=1).total == cost.per_sample
    assert Baps(7, 0.25).with_samples(9) == Baps(9, 0.25)
    assert Laplace(7, 0.25).with_samples(9) == Laplace(9, 0.25)


def test_a_plan_warns_where_the_prior_goes_on_beyond_the_trim_and_prices_a_smaller_one() -> None:
    model = build("bernoulli")
    warned = trim_advice(model, Baps(3), 1_000, 1, 1e-6)
    assert warned is not None
    share = 2 * (model.trim or 0)
    assert f"{100 * share:.2g} % beyond the public range" in warned
    cost = Baps(3).cost(replace(model, trim=0.01, parameter=Parameter("theta", 0.01, 0.99)), 1_000, 1)
    assert f"ε ≈ {cost.total.epsilon(1e-6):.2g}" in warned
    assert trim_advice(model, Laplace(3, 1.0), 1_000, 1, 1e-6) is None
    assert "A smaller trim" not in (trim_advice(model, MapPoint(1.0), 1_000, 1, 1e-6) or "")
