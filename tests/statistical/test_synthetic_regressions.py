"""Synthetic rows of regressions and normal laws against what their points say. Seeds are fixed; each bound is five standard
errors, so a right program fails one of these comparisons with probability below 6·10⁻⁷ over seeds."""

from typing import Any

import numpy as np
import pytest

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.synthetic import Known, MadeRows, make_rows
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups
from app.core.statistics.moments import moments_of
from app.errors import SyntheticUnavailable
from app.services.reading.synthetic_rows import decoded, rows_most

ROWS, SDS = 40_000, 5.0
COLUMNS = parse_columns(
    {
        "paid": {"type": "real", "lower": -40, "upper": 90},
        "years": {"type": "integer", "lower": 2, "upper": 12},
        "union": {"type": "binary"},
        "ward": {"type": "categorical", "levels": ["a", "b", "c"]},
        "tall": {"type": "real", "lower": 100, "upper": 260},
        "wide": {"type": "real", "lower": -30, "upper": 210},
        "old": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
    }
)
LINE = {"family": "linear_regression", "target": "paid", "features": ["years", "ward", "union"], "noise_sd": 2.0}
NORMAL = {"family": "normal", "column": "tall"}
COVARIANCE = [[100.0, 40.0], [40.0, 225.0]]
MEAN = {"family": "mvn_mean", "columns": ["tall", "wide"], "covariance": COVARIANCE}
MATRIX = {"family": "normal_precision_matrix", "columns": ["tall", "wide"]}
PLAIN = Known(None, 400, 1, None, COLUMNS)
NOISE = {"kind": "perturbed_statistics", "samples": 3, "epsilon": 5.0, "delta": 1e-6}


def made_from(spec: dict[str, Any], values: list[list[float]], rows: int = ROWS) -> MadeRows:
    """`values`: a list of points."""
    model = parse_model(spec, COLUMNS)
    law = kind_of(model).rows
    assert law is not None
    groups = [each.group for each in model.parameters]
    return make_rows(law, model, groups, np.array(values).T, PLAIN, rows, b"rows")


def close(found: float, expected: float, sd: float) -> bool:
    return abs(found - expected) < SDS * sd


def test_targets_lie_around_the_line_of_their_own_features_which_are_even_over_what_was_declared():
    weights = [5.0, 3.0, -4.0, 6.0, 10.0]
    table = decoded(made_from(LINE, [weights]), COLUMNS)
    assert table.names == ["years", "ward", "union", "paid"]
    years, ward, union, paid = (np.asarray(column.values, float) for column in table.columns)
    features = np.stack([np.ones(ROWS), years, ward == 1, ward == 2, union], axis=1)
    fitted, *_ = np.linalg.lstsq(features, paid, rcond=None)
    errors = 2.0 * np.sqrt(np.diag(np.linalg.inv(features.T @ features)))
    assert (abs(fitted - weights) < SDS * errors).all()
    assert close(float((paid - features @ weights).std()), 2.0, 2.0 / np.sqrt(2 * ROWS))
    for column, levels in ((years, range(2, 13)), (ward, range(3)), (union, range(2))):
        share = 1 / len(levels)
        for level in levels:
            assert close(float(np.mean(column == level)), share, np.sqrt(share * (1 - share) / ROWS))


def test_without_an_intercept_features_keep_to_their_bounds_all_the_same():
    spec = {"family": "linear_regression", "target": "paid", "features": ["tall"], "noise_sd": 0.5, "intercept": False}
    tall, paid = (np.asarray(each.values) for each in decoded(made_from(spec, [[0.3]]), COLUMNS).columns)
    assert (tall.min() >= 100, tall.max() <= 260) == (True, True)
    assert close(float(tall.mean()), 180.0, 160 / np.sqrt(12 * ROWS))
    assert close(float((paid - 0.3 * tall).mean()), 0.0, 0.5 / np.sqrt(ROWS))


