"""`gaussian` on a network: discrete Gaussian noise on every count, once; then any number of free samples.

One row replaced moves at most two cells of every node by one each: Δ₂² = 2|I|. A person's rows, at most k before and at most k
after, move the counts of a node by a vector b − a of whole numbers with |a|₁, |b|₁ ≤ k, a and b not negative:
|b − a|² ≤ |a|² + |b|² ≤ 2k², so Δ₂² = 2k²·|I|, reached where k rows alike become k others alike that differ in every variable.
How many rows there are is not told on the side: noisy counts measure it, and nothing else does.

Counts are multiplied by a public power of two before noise is added, as large as it takes for the noise to be at least 256
steps wide: from there its own law is certified (`privacy/gaussian.py`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.core.kinds.belief import Whole
from app.core.kinds.mechanism_fields import GaussianFields, gaussian_cost
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.mechanisms.noisy_tables import MeasuresTables, Noise, row_range
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import clamped_counts
from app.core.noise.discrete_gaussian import (
    AddNoise,
    add_noise,
    noise_scale,
    scaled_up,
    seeded_noise,
)
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.counts import ExactCounts


@dataclass(frozen=True, slots=True)
class NetworkGaussian(MeasuresTables, GaussianFields):
    """(ε, δ) of one noisy vector, whatever N; neighbours replace one person's rows."""

    noise: ClassVar[Noise] = Noise(add_noise, seeded_noise)

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        scale, factor = self.scale(model, unit_rows)
        return gaussian_cost(self.rho, self.samples, smallest_scale=scale * factor)

    def scale(self, model: NetworkModel, unit_rows: int) -> tuple[float, int]:
        """σ in rows, and what counts are multiplied by."""
        sensitivity = math.sqrt(squared_sensitivity(model, unit_rows)) * (1 + 1e-15)
        scale = noise_scale(sensitivity, self.rho)
        return scale, scaled_up(scale)

    def noisy_tables_of(self, model: NetworkModel, people: int, unit_rows: int, measured: Whole) -> NoisyTables:
        scale, factor = self.scale(model, unit_rows)
        near = measured / factor
        rows, moved = row_range(model, people, unit_rows), self.roughness(model, unit_rows)[1]
        return NoisyTables(near, scale, True, rows, moved, near, np.full(len(near), scale))

    def roughness(self, model: NetworkModel, unit_rows: int) -> tuple[float, float]:
        return self.scale(model, unit_rows)[0], 2.0 * len(model.network.nodes)

    def measured_with(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Whole:
        scale, factor = self.scale(model, unit_rows)
        exact = clamped_counts(model.network, counts, people * unit_rows)
        return noise(exact * factor, np.full(len(exact), scale * factor))


def squared_sensitivity(model: NetworkModel, unit_rows: int) -> int:
    """L2, squared: 2k²|I|."""
    return 2 * unit_rows**2 * len(model.network.nodes)
