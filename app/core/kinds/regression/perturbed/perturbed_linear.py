"""Noise on the moments of a linear regression, and draws of its coefficients.

**Joint sensitivity.** Records (z, y), (z', y') with ‖z‖ = a, ‖z'‖ = b ≤ 1, cosine γ, p = y², q = y'² ≤ 1:

    Δ² = ‖zzᵀ − z'z'ᵀ‖_F² + ‖zy − z'y'‖² + C·(y² − y'²)²
       = a⁴ + b⁴ − 2a²b²γ² + a²p + b²q − 2abyy'γ + C(p − q)²
       ≤ a⁴ + b⁴ + a²p + b²q + pq/2 + C(p − q)²             at γ = −yy'/(2ab), the top of the parabola in γ
       ≤ 2 + p + q + pq/2 + C(p − q)²                       a, b ≤ 1
       ≤ max(4.5, 3 + C)                                    convex in p and in q: largest at a corner

and a = b = p = q = 1, γ = ∓½ reaches 4.5. So Δ² = 4.5 for every C ≤ 3/2, and Σỹ² comes free with noise s/√(3/2). (Adding
the separate sensitivities 2 + 4 + 1 would be 7.) The Frobenius norm counts an off-diagonal entry twice: stored once, it gets
noise s/√2. A person with k rows moves k times as much: the triangle inequality, in the same weighted norm.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.latent_products import LatentProducts
from app.core.kinds.regression.beliefs.linear_belief import NoisyTargets, believed_weights
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.perturbed.noisy_posterior import NoisyMoments, in_ball, noise_aware_posterior
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes, standard_normals
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

SQUARE_WEIGHT = 1.5
SENSITIVITY = math.sqrt(4.5)


class PerturbedLinear:
    """Of one row a person, or of a declared noise, which makes their number matter less: else it is measured too
    (`private/counted.py`).

    `ratios` r_j: coordinate j of `values` gets noise s·r_j; `sensitivity` is of one row, in steps, weighted by them."""

    def __init__(self, model: LinearModel, people: int, unit_rows: int) -> None:
        self._model, self._people, self._unit_rows = model, people, unit_rows
        self._upper = np.triu_indices(model.dimension)
        off_diagonal = self._upper[0] != self._upper[1]
        self.ratios: Array = np.concatenate(
            [np.where(off_diagonal, math.sqrt(0.5), 1.0), np.ones(model.dimension), [SQUARE_WEIGHT**-0.5]]
        )
        self.sensitivity = SENSITIVITY * LATTICE**2

    def values(self, moments: ExactMoments) -> Whole:
        return np.concatenate([moments.products[self._upper], moments.cross, [moments.square]]).astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        """Coefficients in the units of the columns, from noise-aware weights brought back into the ball."""
        model = self._model
        posterior = noise_aware_posterior(
            self.noisy_moments(noisy, scale), model.scaled_sd, model.precision, model.radius
        )
        w = posterior.transform(standard_normals((samples, model.dimension), random_bytes))
        return model.coefficients(in_ball(w, model.radius))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model, d, steps = untrimmed(self._model), self._model.dimension, self._model.statistic.steps
        products, variance = np.zeros((d, d)), np.zeros((d, d))
        entries = len(self._upper[0])
        products[self._upper] = noisy[:entries] / float(steps**2)
        variance[self._upper] = (scale * self.ratios[:entries] / steps**2) ** 2
        area = float(LATTICE**2)
        targets = NoisyTargets(
            cross=noisy[-1 - d : -1] / (float(steps) * LATTICE),
            cross_variance=(scale / (float(steps) * LATTICE)) ** 2,
            square=float(noisy[-1]) / area,
            square_variance=(scale * float(self.ratios[-1]) / area) ** 2,
            rows=self._people,
            sd=model.scaled_sd,
            precision=model.precision,
        )
        latent = LatentProducts(model, self._people, self._unit_rows, products, variance)
        return model.coefficients(in_ball(believed_weights(latent, targets, points, stream), model.radius))

    def noisy_moments(self, noisy: Whole, scale: float) -> NoisyMoments:
        d, unit = self._model.dimension, float(LATTICE**2)
        s = scale / unit
        products, variance = np.zeros((d, d)), np.zeros((d, d))
        products[self._upper] = noisy[: len(self._upper[0])] / unit
        variance[self._upper] = (s * self.ratios[: len(self._upper[0])]) ** 2
        products, variance = (np.triu(m) + np.triu(m, 1).T for m in (products, variance))
        for i in self._public_squares():
            products[i, i], variance[i, i] = self._people / self._model.norm_bound**2, 0.0
        return NoisyMoments(products, variance, noisy[-1 - d : -1] / unit, s**2, noisy[-1] / unit, self._people)

    def _public_squares(self) -> list[int]:
        """Coordinates of square 1/B² in every row, the intercept and ±1 columns: their sums are known without looking."""
        model = self._model
        if self._unit_rows > 1 or model.clips or not model.intercept:
            return []
        return [0, *(1 + i for i, coordinate in enumerate(model.coordinates) if coordinate.kind == "binary")]
