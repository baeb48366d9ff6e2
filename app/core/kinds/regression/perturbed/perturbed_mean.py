"""Noise on the sum of records, and draws of the mean: ‖z − z'‖₂ ≤ 2, so the sum has sensitivity 2.

The noisy sum is nm + N(0, nΣ_z + s²I), so the posterior is Gaussian with the noise in it, exactly: precision λI + n²C⁻¹ and
linear term nC⁻¹t, C = nΣ_z + s²I. Draws are brought back into the ball.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.perturbed.noisy_posterior import Gaussian, in_ball
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes, standard_normals
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]


class PerturbedMean:
    def __init__(self, model: MeanModel, people: int) -> None:
        self._model, self._people = model, people
        self.ratios: Array = np.ones(model.dimension)
        self.sensitivity = 2.0 * LATTICE

    def values(self, moments: ExactMoments) -> Whole:
        return moments.sums.astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        m = self.posterior(noisy, scale).transform(standard_normals((samples, self._model.dimension), random_bytes))
        return self._model.means(in_ball(m, self._model.radius))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        """The same posterior, which is exact, without the ball."""
        m = self.posterior(noisy, scale).transform(stream.normals(points, self._model.dimension))
        return untrimmed(self._model).means(m)

    def posterior(self, noisy: Whole, scale: float) -> Gaussian:
        n, identity = self._people, np.eye(self._model.dimension)
        C = n * self._model.scaled_covariance + (scale / LATTICE) ** 2 * identity
        inverse = np.linalg.inv(C)
        precision = self._model.precision * identity + n**2 * (inverse + inverse.T) / 2
        mean: Array = np.linalg.solve(precision, n * inverse @ (noisy / LATTICE)).astype(np.float64)
        return Gaussian(mean, precision)
