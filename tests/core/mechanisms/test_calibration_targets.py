"""Calibrated settings fit their target, the next larger ones do not, and the impossible is refused with a figure."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.core.families import Model
from app.core.families.bernoulli import TRIM_MIN
from app.core.mechanisms import Baps, Laplace
from app.core.mechanisms.accuracy import expected_accuracy
from app.core.mechanisms.calibration import (
    Target,
    largest_noise_epsilon,
    largest_samples,
    largest_temperature,
    smallest_trim,
)
from app.core.mechanisms.comparison import alternatives, reason
from app.core.mechanisms.mechanism import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX
from app.core.statistics import ExactStatistic
from app.errors import InvalidMechanism
from tests.core.families.family_cases import build

FINE = 2e-3
"""One part in 500: coarser than the last step of any bisection here (13.8 natural units in 2¹⁴)."""

MODELS = ["bernoulli", "poisson", "normal_mean"]


def epsilon_of(mechanism: Any, model: Model, people: int, delta: float) -> float:
    epsilon: float = mechanism.cost(model, people, 1).total.epsilon(delta)
    return epsilon


@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize("target", [Target(3.0, 1e-6), Target(12.0, 1e-9), Target(40.0, 0.0)])
def test_one_more_sample_would_not_fit(family: str, target: Target) -> None:
    model = build(family)
    samples = largest_samples(Baps(1, 0.5).cost(model, 500, 1), target)
    assert 1 <= samples < SAMPLES_MAX
    assert epsilon_of(Baps(samples, 0.5), model, 500, target.delta) <= target.epsilon
    assert epsilon_of(Baps(samples + 1, 0.5), model, 500, target.delta) > target.epsilon


@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize(
    ("samples", "target"), [(1, Target(0.3, 1e-6)), (50, Target(1.0, 1e-6)), (20, Target(2.0, 0.0))]
)
def test_a_slightly_warmer_release_would_not_fit(family: str, samples: int, target: Target) -> None:
    model = build(family)
    temperature = largest_temperature(model, 100, 1, samples, target)
    assert temperature < 1
    assert epsilon_of(Baps(samples, temperature), model, 100, target.delta) <= target.epsilon
    assert epsilon_of(Baps(samples, temperature * (1 + FINE)), model, 100, target.delta) > target.epsilon


def test_a_release_that_fits_anyway_keeps_its_full_likelihood() -> None:
    assert largest_temperature(build("bernoulli"), 1000, 1, 1, Target(50.0, 1e-6)) == 1.0
    assert largest_samples(Baps(1).cost(build("bernoulli"), 10**5, 1), Target(1e9, 1e-6)) == SAMPLES_MAX


@pytest.mark.parametrize(("samples", "target"), [(10, Target(1.2, 1e-6)), (1, Target(2.0, 0.0))])
def test_a_slightly_wider_range_would_not_fit(samples: int, target: Target) -> None:
    model = build("bernoulli")
    found = smallest_trim(model, 300, 1, Baps(samples), target)
    assert found.trim is not None
    assert found.parameter.lower == found.trim
    assert found.parameter.upper == 1 - found.trim
    assert epsilon_of(Baps(samples), found, 300, target.delta) <= target.epsilon
    wider = build("bernoulli", trim=found.trim * (1 - FINE))
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
    with pytest.raises(InvalidMechanism, match="trimmed by a range"):
        smallest_trim(build("poisson"), 20, 1, Baps(1), Target(1.0, 1e-6))


@pytest.mark.parametrize("epsilon", [math.nan, 0.0, -1.0])
def test_a_target_that_is_no_number_fits_nothing(epsilon: float) -> None:
    with pytest.raises(InvalidMechanism):
        largest_samples(Baps(1).cost(build("bernoulli"), 100, 1), Target(epsilon, 1e-6))
    with pytest.raises(InvalidMechanism):
        largest_temperature(build("bernoulli"), 100, 1, 1, Target(epsilon, 0.0))
    with pytest.raises(InvalidMechanism):
        largest_noise_epsilon(build("bernoulli"), 100, 1, 1, Target(epsilon, 1e-6))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-6), (3.0, 1e-6), (30.0, 1e-6)])
@pytest.mark.parametrize("samples", [None, 20])
def test_alternatives_fit_the_target_and_come_most_accurate_first(
    epsilon: float, delta: float, samples: int | None
) -> None:
    for family in MODELS:
        found = alternatives(build(family), 200, 1, Target(epsilon, delta), samples)
        errors = [each.accuracy.total_sd for each in found]
        assert errors == sorted(errors)
        assert {each.mechanism.kind for each in found} <= {"baps", "laplace"}
        for each in found:
            assert each.cost.total.epsilon(delta) <= epsilon
            assert samples is None or each.mechanism.samples == samples
        assert reason(found[0], found[1:])


def test_a_target_below_what_any_noise_gives_is_refused_and_one_above_gets_the_least() -> None:
    model = build("poisson")
    with pytest.raises(InvalidMechanism) as refused:
        largest_noise_epsilon(model, 100, 1, 10, Target(1e-9, 0.0))
    assert largest_noise_epsilon(model, 100, 1, 10, Target(stated(refused.value), 0.0)) >= EPSILON_MIN
    with pytest.raises(InvalidMechanism, match="at least"):
        alternatives(model, 100, 1, Target(1e-9, 0.0), 1000)
    assert largest_noise_epsilon(model, 100, 1, 10, Target(1e9, 1e-6)) == EPSILON_MAX


def test_noise_wins_with_few_people_and_samples_with_many() -> None:
    """At ε = 0.1 and a thousand people noise on one sum; at ε = 10 and a hundred thousand the posterior itself."""
    model = build("bernoulli")
    assert alternatives(model, 1_000, 1, Target(0.1, 1e-6), None)[0].mechanism.kind == "laplace"
    assert alternatives(model, 100_000, 1, Target(10.0, 1e-6), None)[0].mechanism.kind == "baps"


def test_several_rows_a_person_leave_only_posterior_samples() -> None:
    found = alternatives(build("bernoulli"), 100, 2, Target(5.0, 1e-6), None)
    assert [each.mechanism.kind for each in found] == ["baps"]
    with pytest.raises(InvalidMechanism, match="at least"):
        alternatives(build("bernoulli"), 2, 2, Target(1e-9, 0.0), 1000)


def test_expected_error_is_what_simulated_releases_show() -> None:
    """The plan's figure for `baps` and `laplace` against 300 simulated releases, θ from the prior: within 15 %."""
    model, people, source = build("bernoulli"), 400, np.random.Generator(np.random.PCG64(8))
    for mechanism in (Baps(3, 0.5), Laplace(50, 0.3)):
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
