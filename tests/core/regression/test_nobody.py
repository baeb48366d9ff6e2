"""A stratum without people has the prior of its regression. Kolmogorov–Smirnov by scipy; seeds are fixed, false alarms 10⁻⁵."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.regression.nobody import NobodysRegression, NobodysRegressions
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups
from app.core.statistics.moments import moments_of
from tests.deep import deep

UNIT = {"type": "real", "lower": -1, "upper": 1}
COLUMNS = parse_columns(
    {
        "x": UNIT,
        "y": UNIT,
        "old": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo", "none"], "public": True},
    }
)
MODELS: dict[str, dict[str, Any]] = {
    "linear_regression": {"target": "y", "features": ["x"], "noise_sd": 0.3, "prior": {"precision": 2.0}},
    "mvn_mean": {"columns": ["x", "y"], "covariance": [[0.1, 0.0], [0.0, 0.1]], "prior": {"precision": 2.0}},
    "normal": {"column": "x"},
    "normal_precision_matrix": {"columns": ["x", "y"]},
}
NOISE = {"kind": "perturbed_statistics", "samples": 40, "epsilon": 2.0, "delta": 1e-6}


def spec(family: str, **groups: Any) -> dict[str, Any]:
    return {"family": family} | MODELS[family] | ({"groups": groups} if groups else {})


@pytest.mark.parametrize("family", MODELS)
def test_nobody_has_the_prior_with_the_ball_and_without(family: str):
    model: Any = parse_model(spec(family), COLUMNS)
    samples = NobodysRegression().samples(model, 2_000, np.random.default_rng(5).bytes)
    belief = NobodysRegression().belief(model, b"nobody")
    for parameters, points in ((model.parameters, samples), (belief.parameters, belief.points)):
        lower, upper = (np.array([getattr(p, end) for p in parameters]) for end in ("lower", "upper"))
        assert ((lower <= points) & (points <= upper)).all()
    laws: dict[str, Any] = {
        "linear_regression": stats.norm(0, model.norm_bound / math.sqrt(2) / model.norm_bound**2)
        if family == "linear_regression"
        else None,
        "mvn_mean": stats.norm(0, math.sqrt(2 / 2)),  # B = √2
        "normal": stats.norm(0, 0.5),
    }
    if family == "normal_precision_matrix":  # νλB²·Ω₁₁ is χ² with ν degrees of freedom
        scaled = belief.points[:, 0] * model.degrees * model.scale * model.norm_bound**2
        assert stats.kstest(scaled, stats.chi2(model.degrees).cdf).pvalue > 1e-5
        return
    place = 1 if family == "linear_regression" else 0
    assert stats.kstest(belief.points[:, place], laws[family].cdf).pvalue > 1e-5
    if family == "mvn_mean":  # of a Gaussian in the disc of radius R, scaled by B: λr² is exponential, cut
        squares = (samples**2).sum(axis=1) / model.norm_bound**2
        cut = stats.truncexpon(b=model.radius**2 * 2.0 / 2, scale=2 / 2.0)
        assert stats.kstest(squares, cut.cdf).pvalue > 1e-5
    if family == "normal":
        log_sds = np.log(belief.points[:, 1])
        assert stats.kstest(log_sds, stats.uniform(math.log(0.01), -math.log(0.01)).cdf).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "by"),
    [
        ("mvn_mean", ["arm"]),
        ("normal", ["arm"]),
        ("mvn_mean", ["arm", "old"]),
        deep("linear_regression", ["arm"]),  # chains take seconds
        deep("linear_regression", ["arm", "old"]),
        deep("normal", ["arm", "old"]),
        deep("normal_precision_matrix", ["arm"]),
        deep("normal_precision_matrix", ["arm", "old"]),
    ],
)
def test_an_empty_stratum_of_a_regression_costs_nothing_and_shows_the_prior_beside_the_others(
    family: str, by: list[str]
):
    model: Any = parse_model(spec(family, by=by, strata=[60, 40, 0]), COLUMNS)
    full: Any = parse_model(spec(family, by=by, strata=[60, 40, 40]), COLUMNS)
    mechanism = parse_mechanism(NOISE, model)
    assert mechanism.cost(model, 100, 1).total == parse_mechanism(NOISE, full).cost(full, 140, 1).total
    rng = np.random.default_rng(7)
    inside = getattr(model.inner, "inner", model.inner)
    request, parts = inside.statistic, []
    for people in (60, 40, 0):
        cells = {"x": rng.uniform(-0.5, 0.5, people), "y": rng.uniform(-0.5, 0.5, people)}
        own = moments_of(request, cells) if people else request.of_no_rows()
        parts.append(own if inside is model.inner else ExactGroups((own, request.of_no_rows())))
    measured = mechanism.measure(model, 100, 1, ExactGroups(tuple(parts)))
    drawn = mechanism.infer(model, 100, 1, measured, rng.bytes)
    assert drawn.shape == (40, len(model.parameters))
    nobody = kind_of(model.inner).nobody
    assert isinstance(nobody, NobodysRegression if inside is model.inner else NobodysRegressions)
    evidence = Evidence(drawn, measured, b"seed")
    belief = mechanism.belief(model, 100, 1, evidence)
    assert [each.name for each in belief.parameters] == [each.name for each in model.parameters]
    width = len(model.parameters) // 3
    some, none = belief.points[:, :width].std(axis=0), belief.points[:, 2 * width :].std(axis=0)
    assert none[-1] > some[-1] * 0.5
