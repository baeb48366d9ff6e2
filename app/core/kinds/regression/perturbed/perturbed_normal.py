"""Noise on the sums of x̃ and of x̃², and draws of mean and sd.

**Joint sensitivity.** For x, x' in [−1, 1] with a = |x − x'| and b = |x + x'|, a + b ≤ 2:

    Δ² = (x − x')² + C·(x² − x'²)² = a²·(1 + C·b²) ≤ a²·(1 + C·(2 − a)²),

at most 4, the value at a = 2, as long as C·a²(2 − a)² ≤ (2 − a)(2 + a), that is C ≤ (2 + a)/(a²(2 − a)) for every a: the
smallest, at a = √5 − 1, is (11 + 5√5)/8 ≈ 2.77. So the sum of squares comes free, with noise s/√C beside the sum's s. Draws
are of what may be believed (`normal_belief.py`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.normal_belief import NoisySums, believed_mean_and_sd
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

SQUARE_WEIGHT = (11 + 5 * math.sqrt(5)) / 8 * (1 - 1e-12)


class PerturbedNormal:
    def __init__(self, model: MeanAndSdModel, people: int) -> None:
        self._model, self._people = model, people
        self.ratios: Array = np.array([1.0, LATTICE / math.sqrt(SQUARE_WEIGHT)])
        self.sensitivity = 2.0 * LATTICE

    def values(self, moments: ExactMoments) -> Whole:
        return np.array([moments.sums[0], moments.products[0, 0]], dtype=np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        return self.believed(noisy, scale, samples, SeededStream(random_bytes(32)))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return self._model.parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model, steps = self._model, float(self._model.statistic.steps)
        first, second = scale * self.ratios / [steps, steps**2]
        seen = NoisySums(
            float(noisy[0]) / steps, float(noisy[1]) / steps**2, float(first) ** 2, float(second) ** 2, self._people
        )
        return model.in_units(believed_mean_and_sd(seen, model.precision, model.mean_reach, points, stream))
