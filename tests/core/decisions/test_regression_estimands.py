"""Estimands of a regression against dot products written out, their public ranges against the corners of the ball."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.kinds import compile_question
from app.errors import InvalidQuery
from tests.core.decisions.wages import WAGES, wage_samples
from tests.core.regression.regression_cases import wage_model

SAMPLES = wage_samples(300)
FEATURES = {"educ": 16, "exper": 10.5, "female": True}
MEANS = SAMPLES.matrix @ np.array([1, 16, 10.5, 1])
SQUARED = {"kind": "squared"}


def compiled(estimand, utility=SQUARED, model=WAGES):
    return compile_question({"estimand": estimand, "utility": utility}, model.parameters, model)


def test_a_prediction_is_the_mean_at_the_features():
    answer = answer_question(compiled({"kind": "prediction", "features": FEATURES}), SAMPLES)
    assert answer.response == pytest.approx(MEANS.mean(), abs=1e-10)
    same = answer_question(compiled({"kind": "prediction", "what": "mean", "features": FEATURES}), SAMPLES)
    assert same == answer


def test_probability_and_quantile_are_of_a_new_observation():
    probability = {"kind": "prediction", "what": "probability", "at_most": 15, "features": FEATURES}
    expected = np.mean([NormalDist(mean, WAGES.noise_sd).cdf(15) for mean in MEANS])
    assert answer_question(compiled(probability), SAMPLES).response == pytest.approx(expected, abs=1e-10)
    quantile = {"kind": "prediction", "what": "quantile", "level": 0.9, "features": FEATURES}
    expected = MEANS.mean() + WAGES.noise_sd * NormalDist().inv_cdf(0.9)
    assert answer_question(compiled(quantile), SAMPLES).response == pytest.approx(expected, abs=1e-8)


def test_a_contrast_weighs_coefficients():
    answer = answer_question(compiled({"kind": "contrast", "weights": {"educ": 4, "exper": -10}}), SAMPLES)
    assert answer.response == pytest.approx((SAMPLES.matrix @ [0, 4, -10, 0]).mean(), abs=1e-10)


@pytest.mark.parametrize(
    "estimand",
    [
        {"kind": "prediction", "features": FEATURES},
        {"kind": "contrast", "weights": {"educ": 1}},
        {"kind": "prediction", "what": "quantile", "level": 0.2, "features": FEATURES},
        {"kind": "prediction", "what": "probability", "at_most": 20, "features": FEATURES},
    ],
)
def test_ranges_contain_the_whole_ball_and_values_stay_inside(estimand):
    question = compiled(estimand).estimand
    w = np.random.default_rng(1).normal(size=(5_000, WAGES.dimension))
    w *= WAGES.radius / np.linalg.norm(w, axis=1, keepdims=True)
    values = question.distribution(SampleSet(WAGES.parameters, WAGES.coefficients(w))).values
    assert question.lower <= values.min()
    assert values.max() <= question.upper
    assert values.max() - values.min() > 0.5 * (question.upper - question.lower)


def test_a_value_is_the_same_beside_any_other_samples():
    question = compiled({"kind": "prediction", "features": FEATURES}).estimand
    every = question.distribution(SAMPLES).values
    assert (question.distribution(SAMPLES.prefix(7)).values == every[:7]).all()


def test_predictions_can_be_compared():
    other = {**FEATURES, "female": False}
    sides = ({"kind": "prediction", "features": each} for each in (FEATURES, other))
    estimand = dict(zip(("left", "right"), sides, strict=True), kind="comparison")
    assert answer_question(compiled(estimand), SAMPLES).response == (SAMPLES.columns[3] > 0).mean()


@pytest.mark.parametrize(
    ("estimand", "field"),
    [
        ({"kind": "prediction"}, "estimand.features"),
        ({"kind": "prediction", "features": {"educ": 1}}, "estimand.features"),
        ({"kind": "prediction", "features": {**FEATURES, "educ": "x"}}, "estimand.features.educ"),
        ({"kind": "prediction", "features": {**FEATURES, "educ": 10**400}}, "estimand.features.educ"),
        ({"kind": "prediction", "features": {**FEATURES, "educ": math.nan}}, "estimand.features.educ"),
        ({"kind": "prediction", "features": {**FEATURES, "educ": None}}, "estimand.features.educ"),
        ({"kind": "prediction", "features": FEATURES, "what": "mode"}, "estimand.what"),
        ({"kind": "prediction", "features": FEATURES, "what": []}, "estimand.what"),
        ({"kind": "prediction", "features": FEATURES, "level": 0.5}, "estimand.level"),
        ({"kind": "prediction", "features": FEATURES, "what": "quantile"}, "estimand.level"),
        ({"kind": "prediction", "features": FEATURES, "what": "probability"}, "estimand.at_most"),
        ({"kind": "prediction", "features": FEATURES, "what": "probability", "at_most": 1e9}, "estimand.at_most"),
        ({"kind": "contrast"}, "estimand.weights"),
        ({"kind": "contrast", "weights": {}}, "estimand.weights"),
        ({"kind": "contrast", "weights": {"educ": 0}}, "estimand.weights"),
        ({"kind": "contrast", "weights": {"dose": 1}}, "estimand.weights"),
        ({"kind": "contrast", "weights": {"educ": 10**400}}, "estimand.weights"),
        ({"kind": "probability", "event": {"female": True}}, "estimand.kind"),
        (
            {
                "kind": "comparison",
                "left": {"kind": "contrast", "weights": {"educ": 1}},
                "right": {"kind": "prediction", "features": {}},
            },
            "estimand.right.features",
        ),
    ],
)
def test_refusals_name_the_field(estimand, field):
    with pytest.raises(InvalidQuery) as refusal:
        compiled(estimand)
    assert refusal.value.problems[0].field == field


def test_a_level_that_a_feature_does_not_have_is_refused():
    model = wage_model(features=["educ", "region"])
    with pytest.raises(InvalidQuery, match="north, south, west"):
        compiled({"kind": "prediction", "features": {"educ": 3, "region": "east"}}, model=model)
    compiled({"kind": "prediction", "features": {"educ": 3, "region": "north"}}, model=model)


def test_a_model_without_noise_has_no_law_of_a_new_observation():
    model = wage_model(noise_sd=None)
    with pytest.raises(InvalidQuery) as refusal:
        compiled({"kind": "prediction", "what": "quantile", "level": 0.5, "features": FEATURES}, model=model)
    assert refusal.value.problems[0].field == "estimand.what"
