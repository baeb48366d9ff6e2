"""Charged ÷ exact for what regressions release: never below 1, and how far above. The table stands in docs/privacy.md.

Draws of regression weights are in `test_needle_bound.py`; here is noise on the moments, and draws of a normal mean.
"""

import itertools
import math

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.regression.ball.ball_mean import MeanBall
from app.core.kinds.regression.mechanisms.perturbed_statistics import PerturbedStatistics, perturbation_of
from app.core.privacy import ORDERS
from app.core.schema import parse_columns
from app.core.statistics.moments import moments_of
from tests.core.regression.regression_cases import plain_model
from tests.deep import deep

COLUMNS = parse_columns({name: {"type": "real", "lower": -1, "upper": 1} for name in ("x0", "x1", "x2")})


def discrete_gaussian_divergence(shift: int, scale: float, order: float) -> float:
    """D_α of the noise itself: Σ e^{−(z−αm)²/2s²} over Σ e^{−z²/2s²}, by Poisson's summation or, for small s, as it stands."""
    continuous = order * shift**2 / (2 * scale**2)
    if scale > 5:  # both sums are s√2π·(1 ± 3·e^{−2π²s²}): no double tells them apart
        return continuous
    z = np.arange(-200, 201)
    place = order * shift - math.floor(order * shift)
    top, bottom = (float(np.exp(-((z - offset) ** 2) / (2 * scale**2)).sum()) for offset in (place, 0.0))
    return continuous + math.log(top / bottom) / (order - 1)


def extreme_rows(family: str) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Two records as far apart, in the norm of the noise, as records can be."""
    half = math.sqrt(3) / 2
    return {
        "linear_regression": ({"x0": [1.0], "x1": [0.0], "y": [1.0]}, {"x0": [-0.5], "x1": [half], "y": [1.0]}),
        "mvn_mean": ({"x0": [1.0], "x1": [0.0]}, {"x0": [-1.0], "x1": [0.0]}),
        "normal_precision_matrix": ({"x0": [1.0], "x1": [0.0]}, {"x0": [0.0], "x1": [1.0]}),
    }[family]


def model_of(family: str):  # type: ignore[no-untyped-def]
    if family == "linear_regression":
        return plain_model(2, intercept=False, norm_bound=1.0)
    spec = {"family": family, "columns": ["x0", "x1"], "norm_bound": 1.0}
    return parse_model(spec | ({"covariance": [[0.3, 0], [0, 0.3]]} if family == "mvn_mean" else {}), COLUMNS)


@pytest.mark.parametrize("family", ["linear_regression", "mvn_mean", "normal_precision_matrix"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_noise_on_moments_is_charged_what_its_worst_neighbours_cost(family: str, epsilon: float) -> None:
    """The law of the noise that is added, coordinate by coordinate, for the farthest pair: between 1 and 1.02 at every order."""
    model, mechanism = model_of(family), PerturbedStatistics(1, epsilon, 1e-6)
    perturbation = perturbation_of(model, 1, 1)
    left, right = (perturbation.values(moments_of(model.statistic, rows)) for rows in extreme_rows(family))
    scales = mechanism.scale(perturbation, 1) * perturbation.ratios
    curve = mechanism.cost(model, 1, 1).total.curve
    for order, charged in zip(ORDERS, curve, strict=True):
        shifts = zip((left - right).tolist(), scales.tolist(), strict=True)
        exact = math.fsum(discrete_gaussian_divergence(shift, scale, order) for shift, scale in shifts)
        assert 1 <= charged / exact <= 1.02


def test_small_noise_costs_no_more_than_the_formula() -> None:
    for scale, shift, order in itertools.product((0.4, 1.1, 4.9), (1, 2, 5), (1.25, 2.0, 7.0)):
        assert discrete_gaussian_divergence(shift, scale, order) <= order * shift**2 / (2 * scale**2) * (1 + 1e-12)


def mean_divergence(ball: MeanBall, dimension: int, people: int, order: float) -> float:
    """The largest over sums of the other rows, for two opposite records; nodes where the posterior has mass."""
    radius, omega = ball._model.radius, ball._temperature * float(ball._inverse[0, 0])
    curvature = ball._model.precision + people * omega
    reach = min(radius, (9 + order * omega / math.sqrt(curvature)) / math.sqrt(curvature))
    axes = [np.polynomial.legendre.leggauss(count) for count in (160, 40, 30)[:dimension]]
    grid = np.stack(np.meshgrid(*(t for t, _ in axes), indexing="ij"), axis=-1).reshape(-1, dimension) * reach
    logs = sum(np.log(w) for w in np.meshgrid(*(w for _, w in axes), indexing="ij")).ravel()
    worst = 0.0
    for total in np.linspace(0, people - 1, 12):
        middle = min(max(total * omega / curvature, reach - radius), radius - reach)
        points = grid + np.eye(dimension)[0] * middle
        inside = (points**2).sum(axis=1) <= radius**2
        base = logs[inside] - curvature / 2 * (points[inside] ** 2).sum(axis=1)
        slope = omega * points[inside, 0]
        for p, q in ((total - 1, total + 1), (total + 1, total - 1)):
            parts = [base + slope * t for t in (order * p + (1 - order) * q, p, q)]
            tops = [float(part.max() + math.log(np.exp(part - part.max()).sum())) for part in parts]
            worst = max(worst, (tops[0] - order * tops[1] + (order - 1) * tops[2]) / (order - 1))
    return worst


@pytest.mark.parametrize(
    ("dimension", "people", "most"),
    [
        (1, 10, 1.05),
        (2, 200, 1.02),
        (1, 1, 1.001),
        deep(2, 1, 1.4),
        deep(3, 1, 1.4),
        deep(1, 3000, 1.02),
        deep(2, 5, 1.1),
        deep(3, 30, 1.02),
        deep(3, 2000, 1.02),
    ],
)
def test_draws_of_a_mean_are_charged_near_what_their_worst_neighbours_cost(
    dimension: int, people: int, most: float
) -> None:
    """Isotropic, Σ_z = 0.1·I, λ = 2, R = 1. A handful of people cannot tilt far, and are not charged as if they did."""
    names = ["x0", "x1", "x2"][:dimension]
    covariance = (0.1 * dimension * np.eye(dimension)).tolist()
    spec = {"family": "mvn_mean", "columns": names, "covariance": covariance, "prior": {"precision": 2.0}}
    ball = MeanBall(parse_model(spec, COLUMNS), people, 1.0)
    curve = dict(zip(ORDERS, ball.draw_cost().curve, strict=True))
    ratios = [curve[order] / mean_divergence(ball, dimension, people, order) for order in (1.25, 4, 16)]
    assert 1 <= min(ratios) <= max(ratios) <= most
