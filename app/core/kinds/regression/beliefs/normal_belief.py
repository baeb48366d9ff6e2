"""What may be believed about a mean m and an sd s given noisy sums t₁ of x̃ and t₂ of x̃², as a table and then as points.

To two moments, t₁ and t₂ given m and s are normal with means nm and n(m² + s²) and covariance

    n·[[s², 2ms²], [2ms², 4m²s² + 2s⁴]]

beside their noise: exact but for the skewness of t₂, of the order √(8/n), which noise hides further. The table is even in log s
and in ζ = (m − E[m|s, t₁])/sd[m|s, t₁], in which no ridge is narrow, and is drawn again closer until the posterior fills it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.model import SD_LEAST

Array = NDArray[np.float64]

CELLS = 160
FILLED = CELLS // 2
CUT = 30.0
ZETA = 8.0
SPARE = 4
TURNS = 24


@dataclass(frozen=True, slots=True)
class NoisySums:
    """In scaled units, with the variances of their noise."""

    first: float
    second: float
    first_variance: float
    second_variance: float
    rows: float


class MeanAndSdTable:
    """log p(ζ, log s | t₁, t₂) up to `log_evidence`, on cells that it fills."""

    def __init__(self, seen: NoisySums, precision: float) -> None:
        self._seen, self._precision = seen, precision
        zetas, log_sds = (-ZETA, ZETA), (math.log(SD_LEAST), 0.0)
        for _ in range(TURNS):
            self._zeta, self._zeta_width = _middles(*zetas)
            self._u, self._sd_width = _middles(*log_sds)
            log_mass = _log_posterior(seen, precision, self._zeta[:, None], self._u[None, :])
            kept = log_mass > log_mass.max() - CUT
            closer = _around(kept.any(axis=1), *zetas), _around(kept.any(axis=0), *log_sds)
            if closer == (zetas, log_sds):
                break
            zetas, log_sds = closer
        top = float(log_mass.max())
        self._below = np.cumsum(np.exp(log_mass - top).ravel())
        self.log_evidence = top + math.log(float(self._below[-1]) * self._zeta_width * self._sd_width)
        """log p(t₁, t₂), up to a constant that is the same for every table with these priors."""

    def draws(self, points: int, stream: SeededStream) -> Array:
        """(points, 2): one m and s from each of equally probable strata, in order of the cells."""
        levels = (np.arange(points) + stream.uniforms(points)) / points * self._below[-1]
        cells = np.searchsorted(self._below, levels).clip(0, CELLS**2 - 1)
        widths = [[self._zeta_width], [self._sd_width]]
        aside, along = (stream.uniforms(2 * points).reshape(2, points) - 0.5) * widths
        log_sd = self._u[cells % CELLS] + along
        centre, sd = _mean_given(self._seen, self._precision, log_sd)
        return np.stack([centre + sd * (self._zeta[cells // CELLS] + aside), np.exp(log_sd)], axis=1)


def believed_mean_and_sd(
    seen: NoisySums, precision: float, mean_reach: float, points: int, stream: SeededStream
) -> Array:
    """(points, 2), in an order of the stream's."""
    found = MeanAndSdTable(seen, precision).draws(points, stream).clip([-mean_reach, SD_LEAST], [mean_reach, 1.0])
    return np.asarray(found[np.argsort(stream.uniforms(points), kind="stable")])


def _middles(low: float, high: float) -> tuple[Array, float]:
    width = (high - low) / CELLS
    return np.asarray(low + (np.arange(CELLS) + 0.5) * width, dtype=np.float64), width


def _around(kept: NDArray[np.bool_], low: float, high: float) -> tuple[float, float]:
    """The same ends where what is kept fills enough of them."""
    places, width = np.flatnonzero(kept), (high - low) / CELLS
    if places[-1] - places[0] >= FILLED:
        return low, high
    first, last = max(int(places[0]) - SPARE, 0), min(int(places[-1]) + 1 + SPARE, CELLS)
    if last - first > FILLED + 2 * SPARE:
        return low, high
    return low + first * width, low + last * width


def _mean_given(seen: NoisySums, precision: float, log_sd: Array) -> tuple[Array, Array]:
    """(centre, sd) of m given s and t₁."""
    spread = seen.rows * np.exp(2 * log_sd) + seen.first_variance
    total = precision + seen.rows**2 / spread
    return np.asarray(seen.rows * seen.first / spread / total), np.asarray(total**-0.5)


def _log_posterior(seen: NoisySums, precision: float, zeta: Array, log_sd: Array) -> Array:
    """log p(t₁|s) + log p(ζ|s, t₁) + log p(t₂|t₁, m, s)."""
    n, variance = seen.rows, np.exp(2 * log_sd)
    centre, sd = _mean_given(seen, precision, log_sd)
    m = centre + sd * zeta
    spread = n * variance + seen.first_variance
    alone = spread + n**2 / precision
    shared = 2 * n * m * variance
    left = seen.second - n * (m**2 + variance) - shared / spread * (seen.first - n * m)
    left_spread = n * (4 * m**2 * variance + 2 * variance**2) + seen.second_variance - shared**2 / spread
    told = np.log(alone) + seen.first**2 / alone + zeta**2 + np.log(left_spread) + left**2 / left_spread
    return np.asarray(-0.5 * told)
