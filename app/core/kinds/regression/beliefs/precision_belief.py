"""What may be believed about a precision matrix given the noisy Σzzᵀ.

As `perturbed_precision.py` has it, without the ball: the sum A has density p(A)·N(Â; A, s²), p(A) ∝ |A|^{(n−d−1)/2}·
|Ψ + A|^{−(n+ν)/2}, and Ω given A is Wishart(ν + n, (Ψ + A)⁻¹). Chains move around a Gaussian that has the noise *and* about the
width of p(A): around Â alone, steps would be as short as p(A) is narrow beside the noise.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.elliptical_slice import SliceChains
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.precision_model import PrecisionMatrixModel

Array = NDArray[np.float64]

BURN_IN = 120
CHAINS, THIN = 256, 15
WIDE = 8
CHAINS_WIDE, THIN_WIDE = 64, 5
"""Beyond WIDE columns, where a step takes longer than all else."""
WIDER = 2.0
"""The Gaussian's sds over the typical size of a sum of squares."""


class SumBelief:
    """`noisy` and `sds` are of the upper triangle, row by row, in units of z."""

    def __init__(self, model: PrecisionMatrixModel, people: int, noisy: Array, sds: Array) -> None:
        self._model, self._people, self._d = model, people, model.dimension
        self._upper = np.triu_indices(self._d)
        self._prior = model.degrees * model.scale
        self._powers = max(people - self._d - 1, 0) / 2, (people + model.degrees) / 2
        on_diagonal = self._upper[0] == self._upper[1]
        typical = people * self._prior / (model.degrees - self._d + 1)
        self._mean, self._sds = np.where(on_diagonal, typical, 0.0), np.full(len(noisy), WIDER * typical)
        precision = sds**-2 + self._sds**-2
        self._centre = (noisy * sds**-2 + self._mean * self._sds**-2) / precision
        self._spread = precision**-0.5

    def draws(self, points: int, stream: SeededStream) -> Array:
        """(points, d, d) matrices Ω."""
        wide = self._d > WIDE
        chains = min(points, CHAINS_WIDE if wide else CHAINS)
        start = self._starts(chains, stream)
        moving = SliceChains(self._centre, self._spread, start, self._log_factor, stream)
        found: list[Array] = []
        while sum(map(len, found)) < points:
            for _ in range((THIN_WIDE if wide else THIN) if found else BURN_IN):
                moving.step()
            found.append(self._omega(moving.states, stream))
        return np.concatenate(found)[:points]

    def _matrices(self, entries: Array) -> Array:
        found = np.zeros((len(entries), self._d, self._d))
        found[:, self._upper[0], self._upper[1]] = found[:, self._upper[1], self._upper[0]] = entries
        return found

    def _log_factor(self, entries: Array, which: NDArray[np.int64]) -> Array:
        """log p(A) less the log of the Gaussian put in its place."""
        values = np.linalg.eigvalsh(self._matrices(entries))
        inside = np.maximum(values, 1e-300)
        own = self._powers[0] * np.log(inside).sum(axis=1)
        own -= self._powers[1] * np.log(inside + self._prior).sum(axis=1)  # Ψ is a multiple of I
        put = -0.5 * (((entries - self._mean) / self._sds) ** 2).sum(axis=1)
        return np.where(values[:, 0] > 0, own - put, -np.inf)

    def _starts(self, chains: int, stream: SeededStream) -> Array:
        """n·Ω⁻¹ with Ω of the prior: where the noise says little, chains are there already."""
        scale = np.repeat((self._prior * np.eye(self._d))[None], chains, axis=0)
        sums = self._people * np.linalg.inv(seeded_wishart(self._model.degrees, scale, stream))
        return np.asarray(sums[:, self._upper[0], self._upper[1]])

    def _omega(self, entries: Array, stream: SeededStream) -> Array:
        scale = self._prior * np.eye(self._d) + self._matrices(entries)
        return seeded_wishart(self._model.degrees + self._people, scale, stream)


def seeded_wishart(degrees: float | Array, inverse_scale: Array, stream: SeededStream) -> Array:
    """Bartlett, for (N, d, d), `degrees` the same for all or (N, 1): with inverse_scale = LLᵀ and T lower triangular of χ and
    normals, L⁻ᵀTTᵀL⁻¹."""
    count, d = inverse_scale.shape[:2]
    T = np.tril(stream.normals(count, d, d), -1)
    each = np.broadcast_to(degrees - np.arange(d), (count, d))
    T[:, np.arange(d), np.arange(d)] = np.sqrt(_chi_squares(each, stream))
    half = np.linalg.solve(np.linalg.cholesky(inverse_scale).transpose(0, 2, 1), T)
    return np.asarray(half @ half.transpose(0, 2, 1))


def _chi_squares(degrees: Array, stream: SeededStream) -> Array:
    """By inversion: a uniform number each."""
    from scipy.special import gammaincinv

    uniforms = stream.uniforms(math.prod(degrees.shape)).reshape(degrees.shape)
    return np.asarray(2 * gammaincinv(degrees / 2, uniforms))
