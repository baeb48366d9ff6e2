"""One more record of every family against scipy.stats, and questions about it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.core.decisions import SampleSet, answer_question
from app.core.kinds import compile_question, parse_model
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.kinds.one_parameter.predictive import RecordLaw, prior_predictive
from app.core.schema import parse_columns
from app.errors import InvalidQuery

COUNT = {"type": "integer", "lower": 0, "upper": 30}
REAL = {"type": "real", "lower": 0, "upper": 30}
AROUND = {"type": "real", "lower": -20, "upper": 30}
LAWS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "bernoulli": ({}, {"type": "binary"}, lambda p: stats.bernoulli(p)),
    "binomial": ({"trials": 30}, COUNT, lambda p: stats.binom(30, p)),
    "geometric": ({}, COUNT, lambda p: stats.nbinom(1, p)),
    "negative_binomial": ({"successes": 2.5}, COUNT, lambda p: stats.nbinom(2.5, p)),
    "poisson": ({}, COUNT, lambda rate: stats.poisson(rate)),
    "exponential": ({}, REAL, lambda rate: stats.expon(scale=1 / rate)),
    "gamma": ({"shape": 2.5}, REAL, lambda rate: stats.gamma(2.5, scale=1 / rate)),
    "weibull": ({"shape": 1.5}, REAL, lambda rate: stats.weibull_min(1.5, scale=rate ** (-1 / 1.5))),
    "pareto": ({"scale": 2}, {"type": "real", "lower": 2, "upper": 90}, lambda shape: stats.pareto(shape, scale=2)),
    "laplace": ({"location": 3}, AROUND, lambda rate: stats.laplace(3, 1 / rate)),
    "normal_precision": ({"mean": 3}, AROUND, lambda precision: stats.norm(3, precision**-0.5)),
    "normal_mean": ({"sd": 4}, AROUND, lambda mean: stats.norm(mean, 4)),
}
CONSTANT_MEAN = ("laplace", "normal_precision")
VALUES = (-7.5, -1.0, 0.0, 0.4, 1.0, 2.5, 3.0, 11.0, 29.0, 500.0)
LEVELS = (1e-4, 0.05, 0.3, 0.5, 0.83, 0.999)

every_family = pytest.mark.parametrize("family", LAWS)


def model_of(family: str) -> Model:
    known, column, _ = LAWS[family]
    return parse_model({"family": family, "column": "x", **known}, parse_columns({"x": column}))


def points_of(model: Model) -> np.ndarray:
    return np.linspace(model.parameter.lower, model.parameter.upper, 9)


def test_every_family_has_a_law_of_one_record() -> None:
    assert set(LAWS) == set(FAMILIES)


@every_family
def test_probabilities_and_quantiles_are_the_textbook_ones(family: str) -> None:
    model, textbook = model_of(family), LAWS[family][2]
    theta = points_of(model)
    for value in VALUES:
        found = RecordLaw(model).at_most(theta, value)
        assert found == pytest.approx(textbook(theta).cdf(value), rel=1e-9, abs=1e-12), value
    for level in LEVELS:
        assert RecordLaw(model).quantile(theta, level) == pytest.approx(textbook(theta).ppf(level), rel=1e-8), level


@every_family
def test_means_are_the_textbook_ones_and_infinite_where_there_is_none(family: str) -> None:
    model, textbook = model_of(family), LAWS[family][2]
    theta = points_of(model)
    assert RecordLaw(model).mean(theta) == pytest.approx(np.broadcast_to(textbook(theta).mean(), theta.shape), rel=1e-9)


@every_family
def test_a_record_before_any_data_is_the_mixture_over_the_prior(family: str) -> None:
    model, textbook = model_of(family), LAWS[family][2]
    predictive = prior_predictive(model)
    theta, weights = np.array(predictive.theta), np.array(predictive.weights)
    for value in VALUES:
        assert predictive.at_most(value) == pytest.approx(float(weights @ textbook(theta).cdf(value)), abs=1e-12)
    for level in LEVELS:
        found = predictive.quantile(level)
        assert predictive.at_most(found) >= level - 1e-12
        below = found - 1 if model.sums.discrete else found - 1e-6 * max(1.0, abs(found))
        assert predictive.at_most(below) < level


@every_family
@pytest.mark.parametrize(
    "asked", [{"what": "mean"}, {"what": "probability", "at_most": 2}, {"what": "quantile", "level": 0.9}]
)
def test_an_answer_is_the_mean_over_the_samples_inside_its_public_range(family: str, asked: dict[str, Any]) -> None:
    model, textbook = model_of(family), LAWS[family][2]
    grid = model.grid(500, 1.0)
    chosen = np.random.default_rng(5).choice(grid.theta, 200)
    body = {"estimand": {"kind": "predictive", **asked}, "utility": {"kind": "squared"}}
    if asked["what"] == "mean" and (family in CONSTANT_MEAN or family == "pareto"):
        with pytest.raises(InvalidQuery) as refusal:
            compile_question(body, model.parameters, model)
        assert refusal.value.problems[0].field == "estimand.what"
        return
    if asked["what"] == "probability" and family in ("bernoulli", "pareto"):
        body["estimand"]["at_most"] = 0 if family == "bernoulli" else 5
    question = compile_question(body, model.parameters, model)
    number = body["estimand"].get("at_most", body["estimand"].get("level"))
    law = textbook(chosen)
    wanted = {"mean": law.mean, "probability": lambda: law.cdf(number), "quantile": lambda: law.ppf(number)}
    values = wanted[asked["what"]]()
    answer = answer_question(question, SampleSet(model.parameters, chosen[:, None]))
    assert answer.response == pytest.approx(float(np.mean(values)), rel=1e-8)
    assert question.estimand is not None
    slack = 1e-12 * max(abs(question.estimand.lower), abs(question.estimand.upper))
    assert question.estimand.lower - slack <= values.min() <= values.max() <= question.estimand.upper + slack


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "estimand.what"),
        ({"what": "variance"}, "estimand.what"),
        ({"what": "mean", "level": 0.5}, "estimand.level"),
        ({"what": "probability"}, "estimand.at_most"),
        ({"what": "probability", "at_most": True}, "estimand.at_most"),
        ({"what": "probability", "at_most": 1e200}, "estimand.at_most"),
        ({"what": "probability", "at_most": -1}, "estimand.what"),
        ({"what": "quantile", "level": 1}, "estimand.level"),
        ({"what": "quantile", "level": 0.5, "at_most": 3}, "estimand.at_most"),
    ],
)
def test_a_question_about_a_record_that_cannot_be_read_names_the_field(asked: dict[str, Any], field: str) -> None:
    model = model_of("poisson")
    body = {"estimand": {"kind": "predictive", **asked}, "utility": {"kind": "squared"}}
    with pytest.raises(InvalidQuery) as refusal:
        compile_question(body, model.parameters, model)
    assert refusal.value.problems[0].field == field


def test_a_release_without_a_law_of_one_record_refuses_the_kind() -> None:
    model = model_of("poisson")
    body = {"estimand": {"kind": "predictive", "what": "mean"}, "utility": {"kind": "squared"}}
    with pytest.raises(InvalidQuery) as refusal:
        compile_question(body, model.parameters)
    assert refusal.value.problems[0].field == "estimand.kind"
