"""How many times as much rows vary as the model says: the ratio of variances, fitted; and which ratio would be noticed."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.fit_check import NOTICED_SHARE
from app.core.kinds.one_parameter.fit.shape_test import LEVEL, Histograms, Null, Places
from app.core.kinds.one_parameter.fit.wider_law import wider_shares

Array = NDArray[np.float64]

RATIO_MAX = 30.0
RATIO_LEVEL = 0.9
_NODES = 25
_ROUNDS = 12
_FAR = 12.0
_TRIED = 400
_HALVINGS = 8


@dataclass(frozen=True, slots=True)
class Ratio:
    """With the interval that holds it with probability `RATIO_LEVEL`, mean and logarithm of the ratio spread evenly before."""

    value: float
    lower: float
    upper: float
    mean: float


def fitted_ratio(of: Histograms, noisy: Array, mean: float, spread: float) -> Ratio:
    """`mean` and `spread` are of one row, where the model fits best: where to begin."""
    far = 3 * spread * math.sqrt(RATIO_MAX)
    window = [_allowed(of, mean - far, mean + far), (-math.log(RATIO_MAX), math.log(RATIO_MAX))]
    for _ in range(_ROUNDS):
        means, logs = (np.linspace(first, last, _NODES) for first, last in window)
        heights = _heights(of, noisy, means, np.exp(logs))
        near = heights >= heights.max() - _FAR
        following = []
        for axis, values in ((1, means), (0, logs)):
            held = np.flatnonzero(near.any(axis=axis))
            following.append((float(values[max(held[0] - 1, 0)]), float(values[min(held[-1] + 1, _NODES - 1)])))
        if following == window:
            break
        window = following
    weights = np.exp(heights - heights.max())
    by_ratio = weights.sum(axis=0) / weights.sum()
    below = np.cumsum(by_ratio) - by_ratio / 2
    ends = [math.exp(np.interp((1 + sign * RATIO_LEVEL) / 2, below, logs)) for sign in (-1, 1)]
    return Ratio(math.exp(float(by_ratio @ logs)), ends[0], ends[1], float(weights.sum(axis=1) @ means / weights.sum()))


def _allowed(of: Histograms, first: float, last: float) -> tuple[float, float]:
    """Means that the family has."""
    law, statistic = of.model.sums, of.request.of
    if law.kind == "normal":
        return first, last
    least = 1e-6 * max(statistic.upper, 1e-12)
    most = law.size * (1 - 1e-6) if law.kind == "binomial" else math.inf
    return max(first, least), min(last, most)


def _heights(of: Histograms, noisy: Array, means: Array, ratios: Array) -> Array:
    """(means, ratios)."""
    pairs = np.meshgrid(means, ratios, indexing="ij")
    expected = of.rows * wider_shares(of.model, of.request, pairs[0].ravel(), pairs[1].ravel())
    variance = expected + of.noise_variance
    fit = -((noisy - expected) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
    return np.where(np.isfinite(fit), fit, -np.inf).reshape(pairs[0].shape)


def noticed_ratio(around: Places, null: Null, generator: np.random.Generator) -> float | None:
    """The smallest ratio above 1 that this check finds doubtful in `NOTICED_SHARE` of all cases; None: none up to the largest."""
    of = around.of
    mean = of.model.sums.mean(around.theta[[around.best]], 1)

    def share_noticed(log_ratio: float) -> float:
        shares = wider_shares(of.model, of.request, mean, np.array([math.exp(log_ratio)]))
        noisy = of.simulated(generator, np.repeat(shares, _TRIED, axis=0))
        return float(np.mean(null.tail(around.discrepancies(noisy)) <= LEVEL))

    low, high = 0.0, math.log(RATIO_MAX)
    if share_noticed(high) < NOTICED_SHARE:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if share_noticed(middle) >= NOTICED_SHARE else (middle, high)
    return math.exp(high)
