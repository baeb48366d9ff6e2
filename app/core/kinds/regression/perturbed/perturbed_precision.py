"""Noise on Σzzᵀ, and draws of the precision matrix.

‖zzᵀ − z'z'ᵀ‖_F² = a⁴ + b⁴ − 2a²b²γ² ≤ 2: sensitivity √2, off-diagonal entries stored once with noise s/√2.

The rest is post-processing. With A = Σzzᵀ ~ Wishart(n, Ω⁻¹) and Ω ~ Wishart(ν, Ψ⁻¹), Ψ = νλI, the sum alone has density

    p(A) ∝ |A|^{(n−d−1)/2}·|Ψ + A|^{−(n+ν)/2},

so that given the noisy Â the sum has density p(A)·N(Â; A, s²) on the positive definite matrices and Ω, given A, is
Wishart(ν + n, (Ψ + A)⁻¹). A is drawn by elliptical slice sampling (Murray, Adams and MacKay 2010) around Â, many chains at
once; pairs (A, Ω) outside the Frobenius ball are drawn again, which is the restriction of the prior. Taking noise off Â and
projecting, without p(A), puts the sum where the prior has no mass as soon as noise is not small beside it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.precision_belief import SumBelief
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.perturbed.noisy_posterior import semidefinite
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

CHAINS_MAX = 128
BURN_IN = 120
THIN = 8
TRIES = 64
SHRINKS_MAX = 60


class PerturbedPrecision:
    def __init__(self, model: PrecisionMatrixModel, people: int) -> None:
        self._model, self._people = model, people
        self._upper = np.triu_indices(model.dimension)
        self.ratios: Array = np.where(self._upper[0] != self._upper[1], math.sqrt(0.5), 1.0)
        self.sensitivity = math.sqrt(2) * LATTICE**2

    def values(self, moments: ExactMoments) -> Whole:
        return moments.products[self._upper].astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        """Post-processing: a generator seeded once will do. What never falls into the ball is shortened in the end."""
        model, generator = self._model, np.random.default_rng(int.from_bytes(random_bytes(32), "little"))
        chains = _SumChains(self, noisy / float(LATTICE**2), scale / float(LATTICE**2), min(samples, CHAINS_MAX))
        chains.move(BURN_IN, generator)
        found: list[Array] = []
        for turn in range(TRIES * -(-samples // CHAINS_MAX)):
            if turn:
                chains.move(THIN, generator)
            omega = wishart(model.degrees + self._people, chains.posterior_scale(), generator)
            inside = np.linalg.norm(omega, axis=(1, 2)) <= model.radius
            found.extend(omega[inside])
            if len(found) >= samples:
                return model.entries(np.stack(found[:samples]))
        longer = [matrix * (model.radius / np.linalg.norm(matrix)) for matrix in omega[~inside]]
        rest = [longer[i % len(longer)] if longer else found[i % len(found)] for i in range(samples - len(found))]
        return model.entries(np.stack(found + rest))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        area, model = float(self._model.statistic.steps) ** 2, untrimmed(self._model)
        belief = SumBelief(model, self._people, noisy / area, scale * self.ratios / area)
        return model.entries(belief.draws(points, stream))


class _SumChains:
    """Chains of the exact sum given the noisy one, by the entries of its upper triangle."""

    def __init__(self, perturbation: PerturbedPrecision, noisy: Array, scale: float, chains: int) -> None:
        model, people = perturbation._model, perturbation._people
        self._d, self._upper = model.dimension, perturbation._upper
        self._noisy, self._sds = noisy, scale * perturbation.ratios
        self._prior = model.degrees * model.scale * np.eye(self._d)
        self._powers = max(people - self._d - 1, 0) / 2, (people + model.degrees) / 2
        start = (semidefinite(self._matrices(noisy[None, :])[0]) + self._prior) * (people / (people + model.degrees))
        self._entries = np.repeat(start[self._upper][None, :], chains, axis=0)
        self._log_density = self._log_prior(self._entries)

    def posterior_scale(self) -> Array:
        """Ψ + A of every chain."""
        return np.asarray(self._prior + self._matrices(self._entries))

    def move(self, steps: int, generator: np.random.Generator) -> None:
        for _ in range(steps):
            self._step(generator)

    def _step(self, generator: np.random.Generator) -> None:
        """A point of the ellipse through a chain's state and fresh noise whose density is above a uniform share of its own."""
        count = len(self._entries)
        centred = self._entries - self._noisy
        fresh = generator.standard_normal(centred.shape) * self._sds
        level = self._log_density - generator.exponential(size=count)
        angle = generator.uniform(0, 2 * math.pi, count)
        low, high = angle - 2 * math.pi, angle.copy()
        waiting = np.arange(count)
        for _ in range(SHRINKS_MAX):
            turn = angle[waiting, None]
            tried = self._noisy + centred[waiting] * np.cos(turn) + fresh[waiting] * np.sin(turn)
            density = self._log_prior(tried)
            taken = density > level[waiting]
            self._entries[waiting[taken]], self._log_density[waiting[taken]] = tried[taken], density[taken]
            waiting = waiting[~taken]
            if not len(waiting):
                return
            low[waiting] = np.where(angle[waiting] < 0, angle[waiting], low[waiting])
            high[waiting] = np.where(angle[waiting] < 0, high[waiting], angle[waiting])
            angle[waiting] = generator.uniform(low[waiting], high[waiting])

    def _matrices(self, entries: Array) -> Array:
        found = np.zeros((len(entries), self._d, self._d))
        found[:, self._upper[0], self._upper[1]] = found[:, self._upper[1], self._upper[0]] = entries
        return found

    def _log_prior(self, entries: Array) -> Array:
        """log p(A), −∞ where A is not positive definite."""
        values = np.linalg.eigvalsh(self._matrices(entries))
        with np.errstate(divide="ignore"):
            own = np.log(np.maximum(values, 0.0)).sum(axis=1)
        spread = np.log(np.maximum(values, 0.0) + self._prior[0, 0]).sum(axis=1)  # Ψ is a multiple of I
        found = self._powers[0] * np.where(np.isfinite(own), own, 0.0) - self._powers[1] * spread
        return np.where(values[:, 0] > 0, found, -np.inf)


def wishart(degrees: float, inverse_scale: Array, generator: np.random.Generator) -> Array:
    """Bartlett, for (N, d, d): with inverse_scale = LLᵀ and T lower triangular of χ and normals, L⁻ᵀTTᵀL⁻¹."""
    count, d = inverse_scale.shape[:2]
    T = np.tril(generator.standard_normal((count, d, d)), -1)
    T[:, np.arange(d), np.arange(d)] = np.sqrt(generator.chisquare(degrees - np.arange(d), (count, d)))
    half = np.linalg.solve(np.linalg.cholesky(inverse_scale).transpose(0, 2, 1), T)
    return np.asarray(half @ half.transpose(0, 2, 1))
