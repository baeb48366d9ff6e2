"""`fourier` on a binary network (Algorithm 2): noise on characters instead of counts, so that all tables agree.

Samples are of the posterior given the noisy characters: records have tables that agree and no negative counts, so nothing needs
raising for them. What follows is about the papers' tables, which their bounds are about, and which `t` and `truncate` shape.

The number of rows, the character of the empty set, is public for one row a person and carries no noise; for more it is noisy
like the others. A constant c is added to it, which raises every cell of node i's table by c/2^{|π_i|+1} and keeps the
tables consistent. A cell falls by at most 2^{−|π_i|−1} times the sum of m_i = 2^{|π_i|+1} − 1 absolute noises. Discrete
noise is at most one more than exponential noise of the same scale, in distribution, so with Q_i the upper e^{−t}/|I|
quantile of Gamma(m_i, 1), c = ⌈max_i (b·Q_i + m_i)⌉ leaves no cell negative with probability at least 1 − e^{−t}: the
papers' amount fails for small t (PRIVACY §4). t = 0 adds nothing.

Cells that are negative all the same: with `truncate` each is set to 0, which breaks consistency; without, everything is raised
by as much as the lowest cell needs, which keeps it. Both are post-processing.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.belief import NoBelief, Whole
from app.core.kinds.mechanism_fields import (
    CURRENT_LAW,
    FREE_SAMPLES,
    Epsilon,
    MechanismSpec,
    Samples,
    check_epsilon,
    check_samples,
)
from app.core.kinds.networks.beliefs.measurement import NoisyTables, noise_sd
from app.core.kinds.networks.mechanisms.characters import (
    Characters,
    character_sums,
    characters,
    measured_characters,
    tables_of,
)
from app.core.kinds.networks.mechanisms.noisy_tables import MeasuresTables, Noise, row_range
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import clamped_counts
from app.core.noise.discrete_laplace import AddNoise, add_noise, moved_cost, noise_scale, seeded_noise
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.privacy.together.path import GroupCost
from app.core.statistics.counts import ExactCounts
from app.errors import InvalidMechanism, InvalidModel

Array = NDArray[np.float64]

T_MAX = 100.0


class FourierMechanism(MechanismSpec):
    """Laplace noise on the characters of a network of binary nodes, so that all its tables agree."""

    kind: Literal["fourier"] = Field(description="The name of the mechanism.")
    samples: Samples = Field(description=FREE_SAMPLES)
    epsilon: Epsilon = Field(description="The pure ε of the whole release.")
    t: float = Field(
        default=1.0,
        ge=0,
        le=T_MAX,
        description="How far the papers' tables, whose error a plan bounds, are raised. Samples do not depend on it.",
    )
    truncate: bool = Field(
        default=False, description="Set what is negative in the papers' tables to 0. Samples do not depend on it."
    )


@dataclass(frozen=True, slots=True)
class NetworkFourier(MeasuresTables, NoBelief):
    """Pure ε; neighbours replace one person's rows. Law 1 could cost a unit of 10⁻⁹ more than a budget of ε holds."""

    samples: int
    epsilon: float
    t: float = 1.0
    truncate: bool = False
    law: int = CURRENT_LAW
    kind: ClassVar[str] = "fourier"
    noise: ClassVar[Noise] = Noise(add_noise, seeded_noise)
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)
        if not 0 <= self.t <= T_MAX:
            raise InvalidMechanism("mechanism.t", f"a number from 0 to {T_MAX:g}")

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "samples": self.samples,
            "epsilon": self.epsilon,
            "t": self.t,
            "truncate": self.truncate,
        }

    def with_samples(self, samples: int) -> "NetworkFourier":
        return replace(self, samples=samples)

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        total, largest = sensitivity(model, unit_rows)
        once = moved_cost(total, largest, self.scale(model, unit_rows))
        exact = binary_characters(model).odd_exact and unit_rows == 1
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=self.samples,
            kl_sup=once.curve[0],
            papers_pure=self.epsilon,
            method="exact: discrete Laplace on characters" if exact else "certified: discrete Laplace on characters",
            grid_points=0,
        )

    def together(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost:
        """Moves of so many people add up, in all and in every character."""
        total, largest = sensitivity(model, unit_rows)
        once = moved_cost(count * total, count * largest, self.scale(model, unit_rows))
        return GroupCost(ZERO_COST, once, 0.0, once.curve[0])

    def scale(self, model: NetworkModel, unit_rows: int) -> float:
        epsilon = self.epsilon if self.law == 1 else chargeable(self.epsilon)
        return noise_scale(sensitivity(model, unit_rows)[0], epsilon)

    def raised(self, model: NetworkModel, unit_rows: int) -> int:
        """c: what is added to the number of rows so that no table is negative, 1 − e^{−t} of the time."""
        if self.t == 0:
            return 0
        from scipy.special import gammainccinv

        tail = math.exp(-self.t) / len(model.network.nodes)
        noises = [math.prod(model.network.shape(i)) - (unit_rows == 1) for i in range(len(model.network.nodes))]
        scale = self.scale(model, unit_rows)
        return math.ceil(max(scale * float(gammainccinv(m, tail)) * (1 + 1e-9) + m for m in noises))

    def noisy_counts(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Array:
        """No cell negative."""
        cells = self.noisy_tables(model, people, unit_rows, counts, noise)
        if self.truncate:
            return np.asarray(np.maximum(cells, 0.0))
        network = model.network
        sizes = [math.prod(network.shape(i)) for i in range(len(network.nodes))]
        lift = max(0.0, *(-cells[network.cells(i)].min() * size for i, size in enumerate(sizes)))
        return np.asarray(cells + np.repeat([lift / size for size in sizes], sizes))

    def noisy_tables(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Array:
        """Consistent, raised by c, perhaps negative somewhere."""
        sums = self.measured_with(model, people, unit_rows, counts, noise)
        sums[0] += self.raised(model, unit_rows)
        return tables_of(model.network, binary_characters(model), sums.astype(np.float64))

    def noisy_tables_of(self, model: NetworkModel, people: int, unit_rows: int, measured: Whole) -> NoisyTables:
        network, found, scale = model.network, binary_characters(model), self.scale(model, unit_rows)
        observed = measured.astype(np.float64)
        noise = noise_sd(scale, gaussian=False)
        sizes = np.array([math.prod(network.shape(i)) for i in range(len(network.nodes))])
        noises = np.sqrt(sizes - (unit_rows == 1)) / sizes
        return NoisyTables(
            observed=observed,
            scale=scale,
            gaussian=False,
            rows=row_range(model, people, unit_rows),
            moved=self.roughness(model, unit_rows)[1],
            near=tables_of(network, found, observed),
            spread=np.repeat(noise * noises, sizes),
            linear=measured_characters(network, found),
        )

    def roughness(self, model: NetworkModel, unit_rows: int) -> tuple[float, float]:
        """About half of the characters change, by two each."""
        return self.scale(model, unit_rows), 2.0 * binary_characters(model).count

    def measured_with(
        self, model: NetworkModel, people: int, unit_rows: int, counts: ExactCounts, noise: AddNoise
    ) -> Whole:
        """Of every character, the number of rows first."""
        rows = people * unit_rows
        sums = character_sums(model.network, binary_characters(model), clamped_counts(model.network, counts, rows))
        if unit_rows > 1:
            return noise(sums, self.scale(model, unit_rows))
        sums[1:] = noise(sums[1:], self.scale(model, unit_rows))
        sums[0] = rows
        return sums


def sensitivity(model: NetworkModel, unit_rows: int) -> tuple[int, int]:
    """(L1 over all characters, the most one character moves).

    k rows replaced flip k times; a row more or less moves every character, the empty one too, by one.
    """
    found = binary_characters(model)
    if unit_rows == 1:
        return 2 * found.odd_max, 2
    return unit_rows * max(2 * found.odd_max, found.count), 2 * unit_rows


def binary_characters(model: NetworkModel) -> Characters:
    for node in model.network.nodes:
        if len(node.levels) != 2:
            raise InvalidModel(f"model.nodes.{node.name}", "two levels: `fourier` is for binary nodes")
    return characters(model.network)
