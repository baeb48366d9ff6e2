"""Models read strictly, coefficients in the units of the columns, and what is asked of them."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.regression import REGRESSION
from app.core.kinds.regression.combinations import coefficient, contrast, prediction, predictive_interval
from app.core.kinds.regression.mechanisms import RegressionBaps
from app.core.schema import parse_columns
from app.core.statistics.moments import moments_of
from app.errors import InvalidMechanism, InvalidModel, InvalidQuery
from tests.core.regression.regression_cases import COLUMNS, wage_model, wage_rows

SPECS: dict[str, dict[str, Any]] = {
    "linear_regression": {"target": "wage", "features": ["educ", "female"], "noise_sd": 3.0},
    "mvn_mean": {"columns": ["educ", "wage"], "covariance": [[9.0, 1.0], [1.0, 25.0]]},
    "normal_precision_matrix": {"columns": ["educ", "wage"], "radius": 30.0},
}


@pytest.mark.parametrize("family", SPECS)
def test_a_model_reads_back_what_it_wrote(family: str) -> None:
    model = parse_model({"family": family} | SPECS[family], COLUMNS)
    again = parse_model(model.as_json(), COLUMNS)
    assert again == model
    assert hash(again) == hash(model)


@pytest.mark.parametrize(
    ("family", "field", "value"),
    [
        ("linear_regression", "target", "region"),
        ("linear_regression", "target", ["wage"]),
        ("linear_regression", "features", ["wage"]),
        ("linear_regression", "features", []),
        ("linear_regression", "features", ["educ", "educ"]),
        ("linear_regression", "features", ["nowhere"]),
        ("linear_regression", "intercept", 1),
        ("linear_regression", "noise_sd", 0),
        ("linear_regression", "noise_sd", math.nan),
        ("linear_regression", "radius", -1),
        ("linear_regression", "norm_bound", 0),
        ("linear_regression", "prior", {"precision": 0}),
        ("linear_regression", "surprise", 1),
        ("mvn_mean", "covariance", [[1.0, 2.0], [2.0, 1.0]]),
        ("mvn_mean", "covariance", [[9.0, 1.0], [2.0, 25.0]]),
        ("mvn_mean", "covariance", [[9.0]]),
        ("mvn_mean", "columns", ["educ", "region"]),
        ("normal_precision_matrix", "radius", math.inf),
        ("normal_precision_matrix", "prior", {"degrees": 1}),
    ],
)
def test_a_bad_field_is_refused_by_name(family: str, field: str, value: object) -> None:
    with pytest.raises(InvalidModel, match=rf"model\.{field}"):
        parse_model({"family": family} | SPECS[family] | {field: value}, COLUMNS)


@pytest.mark.parametrize("family", SPECS)
def test_columns_of_any_bounds_either_suit_a_model_or_are_refused_by_name(family: str) -> None:
    """No square or ratio of bounds ends as anything but a refusal."""
    bounds = list(itertools.combinations([-1e300, -1.0, 0.0, 1e-310, 1e-150, 1e-12, 1.0, 1e150, 1e300], 2))
    for educ, wage in itertools.product(bounds[::2], bounds[1::2]):
        both = {"educ": educ, "wage": wage, "female": (0, 1)}
        columns = parse_columns({name: {"type": "real", "lower": a, "upper": b} for name, (a, b) in both.items()})
        try:
            parameters = parse_model({"family": family} | SPECS[family], columns).parameters
        except InvalidModel:
            continue
        assert all(-math.inf < each.lower < each.upper < math.inf for each in parameters)


def test_columns_whose_products_share_a_name_are_refused() -> None:
    column = {"type": "real", "lower": 0, "upper": 1}
    columns = parse_columns(dict.fromkeys(("a", "b*c", "a*b", "c", "d"), column))
    spec = {"family": "normal_precision_matrix", "radius": 30.0}
    with pytest.raises(InvalidModel, match=r"'a\*b\*c' comes twice"):
        parse_model({**spec, "columns": ["a", "b*c", "a*b", "c"]}, columns)
    assert len(parse_model({**spec, "columns": ["a", "b*c", "d"]}, columns).parameters) == 6


def test_coefficients_predict_what_scaled_weights_predict() -> None:
    model = wage_model(features=["educ", "exper", "female", "region"])
    rng = np.random.default_rng(31)
    w = rng.normal(size=(20, model.dimension)) * 0.3
    beta = model.coefficients(w)
    features = {"educ": 12, "exper": 20.5, "female": 1, "region": "west"}
    scaled = np.array([1, (12 - 10) / 10, (20.5 - 27.5) / 32.5, 1, 0, 1]) / model.norm_bound
    assert prediction(model, features).values(beta) == pytest.approx(20 + 20 * w @ scaled)


def test_ranges_of_questions_hold_at_the_far_end_of_the_ball() -> None:
    """For a combination the extreme weights are ±R along its own direction: the range is reached, not passed."""
    model = wage_model()
    asked = prediction(model, {"educ": 16, "exper": 3.0, "female": True})
    directions = np.random.default_rng(32).normal(size=(20_000, 4))
    w = model.radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    raw = model.coefficients(w) @ np.array(asked.weights)
    assert asked.lower - 1e-9 <= raw.min() <= raw.max() <= asked.upper + 1e-9
    assert raw.max() > asked.upper - 0.02 * (asked.upper - asked.lower)
    own = model.parameters[1]
    assert (coefficient(model, "educ").lower, coefficient(model, "educ").upper) == pytest.approx((own.lower, own.upper))


def test_contrast_is_the_difference_of_coefficients() -> None:
    model = wage_model()
    samples = model.coefficients(np.random.default_rng(33).normal(size=(9, 4)) * 0.1)
    assert contrast(model, {"educ": 1, "exper": -2}).values(samples) == pytest.approx(samples[:, 1] - 2 * samples[:, 2])


def test_predictive_interval_of_one_sample_is_the_normal_one() -> None:
    model = wage_model()
    at = prediction(model, {"educ": 10, "exper": 27.5, "female": 0})
    samples = model.coefficients(np.zeros((5, 4)))
    low, high = predictive_interval(samples, at, 3.0, 0.9)
    assert (low, high) == pytest.approx((20 - 3 * 1.6448536, 20 + 3 * 1.6448536), abs=1e-5)


def test_bad_questions_are_refused() -> None:
    model = wage_model(features=["educ", "region"])
    for features in (
        {"educ": 1},
        {"educ": "1", "region": "west"},
        {"educ": 1, "region": "moon"},
        {"educ": True, "region": "west"},
    ):
        with pytest.raises(InvalidQuery):
            prediction(model, features)
    for weights in ({}, {"nowhere": 1.0}, {"educ": math.nan}, {"educ": math.inf}):
        with pytest.raises(InvalidQuery):
            contrast(model, weights)


def test_baps_draws_find_the_ridge_solution() -> None:
    """At 4,000 rows the posterior is far inside the ball: mean and spread are the Gaussian's (N = 4,000, within 6 sds)."""
    model, n = wage_model(prior={"precision": 1.0}), 4000
    moments = moments_of(model.statistic, wage_rows(n, 34))
    drawn = RegressionBaps(4000).draw(model, n, 1, moments, np.random.default_rng(35).bytes)
    sd = 3.0 / 20
    precision = moments.products / 2.0**32 / sd**2 + np.eye(4)
    mean = np.linalg.solve(precision, moments.cross / 2.0**32 / sd**2)
    w = np.random.default_rng(36).multivariate_normal(mean, np.linalg.inv(precision), 40_000)
    reference = model.coefficients(w)
    spread = reference.std(axis=0)
    assert (np.abs(drawn.mean(axis=0) - reference.mean(axis=0)) < 6 * spread / math.sqrt(4000)).all()
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.07)


