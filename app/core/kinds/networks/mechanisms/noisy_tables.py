"""What `laplace`, `gaussian` and `fourier` on a network have in common: noise on whole numbers once, all else for free.

What is measured is kept as it is, negative or not: holding it to [0, n] would throw some of it away. Samples are draws of the
posterior given all noisy numbers together (`beliefs/count_chain.py`), under the prior as declared. The trim, which costs a
noisy release nothing, is put on afterwards: stored samples are held to the model's public range, split by split. The
calibrated view is not held to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence, Whole
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.posterior import (
    calibrated_belief,
    calibrated_range,
    posterior_samples,
    posterior_seconds,
    within_range,
)
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import counts_of
from app.core.noise.discrete_laplace import noise_seconds
from app.core.parameters import Parameter
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.counts import ExactCounts
from app.core.statistics.groups import ExactGroups
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

NOT_KEPT = "this release was made before noisy counts were kept with the samples"

MEASURED = (
    "points are of finite chains over made-up records, or of tables taken one by one, and 90 % intervals held 88 to 91 % in "
    "simulations of six yes/no nodes and 100 to 10,000 people (60 datasets a setting)"
)


@dataclass(frozen=True, slots=True)
class Noise:
    """One law of whole noise, from the operating system's randomness and from a generator."""

    add: Callable[..., Whole]
    seeded: Callable[[np.random.Generator], Callable[..., Whole]]


class MeasuresTables(ABC):
    __slots__ = ()

    samples: int

    noise: ClassVar[Noise]

    def measure(self, model: NetworkModel, people: int, unit_rows: int, statistic: ExactCounts | ExactGroups) -> Whole:
        """Noisy numbers, with the operating system's randomness: what is paid for."""
        return self.measured_with(model, people, unit_rows, counts_of(statistic), self.noise.add)

    def simulated(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        generator: np.random.Generator,
    ) -> Whole:
        """The same with a generator's noise, for simulations."""
        return self.measured_with(model, people, unit_rows, counts, self.noise.seeded(generator))

    @abstractmethod
    def measured_with(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        noise: Callable[..., Whole],
    ) -> Whole:
        """What is measured, plus that noise."""

    @abstractmethod
    def noisy_tables_of(self, model: NetworkModel, people: int, unit_rows: int, measured: Whole) -> NoisyTables: ...

    @abstractmethod
    def roughness(self, model: NetworkModel, unit_rows: int) -> tuple[float, float]:
        """The scale of the noise, in rows, and the sum of squared changes that one row makes of the numbers."""

    def infer(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        measured: Whole,
        random_bytes: Callable[[int], bytes],
    ) -> Array:
        """(samples, cells), inside the model's public range."""
        seed = int.from_bytes(random_bytes(32), "little")
        tables = self.noisy_tables_of(model, people, unit_rows, measured)
        drawn = posterior_samples(model, tables, self.samples, np.random.Generator(np.random.PCG64(seed)))
        return within_range(model, drawn)

    def draw(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        statistic: ExactCounts | ExactGroups,
        random_bytes: Callable[[int], bytes],
    ) -> Array:
        measured = self.measure(model, people, unit_rows, statistic)
        return self.infer(model, people, unit_rows, measured, random_bytes)

    def approximation(self, model: NetworkModel) -> str:
        return MEASURED

    def calibrated_parameters(self, model: NetworkModel, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model)

    def belief(self, model: NetworkModel, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        if evidence.measured is None:
            raise CalibratedUnavailable(NOT_KEPT)
        tables = self.noisy_tables_of(model, people, unit_rows, evidence.measured)
        return calibrated_belief(model, tables, evidence.seed)

    def work(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        noise = noise_seconds(model.network.cell_count)
        scale, moved = self.roughness(model, unit_rows)
        return noise + posterior_seconds(model, row_range(model, people, unit_rows), scale, moved, self.samples)


def row_range(model: NetworkModel, people: int, unit_rows: int) -> tuple[int, int]:
    """Everybody has a row at least, and `unit_rows` at most; of those that meet a private condition there may be none."""
    return (people if model.within is None else 0), people * unit_rows
