"""Noise on Σzzᵀ, and draws of the precision matrix.

‖zzᵀ − z'z'ᵀ‖_F² = a⁴ + b⁴ − 2a²b²γ² ≤ 2: sensitivity √2, off-diagonal entries stored once with noise s/√2. Given the noisy sum
Â, each draw first takes noise of the same law off again, so that its uncertainty is in the result, brings the matrix back to
positive semi-definite and draws Ω from the Wishart law; one outside the Frobenius ball is tried again, in the end shortened.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.perturbed.noisy_posterior import semidefinite
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

TRIES = 64


class PerturbedPrecision:
    def __init__(self, model: PrecisionMatrixModel, people: int) -> None:
        self._model, self._people = model, people
        self._upper = np.triu_indices(model.dimension)
        self.ratios: Array = np.where(self._upper[0] != self._upper[1], math.sqrt(0.5), 1.0)
        self.sensitivity = math.sqrt(2) * LATTICE**2

    def values(self, moments: ExactMoments) -> Whole:
        return moments.products[self._upper].astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        """Post-processing: a generator seeded once will do."""
        generator = np.random.default_rng(int.from_bytes(random_bytes(32), "little"))
        found = np.stack([self._draw(noisy, scale, generator) for _ in range(samples)])
        return self._model.entries(found)

    def _draw(self, noisy: Whole, scale: float, generator: np.random.Generator) -> Array:
        model, omega = self._model, np.zeros(0)
        prior = model.degrees * model.scale * np.eye(model.dimension)
        for _ in range(TRIES):
            entries = (noisy - generator.normal(0.0, scale * self.ratios)) / float(LATTICE**2)
            A = np.zeros((model.dimension, model.dimension))
            A[self._upper] = entries
            omega = wishart(model.degrees + self._people, prior + semidefinite(A + np.triu(A, 1).T), generator)
            if np.linalg.norm(omega) <= model.radius:
                return omega
        return np.asarray(omega * (model.radius / np.linalg.norm(omega)))


def wishart(degrees: float, inverse_scale: Array, generator: np.random.Generator) -> Array:
    """Bartlett: with inverse_scale = LLᵀ and T lower triangular of χ and normals, L⁻ᵀTTᵀL⁻¹."""
    d = len(inverse_scale)
    T = np.tril(generator.standard_normal((d, d)), -1)
    T[np.diag_indices(d)] = np.sqrt(generator.chisquare(degrees - np.arange(d)))
    half = np.linalg.solve(np.linalg.cholesky(inverse_scale).T, T)
    return np.asarray(half @ half.T)