def test_baps_draws_of_a_mean_stay_in_their_ranges() -> None:
    model = parse_model({"family": "mvn_mean"} | SPECS["mvn_mean"] | {"radius": 0.2}, COLUMNS)
    moments = moments_of(model.statistic, {"educ": np.full(50, 20.0), "wage": np.full(50, 40.0)})
    drawn = RegressionBaps(500).draw(model, 50, 1, moments, np.random.default_rng(37).bytes)
    for parameter, column in zip(model.parameters, drawn.T, strict=True):
        assert parameter.lower <= column.min() <= column.max() <= parameter.upper
    assert drawn[:, 0].mean() > 11


def test_a_precision_matrix_is_not_sampled_by_baps() -> None:
    model = parse_model({"family": "normal_precision_matrix"} | SPECS["normal_precision_matrix"], COLUMNS)
    mechanism = REGRESSION.parse_mechanism({"kind": "baps", "samples": 1})
    with pytest.raises(InvalidMechanism, match=r"mechanism\.kind"):
        mechanism.cost(model, 100, 1)


def test_a_column_too_narrow_to_scale_is_refused() -> None:
    columns = parse_columns(
        {"y": {"type": "real", "lower": 0, "upper": 1}, "x": {"type": "real", "lower": 0, "upper": 5e-324}}
    )
    spec = {"family": "linear_regression", "target": "y", "features": ["x"], "noise_sd": 1.0}
    with pytest.raises(InvalidModel) as refusal:
        parse_model(spec, columns)
    assert refusal.value.problems[0].field == "model.features"
