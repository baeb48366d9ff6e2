"""`gaussian`: discrete Gaussian noise on the exact integer statistic, once; then any number of free samples.

One row a person: a shift by h steps costs D_α = α·h²/(2σ²). Up to k rows: (2t − hm, m) gets noise of sds (σ, σ/(√3·h)). A person
with i rows who has j afterwards moves the first by at most (i + j)·h and the second by |i − j|, so that

    ρ = h²/(2σ²)·((i + j)² + 3·(i − j)²) ≤ h²/(2σ²)·4k²,   reached by i = j = k: the number of rows is free.

Whole numbers are multiplied by a public power of two before noise is added, as large as it takes for the noise to be at least
256 steps wide: from there its own law is certified (`privacy/gaussian.py`).
"""

import math
from dataclasses import dataclass

import numpy as np

from app.core.grids.integer_table import table_seconds
from app.core.kinds.belief import Whole
from app.core.kinds.mechanism_fields import GaussianFields, gaussian_cost
from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms.noisy_sum import (
    Factors,
    MeasuresSum,
    Scales,
    grid_points,
    inference_seconds,
    measured_values,
    measurement_of,
)
from app.core.noise.discrete_gaussian import (
    ROUNDING,
    AddNoise,
    add_noise,
    noise_scale,
    scaled_up,
)
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.sums import ExactStatistic

NOISE_S = 500e-6


@dataclass(frozen=True, slots=True)
class Gaussian(MeasuresSum, GaussianFields):
    """(ε, δ) of one noisy statistic, whatever N; neighbours replace one person's rows."""

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        return gaussian_cost(self.rho, self.samples, grid_points=grid_points(model, people * unit_rows))

    def scales(self, model: Model, unit_rows: int) -> tuple[Scales, Factors]:
        """Of the noise, on numbers multiplied by the factors; at least `SCALE_MIN` each."""
        steps, rho = model.statistic.steps, self.rho
        sds = [noise_scale(steps if unit_rows == 1 else 2 * unit_rows * steps, rho)]
        if unit_rows > 1:
            sds.append(sds[0] / (math.sqrt(3) * steps) * ROUNDING)
        factors = [scaled_up(sd) for sd in sds]
        return tuple(sd * factor for sd, factor in zip(sds, factors, strict=True)), tuple(factors)

    def measure(
        self, model: Model, people: int, unit_rows: int, statistic: ExactStatistic, noise: AddNoise = add_noise
    ) -> Whole:
        """`noise` is OpenDP's but in tests."""
        scales, factors = self.scales(model, unit_rows)
        return noise(measured_values(model, people, unit_rows, statistic, factors), np.array(scales))

    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        inference = inference_seconds(model, cost.grid_points, people, unit_rows)
        return 0.02 + table_seconds(cost.grid_points, self.samples) + 2 * NOISE_S + inference

    def measurement(self, model: Model, unit_rows: int, measured: Whole) -> Measurement:
        return measurement_of(model, measured, *self.scales(model, unit_rows), gaussian=True)
