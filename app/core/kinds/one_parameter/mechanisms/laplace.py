"""`laplace`: discrete Laplace noise on the exact integer statistic, once; then any number of free samples.

The samples come from the noise-aware posterior on the public grid. They are post-processing of one noisy statistic, so
the release is charged once whatever N, and an analyst once whatever prefix.

With up to k rows a person, (2t − hm, m) gets noise of scales (b, b/h), h the steps of one row. A person with i rows who has
j afterwards moves the first by at most (i + j)·h, the second by |i − j|: at most ((2k − e)·h, e) for a difference e, and
((2k − e)·h)/b + e·h/b = 2kh/b whatever e. The curve is the largest of those of all e.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.core.grids.integer_table import table_seconds
from app.core.kinds.belief import Whole
from app.core.kinds.mechanism_fields import LaplaceFields
from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms.noisy_sum import (
    MeasuresSum,
    Scales,
    grid_points,
    inference_seconds,
    measured_values,
    measurement_of,
)
from app.core.noise.discrete_laplace import AddNoise, add_noise, discrete_laplace_cost, noise_scale, noise_seconds
from app.core.privacy.cost import ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.privacy.together.path import GroupCost
from app.core.statistics.sums import ExactStatistic

_FACTORS = (1, 1)
_DIFFERENCES = 64
_ROUNDING = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Laplace(MeasuresSum, LaplaceFields):
    """Pure ε-DP in the statistic; neighbours replace one person's rows."""

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        steps, scales = model.statistic.steps, self.scales(model, unit_rows)
        once = discrete_laplace_cost(steps, scales[0]) if unit_rows == 1 else rows_cost(steps, unit_rows, scales)
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=self.samples,
            kl_sup=once.curve[0],
            papers_pure=once.pure,
            method="exact: discrete Laplace",
            grid_points=grid_points(model, people * unit_rows),
        )

    def together(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost:
        """Shifts of so many people add up; with several rows, at most (2kc − e)·h and e for a total difference of e rows."""
        steps, scales = model.statistic.steps, self.scales(model, unit_rows)
        several = unit_rows > 1
        once = (
            rows_cost(steps, count * unit_rows, scales) if several else discrete_laplace_cost(count * steps, scales[0])
        )
        return GroupCost(ZERO_COST, once, 0.0, once.curve[0])

    def scales(self, model: Model, unit_rows: int) -> Scales:
        """Of the noise on the sum and, where people may have several rows, on their number."""
        steps, epsilon = model.statistic.steps, chargeable(self.epsilon)
        if unit_rows == 1:
            return (noise_scale(steps, epsilon),)
        scale = noise_scale(2 * unit_rows * steps, epsilon) * _ROUNDING
        return scale, scale / steps * _ROUNDING

    def measure(
        self, model: Model, people: int, unit_rows: int, statistic: ExactStatistic, noise: AddNoise = add_noise
    ) -> Whole:
        """`noise` is OpenDP's but in tests."""
        values, scales = measured_values(model, people, unit_rows, statistic, _FACTORS), self.scales(model, unit_rows)
        return np.concatenate([noise(values[i : i + 1], scale) for i, scale in enumerate(scales)])

    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        inference = inference_seconds(model, cost.grid_points, people, unit_rows)
        return table_seconds(cost.grid_points, self.samples) + noise_seconds(2) + inference

    def measurement(self, model: Model, unit_rows: int, measured: Whole) -> Measurement:
        return measurement_of(model, measured, self.scales(model, unit_rows), _FACTORS, gaussian=False)


@lru_cache(maxsize=1_024)
def rows_cost(steps: int, unit_rows: int, scales: Scales) -> Cost:
    """The largest over all differences e; beyond 64 of them bounded group by group, costs rising with every shift."""
    every = max(1, math.ceil(unit_rows / _DIFFERENCES))
    found = []
    for first in range(0, unit_rows, every):
        last = min(first + every, unit_rows) - 1
        moved = discrete_laplace_cost((2 * unit_rows - first) * steps, scales[0])
        found.append(moved.plus(discrete_laplace_cost(last, scales[1])) if last else moved)
    curve = np.max([each.curve for each in found], axis=0)
    return Cost(max(each.pure for each in found), tuple(curve.tolist()))
