"""`laplace` on a network (Algorithm 1): discrete Laplace noise on every count, once; then any number of free samples.

Counts are by (node, configuration, level) cell, never by split. Replacing a record moves at most two cells of every node by
one each, so the L1 sensitivity is 2|I|, and 2k|I| for k rows a person (Lemma 1). Noisy counts are held to [0, n], and
samples drawn from the Dirichlet posterior they give on the model's own grid: post-processing of one noisy vector.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.mechanism_fields import LaplaceFields
from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.blocks.block_sampler import Settings, draw_network, draw_seconds
from app.core.kinds.networks.cost import DETAILED_SHAPES_MAX, block_shapes
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import clamped_counts
from app.core.noise.discrete_laplace import AddNoise, add_noise, moved_cost, noise_scale, noise_seconds
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.statistics.counts import ExactCounts

Array = NDArray[np.float64]


class DrawsFromNoisyCounts(ABC):
    """What mechanisms that add noise once have in common: everything after the noise is free."""

    __slots__ = ()

    samples: int

    @abstractmethod
    def noisy_counts(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Array: ...

    def draw(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        random_bytes: Callable[[int], bytes],
    ) -> Array:
        """(samples, cells)."""
        noisy = self.noisy_counts(model, people, unit_rows, counts, add_noise)
        return posterior_draws(model, people, unit_rows, noisy, self.samples, random_bytes)

    def work(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        return draw_seconds(model, cost.grid_points, self.samples) + noise_seconds(model.network.cell_count)


@dataclass(frozen=True, slots=True)
class NetworkLaplace(LaplaceFields, DrawsFromNoisyCounts):
    """Pure ε; neighbours replace one person's rows. Law 1 could cost a unit of 10⁻⁹ more than a budget of ε holds."""

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        once = moved_cost(sensitivity(model, unit_rows), unit_rows, self.scale(model, unit_rows))
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=self.samples,
            kl_sup=once.curve[0],
            papers_pure=once.pure,
            method="exact: discrete Laplace on every moved count" if unit_rows == 1 else "certified: discrete Laplace",
            grid_points=_grid_points(model, people, unit_rows),
        )

    def scale(self, model: NetworkModel, unit_rows: int) -> float:
        epsilon = self.epsilon if self.law == 1 else chargeable(self.epsilon)
        return noise_scale(sensitivity(model, unit_rows), epsilon)

    def noisy_counts(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Array:
        rows = people * unit_rows
        exact = clamped_counts(model.network, counts, rows)
        return np.clip(noise(exact, self.scale(model, unit_rows)), 0, rows).astype(np.float64)


def sensitivity(model: NetworkModel, unit_rows: int) -> int:
    """L1: 2k|I|."""
    return 2 * unit_rows * len(model.network.nodes)


def posterior_draws(
    model: NetworkModel,
    people: int,
    unit_rows: int,
    cells: Array,
    samples: int,
    random_bytes: Callable[[int], bytes],
) -> Array:
    """Post-processing: samples of the posterior that counts which are no longer private give."""
    settings = Settings(people * unit_rows, unit_rows, 1.0, samples)
    return draw_network(model, settings, cells, random_bytes, within_rows=False)


def _grid_points(model: NetworkModel, people: int, unit_rows: int) -> int:
    return max(
        block_grid(shape).size
        for shape in block_shapes(model, people * unit_rows, unit_rows, 1.0)[:DETAILED_SHAPES_MAX]
    )
