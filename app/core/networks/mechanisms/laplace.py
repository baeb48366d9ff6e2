"""`laplace` on a network (Algorithm 1): discrete Laplace noise on every count, once; then any number of free samples.

Counts are by (node, configuration, level) cell, never by split. Replacing a record moves at most two cells of every node by
one each, so the L1 sensitivity is 2|I|, and 2k|I| for k rows a person (Lemma 1). Noisy counts are held to [0, n], and
samples drawn from the Dirichlet posterior they give on the model's own grid: post-processing of one noisy vector.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.mechanisms.mechanism import check_epsilon, check_samples, read_epsilon, read_samples, refuse_unknown
from app.core.mechanisms.noise_aware import noise_scale
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.networks.block_grid import block_grid
from app.core.networks.block_sampler import Settings, draw_network
from app.core.networks.counts import ExactCounts, clamped_counts
from app.core.networks.integer_noise import AddNoise, add_noise, moved_cost
from app.core.networks.model import NetworkModel
from app.core.networks.network_cost import DETAILED_SHAPES_MAX, block_shapes
from app.core.privacy.cost import ZERO_COST

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NetworkLaplace:
    """Pure ε; neighbours replace one person's rows."""

    samples: int
    epsilon: float
    kind: str = "laplace"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon}

    def with_samples(self, samples: int) -> "NetworkLaplace":
        return NetworkLaplace(samples, self.epsilon)

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
        return noise_scale(sensitivity(model, unit_rows), self.epsilon)

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


def parse_network_laplace(spec: Mapping[str, Any]) -> NetworkLaplace:
    refuse_unknown(spec, {"kind", "samples", "epsilon"})
    return NetworkLaplace(read_samples(spec), read_epsilon(spec))
