"""What may be believed about regression weights given noisy moments: no matrix is plugged in, all are integrated over.

With A = Σzzᵀ and v = Σzỹ the model says v ~ N(Aw, σ²A); seen are Â = A + E and v̂ = v + e. With the whole Gaussian prior
w ~ N(0, λ⁻¹I), the ball left to the sampler, weights integrate out:

    v̂ | A ~ N(0, A²/λ + σ²A + s²I),   w | A, v̂ ~ N(P⁻¹AC⁻¹v̂, P⁻¹),   C = σ²A + s²I,   P = λI + AC⁻¹A,

all diagonal in the eigenvectors of A. So chains move in A alone (`latent_products.py` has its prior), and w is drawn given A.

**Noise not declared.** Then Σỹ² = wᵀAw + 2wᵀξ + Σε², ξ = v − Aw, tells σ, log-even from SD_LEAST to 1 in scaled units. To two
moments, given v̂ it has mean wᵀAw + nσ² + cᵀC⁻¹(v̂ − Aw) and variance 4σ²wᵀAw + 2nσ⁴ − cᵀC⁻¹c, c = 2σ²Aw, beside its noise
and, where n was measured with noise, σ⁴ times what that leaves open.
Chains then move in A and η, w = mean + P^{−½}η, and in log σ by slices between its ends. Where σ is declared, Σỹ² is not used: it
would tell little of the weights, and all of it on the word of that number.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.elliptical_slice import SHRINKS_MAX, SliceChains
from app.core.kinds.regression.beliefs.latent_products import LatentProducts
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.model import SD_LEAST

Array = NDArray[np.float64]

SETTLING = 40
BURN_IN = 100
CHAINS, THIN = 256, 15
WIDE = 10
CHAINS_WIDE, THIN_WIDE = 64, 4
"""Beyond WIDE coefficients, where a step takes longer than all else."""
LOG_SD_ENDS = (math.log(SD_LEAST), 0.0)
"""Of scaled noise that nobody declared."""


@dataclass(frozen=True, slots=True)
class NoisyTargets:
    """Of v and Σỹ², in scaled units; `sd` is the declared σ, None if it is not."""

    cross: Array
    cross_variance: float
    square: float
    square_variance: float
    rows: float | None
    """None where nobody knows: then it is what A says."""
    sd: float | None
    precision: float
    rows_variance: float = 0.0


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Of A for every chain: eigenvalues a, (N, d), eigenvectors U, (N, d, d), and Uᵀv̂, (N, d)."""

    values: Array
    vectors: Array
    cross: Array
    rows: Array
    """How many there are."""

    def rotate(self, coordinates: Array) -> Array:
        """Uc."""
        return np.asarray(np.einsum("nij,nj->ni", self.vectors, coordinates))

    def coordinates(self, vectors: Array) -> Array:
        """Uᵀx."""
        return np.asarray(np.einsum("nij,ni->nj", self.vectors, vectors))