def test_values_of_a_normal_law_mix_its_points():
    (tall,) = (np.asarray(each.values) for each in decoded(made_from(NORMAL, [[170, 5], [190, 10]]), COLUMNS).columns)
    assert close(float(tall.mean()), 180.0, tall.std() / np.sqrt(ROWS))
    assert close(float(tall.var()), 100 + (25 + 100) / 2, 400 / np.sqrt(ROWS))


@pytest.mark.parametrize("family", ["mvn_mean", "normal_precision_matrix"])
def test_columns_of_one_normal_law_vary_together_as_it_says(family: str):
    if family == "mvn_mean":
        made = made_from(MEAN, [[175.0, 80.0]])
    else:
        omega = np.linalg.inv(np.array(COVARIANCE))
        made = made_from(MATRIX, [[omega[0, 0], omega[0, 1], omega[1, 1]]])
    tall, wide = (np.asarray(each.values) for each in decoded(made, COLUMNS).columns)
    centre = (175.0, 80.0) if family == "mvn_mean" else (180.0, 90.0)
    for column, mean, variance in ((tall, centre[0], 100.0), (wide, centre[1], 225.0)):
        assert close(float(column.mean()), mean, np.sqrt(variance / ROWS))
        assert close(float(column.var()), variance, variance * np.sqrt(2 / ROWS))
    assert close(float(np.cov(tall, wide)[0, 1]), 40.0, np.sqrt((100 * 225 + 40**2) / ROWS))


def test_a_matrix_that_its_public_ranges_left_without_an_inverse_makes_rows_within_bounds():
    made = made_from(MATRIX, [[0.01, 0.05, 0.01], [0.0, 0.0, 0.0]], rows=50)
    for column in decoded(made, COLUMNS).columns:
        assert np.isfinite(np.asarray(column.values)).all()


def test_a_regression_that_does_not_say_how_far_rows_lie_from_its_line_makes_none():
    model = parse_model(LINE | {"noise_sd": None}, COLUMNS)
    with pytest.raises(SyntheticUnavailable, match="noise_sd"):
        rows_most(model)
    by_arm = parse_model(LINE | {"noise_sd": None, "groups": {"by": ["arm"], "strata": [5, 5]}}, COLUMNS)
    with pytest.raises(SyntheticUnavailable, match="noise_sd"):
        rows_most(by_arm)


@pytest.mark.parametrize("spec", [LINE, NORMAL, MEAN, MATRIX], ids=lambda spec: spec["family"])
def test_private_groups_of_regressions_have_the_rows_that_their_noisy_numbers_imply(spec: dict[str, Any]):
    model: Any = parse_model(spec | {"groups": {"by": ["old"]}}, COLUMNS)
    mechanism: Any = parse_mechanism(NOISE, model)
    request = model.inner.statistic
    rows = {"paid": 20.0, "years": 5, "union": True, "ward": "b", "tall": 170.0, "wide": 80.0}
    cells = [{name: [value] * people for name, value in rows.items()} for people in (300, 100)]
    parts = tuple(moments_of(request, each) for each in cells)
    measured = mechanism.measure(model, 400, 1, ExactGroups(parts), lambda values, _: values)
    law = kind_of(model).rows
    assert law is not None
    weights = law.weights(model, Known(mechanism, 400, 1, measured, COLUMNS))
    assert weights == pytest.approx((300, 100), rel=0.02)
    values = np.repeat(np.array([[(p.lower + p.upper) / 2] for p in model.parameters]), 2, axis=1)
    if spec is MATRIX:
        values = np.tile(np.array([[0.01], [0.0], [0.01]]), (2, 2))
    groups = [each.group for each in model.parameters]
    table = decoded(
        make_rows(law, model, groups, values, Known(mechanism, 400, 1, measured, COLUMNS), ROWS, b"1"), COLUMNS
    )
    assert table.names[0] == "old"
    assert close(float(np.mean(table.columns[0].values)), weights[1] / sum(weights), np.sqrt(0.2 / ROWS))
    with pytest.raises(SyntheticUnavailable):
        law.weights(model, Known(mechanism, 400, 1, None, COLUMNS))
