"""The law of a new observation against a fine discrete version of it, and its intervals against brute force."""

import math
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from app.core.decisions import answer_question
from app.core.decisions.mixture import Mixture
from app.core.decisions.regret import bound_mixed_quantiles
from app.core.kinds import compile_question
from app.core.kinds.regression.combinations import prediction, predictive_interval
from app.errors import InvalidQuery
from tests.core.decisions.wages import WAGES, wage_samples

FEATURES = {"educ": 16, "exper": 10, "female": True}
OBSERVATION = {"kind": "prediction", "what": "observation", "features": FEATURES}
LOWER, UPPER = 1.0, 5.0
CASES = {
    "inside": (np.array([2.0, 3.0, 2.5]), 0.4),
    "spilling over both ends": (np.array([1.2, 4.9, 3.0, 3.1]), 1.5),
    "far below": (np.array([-500.0, 2.0]), 0.3),
    "far above": (np.array([1e9, 1e9]), 0.3),
    "one sharp": (np.array([2.0]), 0.01),
}


def pieces(values, sd, count=40_000):
    """The observation as many equally likely points: quantiles at the middles of equal shares, held to the range."""
    return np.clip(np.concatenate([v + sd * normal_quantiles(count) for v in values]), LOWER, UPPER)


@cache
def normal_quantiles(count):
    return np.array([NormalDist().inv_cdf((k + 0.5) / count) for k in range(count)])


@pytest.mark.cases(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_moments_quantiles_and_losses_are_those_of_many_points(name):
    values, sd = CASES[name]
    law, points = Mixture(values, sd, LOWER, UPPER), pieces(values, sd)
    assert law.mean == pytest.approx(points.mean(), abs=1e-5)
    assert law.variance == pytest.approx(points.var() / (UPPER - LOWER) ** 2, abs=1e-4)
    for tau in (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)):
        response, loss = law.quantile(tau)
        assert LOWER <= response <= UPPER
        error = (points - response) / (UPPER - LOWER)
        assert loss == pytest.approx(np.maximum(float(tau) * error, (float(tau) - 1) * error).mean(), abs=1e-5)
        for other in np.linspace(LOWER, UPPER, 401):
            error = (points - other) / (UPPER - LOWER)
            assert loss <= np.maximum(float(tau) * error, (float(tau) - 1) * error).mean() + 1e-5


def test_a_predictive_interval_is_the_one_the_regression_computes():
    samples = wage_samples(200)
    question = compile_question(
        {"estimand": OBSERVATION, "utility": {"kind": "interval", "level": 0.8}}, WAGES.parameters, WAGES
    )
    expected = predictive_interval(samples.matrix, prediction(WAGES, FEATURES), WAGES.noise_sd, 0.8)
    assert answer_question(question, samples).response == pytest.approx(list(expected), abs=1e-7)


def test_eight_in_ten_new_observations_fall_into_an_interval_of_that_level():
    """Of 20,000 draws of the mixture: four standard deviations are 0.0113."""
    samples, rng = wage_samples(200), np.random.default_rng(8)
    question = compile_question(
        {"estimand": OBSERVATION, "utility": {"kind": "interval", "level": 0.8}}, WAGES.parameters, WAGES
    )
    low, high = answer_question(question, samples).response
    means = samples.matrix @ np.array([1, 16, 10, 1])
    drawn = rng.normal(rng.choice(means, 20_000), WAGES.noise_sd)
    assert abs(((drawn >= low) & (drawn <= high)).mean() - 0.8) < 0.0113


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 100])
def test_regret_of_a_predictive_quantile_stays_below_its_bound_as_often_as_promised(size):
    """Two far means and little noise, where choosing wrongly costs most; 800 sets, confidence 0.8, four deviations."""
    rng, tau, sd = np.random.default_rng(5), Fraction(1, 2), 0.02
    truth = Mixture(np.array([1.5] * 48 + [4.5] * 52), sd, LOWER, UPPER)
    best = truth.quantile(tau)[1]
    bound = bound_mixed_quantiles([(tau, 1.0)], size, 0.2).value
    atoms = pieces([1.5, 4.5], sd, 500).reshape(2, -1)
    failed = 0
    for _ in range(800):
        drawn = np.where(rng.uniform(size=size) < 0.48, 1.5, 4.5)
        response = Mixture(drawn, sd, LOWER, UPPER).quantile(tau)[0]
        error = (atoms - response) / (UPPER - LOWER)
        loss = np.array([0.48, 0.52]) @ (0.5 * abs(error)).mean(axis=1)
        failed += loss - best > bound
    assert failed / 800 <= 0.2 + 4 * math.sqrt(0.16 / 800)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
def test_point_answers_about_an_observation_stay_inside_the_targets_bounds(kind):
    question = compile_question({"estimand": OBSERVATION, "utility": {"kind": kind}}, WAGES.parameters, WAGES)
    answer = answer_question(question, wage_samples(50))
    assert 0 <= answer.response <= 40
    assert 0 < answer.expected_utility < 1
    assert answer.regret.method.endswith("for a question fixed in advance")


@pytest.mark.parametrize(
    "body",
    [
        {"estimand": OBSERVATION, "utility": {"kind": "zero_one"}},
        {"estimand": OBSERVATION, "utility": {"kind": "log"}},
        {
            "estimand": {"kind": "comparison", "left": OBSERVATION, "right": {"kind": "parameter", "name": "educ"}},
            "utility": {"kind": "squared"},
        },
        {
            "estimand": {"kind": "expression", "expression": "y", "names": {"y": OBSERVATION}},
            "utility": {"kind": "squared"},
        },
    ],
)
def test_an_observation_is_no_number_that_expressions_could_use(body):
    with pytest.raises(InvalidQuery) as refusal:
        compile_question(body, WAGES.parameters, WAGES)
    assert refusal.value.problems[0].field.endswith("kind")