class WeightChains:
    def __init__(self, products: LatentProducts, targets: NoisyTargets, chains: int, stream: SeededStream) -> None:
        self._products, self._targets, self._stream = products, targets, stream
        d = len(targets.cross)
        unknown = targets.sd is None
        self._log_sd = np.full(chains, np.mean(LOG_SD_ENDS) if targets.sd is None else np.log(targets.sd))
        start = np.concatenate([products.starts(chains, stream), np.zeros((chains, d * unknown))], axis=1)
        centre = np.concatenate([products.centre, np.zeros(d * unknown)])
        sds = np.concatenate([products.sds, np.ones(d * unknown)])
        self._settling = unknown
        self._slices = SliceChains(centre, sds, start, self._log_factor, stream)
        if unknown:
            self._settle()

    def _settle(self) -> None:
        """A without what Σỹ² says, then σ by it: to where chains belong, which both at once would not let them reach."""
        for _ in range(SETTLING):
            self._slices.step()
            self._slices.states[:, self._products.count :] = self._stream.normals(
                len(self._log_sd), len(self._targets.cross)
            )
            self._move_sd()
            self._slices.refresh()
        self._settling = False
        self._slices.refresh()

    def move(self, steps: int) -> None:
        for _ in range(steps):
            self._slices.step()
            free, log_volume = self._products.rescaled(self._free(self._slices.states), self._stream)
            rest = self._slices.states[:, self._products.count :]
            self._slices.propose(np.concatenate([free, rest], axis=1), log_volume)
            if self._targets.sd is None:
                self._move_sd()
                self._slices.refresh()

    def weights(self) -> Array:
        """(chains, d), one given each chain's A."""
        spectrum = self._spectrum(self._products.matrices(self._free(self._slices.states)))
        normals = self._stream.normals(*spectrum.values.shape)
        if self._targets.sd is None:
            normals = spectrum.coordinates(self._slices.states[:, self._products.count :])
        return spectrum.rotate(self._weight_coordinates(spectrum, normals, self._log_sd))

    def sds(self) -> Array:
        return np.asarray(np.exp(self._log_sd))

    def _free(self, states: Array) -> Array:
        return states[:, : self._products.count]

    def _spectrum(self, matrices: Array) -> Spectrum:
        values, vectors = np.linalg.eigh(matrices)
        known = self._targets.rows
        rows = self._products.rows(matrices) if known is None else np.full(len(matrices), float(known))
        return Spectrum(values, vectors, np.asarray(np.einsum("nij,i->nj", vectors, self._targets.cross)), rows)

    def _log_factor(self, states: Array, which: NDArray[np.int64]) -> Array:
        free, log_sd = self._free(states), self._log_sd[which]
        matrices = self._products.matrices(free)
        spectrum = self._spectrum(matrices)
        found = self._products.log_prior(free, matrices, spectrum.values)
        a = np.maximum(spectrum.values, 0.0)
        spread = a**2 / self._targets.precision + self._noise(a, log_sd)
        found = found - 0.5 * (np.log(spread) + spectrum.cross**2 / spread).sum(axis=1)
        if self._targets.sd is None and not self._settling:
            eta = spectrum.coordinates(states[:, self._products.count :])
            found = found + self._log_square(spectrum, self._weight_coordinates(spectrum, eta, log_sd), log_sd)
        return np.asarray(found)

    def _noise(self, a: Array, log_sd: Array) -> Array:
        """C."""
        return np.asarray(np.exp(2 * log_sd)[:, None] * a + self._targets.cross_variance)

    def _conditional(self, spectrum: Spectrum, log_sd: Array) -> tuple[Array, Array]:
        """(mean, sds) of Uᵀw given A and v̂."""
        a = np.maximum(spectrum.values, 0.0)
        noise = self._noise(a, log_sd)
        precision = self._targets.precision + a**2 / noise
        return a * spectrum.cross / noise / precision, precision**-0.5

    def _weight_coordinates(self, spectrum: Spectrum, normals: Array, log_sd: Array) -> Array:
        mean, sds = self._conditional(spectrum, log_sd)
        return mean + sds * normals

    def _log_square(self, spectrum: Spectrum, weights: Array, log_sd: Array) -> Array:
        """log p(Σỹ² + noise | A, w, σ, v̂)."""
        a, variance, seen = np.maximum(spectrum.values, 0.0), np.exp(2 * log_sd), self._targets
        c_over_noise = 2 * variance[:, None] * a * weights / self._noise(a, log_sd)
        explained = (a * weights**2).sum(axis=1)
        mean = explained + spectrum.rows * variance + (c_over_noise * (spectrum.cross - a * weights)).sum(axis=1)
        shared = (c_over_noise * 2 * variance[:, None] * a * weights).sum(axis=1)
        spread = 4 * variance * explained + 2 * spectrum.rows * variance**2 - shared + seen.square_variance
        spread = spread + seen.rows_variance * variance**2
        return np.asarray(-0.5 * (np.log(spread) + (seen.square - mean) ** 2 / spread))

    def _move_sd(self) -> None:
        """A slice of log σ between its ends, given A and w; η is then what makes w the same."""
        states, count = self._slices.states, self._products.count
        spectrum = self._spectrum(self._products.matrices(self._free(states)))
        weights = self._weight_coordinates(spectrum, spectrum.coordinates(states[:, count:]), self._log_sd)

        def log_density(log_sd: Array) -> Array:
            noise = self._noise(np.maximum(spectrum.values, 0.0), log_sd)
            left = spectrum.cross - spectrum.values * weights
            own = -0.5 * (np.log(noise) + left**2 / noise).sum(axis=1)
            return np.asarray(own + self._log_square(spectrum, weights, log_sd))

        chains = len(states)
        level = log_density(self._log_sd) + np.log(self._stream.uniforms(chains))
        low, high = (np.full(chains, end) for end in LOG_SD_ENDS)
        moved, waiting = self._log_sd.copy(), np.ones(chains, dtype=np.bool_)
        for _ in range(SHRINKS_MAX):
            tried = np.where(waiting, low + (high - low) * self._stream.uniforms(chains), moved)
            taken = waiting & (log_density(tried) > level)
            moved = np.where(taken, tried, moved)
            waiting &= ~taken
            if not waiting.any():
                break
            low = np.where(waiting & (tried < self._log_sd), tried, low)
            high = np.where(waiting & (tried >= self._log_sd), tried, high)
        self._log_sd = moved
        mean, sds = self._conditional(spectrum, moved)
        states[:, count:] = spectrum.rotate((weights - mean) / sds)


def believed_weights(products: LatentProducts, targets: NoisyTargets, points: int, stream: SeededStream) -> Array:
    """(points, d). Chains start all over the prior; BURN_IN steps lead to where the noisy moments want them."""
    wide = len(targets.cross) > WIDE
    chains = WeightChains(products, targets, min(points, CHAINS_WIDE if wide else CHAINS), stream)
    chains.move(BURN_IN)
    found = [chains.weights()]
    while sum(map(len, found)) < points:
        chains.move(THIN_WIDE if wide else THIN)
        found.append(chains.weights())
    return np.concatenate(found)[:points]
