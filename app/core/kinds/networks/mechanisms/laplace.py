"""`laplace` on a network (Algorithm 1): discrete Laplace noise on every count, once; then any number of free samples.

Counts are by (node, configuration, level) cell, never by split. Replacing a record moves at most two cells of every node by
one each, so the L1 sensitivity is 2|I|, and 2k|I| for k rows a person (Lemma 1). The papers hold noisy counts to [0, n] and take
them for counts, and their intervals are far too narrow; here samples are of the posterior given the noisy counts.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Whole
from app.core.kinds.mechanism_fields import LaplaceFields
from app.core.kinds.networks.beliefs.measurement import NoisyTables, noise_sd
from app.core.kinds.networks.mechanisms.noisy_tables import MeasuresTables, Noise, row_range
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import clamped_counts
from app.core.noise.discrete_laplace import AddNoise, add_noise, moved_cost, noise_scale, seeded_noise
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.privacy.together.path import GroupCost
from app.core.statistics.counts import ExactCounts

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NetworkLaplace(MeasuresTables, LaplaceFields):
    """Pure ε; neighbours replace one person's rows. Law 1 could cost a unit of 10⁻⁹ more than a budget of ε holds."""

    noise: ClassVar[Noise] = Noise(add_noise, seeded_noise)

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        once = moved_cost(sensitivity(model, unit_rows), unit_rows, self.scale(model, unit_rows))
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=self.samples,
            kl_sup=once.curve[0],
            papers_pure=once.pure,
            method="exact: discrete Laplace on every moved count" if unit_rows == 1 else "certified: discrete Laplace",
            grid_points=0,
        )

    def together(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost:
        """Moves of so many people add up, in all and in every cell."""
        scale = self.scale(model, unit_rows)
        once = moved_cost(count * sensitivity(model, unit_rows), count * unit_rows, scale)
        return GroupCost(ZERO_COST, once, 0.0, once.curve[0])

    def scale(self, model: NetworkModel, unit_rows: int) -> float:
        epsilon = self.epsilon if self.law == 1 else chargeable(self.epsilon)
        return noise_scale(sensitivity(model, unit_rows), epsilon)

    def noisy_tables_of(self, model: NetworkModel, people: int, unit_rows: int, measured: Whole) -> NoisyTables:
        scale, near = self.scale(model, unit_rows), measured.astype(np.float64)
        spread = np.full(len(near), noise_sd(scale, gaussian=False))
        rows, moved = row_range(model, people, unit_rows), self.roughness(model, unit_rows)[1]
        return NoisyTables(near, scale, False, rows, moved, near, spread)

    def roughness(self, model: NetworkModel, unit_rows: int) -> tuple[float, float]:
        return self.scale(model, unit_rows), 2.0 * len(model.network.nodes)

    def noisy_counts(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Array:
        """Held to [0, n], as the papers go on from; their bounds are about these."""
        measured = self.measured_with(model, people, unit_rows, counts, noise)
        return np.clip(measured, 0, people * unit_rows).astype(np.float64)

    def measured_with(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Whole:
        exact = clamped_counts(model.network, counts, people * unit_rows)
        return noise(exact, self.scale(model, unit_rows))


def sensitivity(model: NetworkModel, unit_rows: int) -> int:
    """L1: 2k|I|."""
    return 2 * unit_rows * len(model.network.nodes)
