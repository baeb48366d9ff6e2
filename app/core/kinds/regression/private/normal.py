"""Noisy sums of x̃ and x̃² of one private group and its noisy number m of rows, and the column's mean and sd given these.

Given m it is as with everybody's rows (`normal_belief.py`); m is even before, from the fewest to the most there may be, and
tables of as many m as noise leaves open are weighed by how likely each makes what was seen.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.normal_belief import MeanAndSdTable, NoisySums
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.kinds.regression.private.group_noise import Rows, Weights, row_noise_sd, rows_window
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments

Array = NDArray[np.float64]

TRIED = 40


class GroupNormal:
    def __init__(self, model: MeanAndSdModel, rows: Rows, weights: Weights) -> None:
        self._model, self._rows, self._weights = model, rows, weights
        self.ratios: Array = np.array([1.0, LATTICE * weights.square_ratio, weights.rows_ratio])
        self.sensitivity = weights.within * LATTICE

    def values(self, moments: ExactMoments) -> Whole:
        return np.array([moments.sums[0], moments.products[0, 0], moments.rows * LATTICE], dtype=np.int64)

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        return self.believed(noisy, scale, samples, SeededStream(random_bytes(32)))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        return self._model.parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model, steps = self._model, float(self._model.statistic.steps)
        first, second = float(noisy[0]) / steps, float(noisy[1]) / steps**2
        variances = (scale / steps) ** 2, (scale * float(self.ratios[1]) / steps**2) ** 2
        seen, sd = float(noisy[-1]) / LATTICE, row_noise_sd(self._weights, scale, LATTICE)
        low, high = rows_window(seen, sd, self._rows, TRIED)
        width = (high - low) / TRIED
        tried = low + (np.arange(TRIED) + 0.5) * width
        tables = [MeanAndSdTable(NoisySums(first, second, *variances, float(m)), model.precision) for m in tried]
        log_mass = np.array([table.log_evidence for table in tables]) - 0.5 * ((tried - seen) / sd) ** 2
        share = np.exp(log_mass - log_mass.max())
        counts = _shared_out(share / math.fsum(share), points, stream)
        drawn = [table.draws(count, stream) for table, count in zip(tables, counts, strict=True) if count]
        scaled = np.concatenate(drawn).clip([-model.mean_reach, 0.0], [model.mean_reach, 1.0])
        return model.in_units(scaled[np.argsort(stream.uniforms(points), kind="stable")])


def _shared_out(share: Array, points: int, stream: SeededStream) -> list[int]:
    """How many of the points each table has: on average its share of them, never more than one off."""
    ends = np.floor(np.cumsum(share) * points + float(stream.uniforms(1)[0])).astype(np.int64)
    ends[-1] = points
    counts: list[int] = np.diff(np.minimum(ends, points), prepend=0).tolist()
    return counts
