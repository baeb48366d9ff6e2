"""The noisy sum of records of one private group and its noisy number m of rows, and the mean given both.

Given m the sum t is N(mμ, mΣ_z + s²I) and μ ~ N(0, I/λ), so that t ~ N(0, m²/λ·I + mΣ_z + s²I) and μ given t and m is
Gaussian, all diagonal in the eigenvectors of Σ_z. m is even before, from the fewest to the most there may be: it is summed over,
which is exact.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.perturbed.noisy_posterior import in_ball
from app.core.kinds.regression.private.group_noise import Rows, Weights, row_noise_sd, rows_window
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

TRIED = 1_024
"""Numbers of rows that are weighed: all that noise leaves open, or so many of them."""


class GroupMean:
    def __init__(self, model: MeanModel, rows: Rows, weights: Weights) -> None:
        self._model, self._rows, self._weights = model, rows, weights
        self.ratios: Array = np.concatenate([np.ones(model.dimension), [weights.rows_ratio]])
        self.sensitivity = weights.within * LATTICE

    def values(self, moments: ExactMoments) -> Whole:
        return np.concatenate([moments.sums, [moments.rows * LATTICE]]).astype(np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        found = self._means(noisy, scale, samples, SeededStream(random_bytes(32)))
        return self._model.means(in_ball(found, self._model.radius))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        return untrimmed(self._model).means(self._means(noisy, scale, points, stream))

    def _means(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        """(points, d) in scaled units."""
        spread, vectors = np.linalg.eigh(self._model.scaled_covariance)
        t, noise = vectors.T @ (noisy[:-1] / LATTICE), (scale / LATTICE) ** 2
        seen, sd = float(noisy[-1]) / LATTICE, row_noise_sd(self._weights, scale, LATTICE)
        low, high = rows_window(seen, sd, self._rows, TRIED)
        tried = np.unique(np.rint(np.linspace(low, high, TRIED)))
        within = tried[:, None] * spread + noise
        alone = within + tried[:, None] ** 2 / self._model.precision
        log_mass = -0.5 * (((tried - seen) / sd) ** 2 + (np.log(alone) + t**2 / alone).sum(axis=1))
        below = np.cumsum(np.exp(log_mass - log_mass.max()))
        levels = (np.arange(points) + stream.uniforms(points)) / points * below[-1]
        rows = tried[np.searchsorted(below, levels).clip(0, len(tried) - 1)]
        rows = rows[np.argsort(stream.uniforms(points), kind="stable")][:, None]
        precision = self._model.precision + rows**2 / (rows * spread + noise)
        centre = rows * t / (rows * spread + noise) / precision
        return np.asarray((centre + stream.normals(points, len(t)) / np.sqrt(precision)) @ vectors.T)
