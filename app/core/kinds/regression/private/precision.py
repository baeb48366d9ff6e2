"""Noisy Σzzᵀ of one private group and its noisy number m of rows, and the precision matrix given both.

With S = Σzzᵀ/m, Ω ~ Wishart(ν, Ψ⁻¹) and rows z ~ N(0, Ω⁻¹) the scaled sum kS has, for k = m rows, the density

    p(A) = Γ_d((k+ν)/2)/(Γ_d(k/2)·Γ_d(ν/2))·|Ψ|^{ν/2}·|A|^{(k−d−1)/2}·|Ψ + A|^{−(k+ν)/2},

seen are mS + noise and m + noise, m is even before, from the fewest to the most there may be, and Ω given S and m is
Wishart(ν + m, (Ψ + mS)⁻¹). Fewer than d rows have a sum without density: k = max(m, d + 1), a sum of the same mean and more
nearly of full rank. A row adds at most 1 to any entry, so that of so few noise hides the difference; how well is measured
(`tests/statistical/test_grouped_coverage.py`, and of one column against sums over every m in
`tests/core/regression/test_private_regressions.py`).

Chains move in S by ellipses around what the noise says, and in m by slices along two lines: with S fixed, and with mS fixed.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.elliptical_slice import SHRINKS_MAX, SliceChains
from app.core.kinds.regression.beliefs.precision_belief import (
    BURN_IN,
    CHAINS,
    CHAINS_WIDE,
    THIN,
    THIN_WIDE,
    WIDE,
    WIDER,
    seeded_wishart,
)
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.private.group_noise import Rows, Weights, row_noise_sd, rows_window
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

TRIED = 64


class GroupPrecision:
    """`values` are the upper triangle of ΣZZᵀ and the number of rows."""

    def __init__(self, model: PrecisionMatrixModel, rows: Rows, weights: Weights) -> None:
        self._model, self._rows, self._weights = model, rows, weights
        self._upper = np.triu_indices(model.dimension)
        aside = np.where(self._upper[0] != self._upper[1], math.sqrt(0.5), 1.0)
        self.ratios: Array = np.concatenate([aside, [weights.rows_ratio]])
        self.sensitivity = weights.within * LATTICE**2

    def values(self, moments: ExactMoments) -> Whole:
        return np.concatenate([moments.products[self._upper], [moments.rows * LATTICE**2]]).astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        """What falls outside the ball is shortened."""
        found = self._matrices(self._model, noisy, scale, samples, SeededStream(random_bytes(32)))
        longer = np.linalg.norm(found, axis=(1, 2), keepdims=True) / self._model.radius
        return self._model.entries(found / np.maximum(longer, 1.0))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model = untrimmed(self._model)
        return model.entries(self._matrices(model, noisy, scale, points, stream))

    def _matrices(
        self, model: PrecisionMatrixModel, noisy: Whole, scale: float, points: int, stream: SeededStream
    ) -> Array:
        area = float(model.statistic.steps) ** 2
        seen, sd = float(noisy[-1]) / LATTICE**2, row_noise_sd(self._weights, scale, LATTICE**2)
        window = rows_window(seen, sd, self._rows, TRIED)
        chains = min(points, CHAINS_WIDE if model.dimension > WIDE else CHAINS)
        moving = _GroupChains(
            model, noisy[:-1] / area, scale * self.ratios[:-1] / area, (seen, sd), window, chains, stream
        )
        return moving.draws(points)


class _GroupChains:
    """Of S, by the entries of its upper triangle, and of m."""

    def __init__(
        self,
        model: PrecisionMatrixModel,
        noisy: Array,
        sds: Array,
        rows: tuple[float, float],
        window: tuple[float, float],
        chains: int,
        stream: SeededStream,
    ) -> None:
        self._d, self._degrees, self._stream = model.dimension, model.degrees, stream
        self._noisy, self._noise, self._rows, self._window = noisy, sds, rows, window
        self._upper, self._prior = np.triu_indices(self._d), model.degrees * model.scale
        typical = self._prior / (model.degrees - self._d + 1)
        self._mean = np.where(self._upper[0] == self._upper[1], typical, 0.0)
        self._sds = np.full(len(noisy), WIDER * typical)
        low, high = window
        self._m = np.clip(rows[0] + rows[1] * stream.normals(chains), low, high)
        self._m = np.where((self._m > low) & (self._m < high), self._m, low + (high - low) * stream.uniforms(chains))
        inverse_scale = np.repeat((self._prior * np.eye(self._d))[None], chains, axis=0)
        sums: Array = np.linalg.inv(seeded_wishart(model.degrees, inverse_scale, stream)).astype(np.float64)
        start = sums[:, self._upper[0], self._upper[1]]
        self._slices = SliceChains(*self._gaussian(), start, self._log_factor, stream)

    def draws(self, points: int) -> Array:
        """(points, d, d) matrices Ω."""
        wide, found = self._d > WIDE, list[Array]()
        while sum(map(len, found)) < points:
            for _ in range((THIN_WIDE if wide else THIN) if found else BURN_IN):
                self._move()
            scale = self._prior * np.eye(self._d) + self._m[:, None, None] * self._matrices(self._slices.states)
            found.append(seeded_wishart(self._degrees + self._m[:, None], scale, self._stream))
        return np.concatenate(found)[:points]

    def _move(self) -> None:
        self._slices.step()
        entries = self._slices.states
        values: Array = np.linalg.eigvalsh(self._matrices(entries)).astype(np.float64)

        def with_s(m: Array) -> Array:
            left = (self._noisy - m[:, None] * entries) / self._noise
            return np.asarray(self._log_density(values, m) - 0.5 * (left**2).sum(axis=1) + self._log_rows(m))

        self._m = self._slice(self._m, with_s)
        sums = values * self._m[:, None]

        def with_sum(m: Array) -> Array:
            found = self._log_density(sums / m[:, None], m) - len(self._noisy) * np.log(m)
            return np.asarray(found + self._log_rows(m))

        before, self._m = self._m, self._slice(self._m, with_sum)
        self._slices.states = entries * (before / self._m)[:, None]
        self._slices.around(*self._gaussian())

    def _slice(self, m: Array, log_density: Callable[[Array], Array]) -> Array:
        """One step of each chain within the window (Neal 2003, shrinking towards where it stands)."""
        level = log_density(m) + np.log(self._stream.uniforms(len(m)))
        low, high = (np.full(len(m), end) for end in self._window)
        moved, waiting = m.copy(), np.ones(len(m), dtype=np.bool_)
        for _ in range(SHRINKS_MAX):
            tried = np.where(waiting, low + (high - low) * self._stream.uniforms(len(m)), moved)
            taken = waiting & (log_density(tried) > level)
            moved = np.where(taken, tried, moved)
            waiting &= ~taken
            if not waiting.any():
                break
            low = np.where(waiting & (tried < m), tried, low)
            high = np.where(waiting & (tried >= m), tried, high)
        return np.asarray(moved)

    def _gaussian(self) -> tuple[Array, Array]:
        """(centre, sds) of every chain: the noise on mS, and about the width of what S may be."""
        own = (self._m[:, None] / self._noise) ** 2
        precision = own + self._sds**-2
        centre = self._m[:, None] * self._noisy / self._noise**2 + self._mean * self._sds**-2
        return centre / precision, precision**-0.5

    def _log_factor(self, entries: Array, which: NDArray[np.int64]) -> Array:
        """log p(S|m) less the log of the wide Gaussian put in its place."""
        values: Array = np.linalg.eigvalsh(self._matrices(entries)).astype(np.float64)
        put = -0.5 * (((entries - self._mean) / self._sds) ** 2).sum(axis=1)
        return np.where(values[:, 0] > 0, self._log_density(values, self._m[which]) - put, -np.inf)

    def _log_density(self, values: Array, m: Array) -> Array:
        """log p(S|m) by the eigenvalues of S."""
        from scipy.special import gammaln  # loaded when first needed: half a second

        d, k = self._d, np.maximum(m, self._d + 1.0)
        places = np.arange(d) / 2
        found = (gammaln((k[:, None] + self._degrees) / 2 - places) - gammaln(k[:, None] / 2 - places)).sum(axis=1)
        scaled = np.maximum(values, 1e-300) * k[:, None]
        found += (k - d - 1) / 2 * np.log(scaled).sum(axis=1) + d * (d + 1) / 2 * np.log(k)
        return np.asarray(found - (k + self._degrees) / 2 * np.log(self._prior + scaled).sum(axis=1))

    def _log_rows(self, m: Array) -> Array:
        return np.asarray(-0.5 * ((m - self._rows[0]) / self._rows[1]) ** 2)

    def _matrices(self, entries: Array) -> Array:
        found = np.zeros((len(entries), self._d, self._d))
        found[:, self._upper[0], self._upper[1]] = found[:, self._upper[1], self._upper[0]] = entries
        return found
