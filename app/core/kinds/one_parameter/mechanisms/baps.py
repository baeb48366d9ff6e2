"""BAPS: N draws, once, from the tempered posterior on the public grid. Every later answer is post-processing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import integer_table, table_seconds
from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.mechanism_fields import BapsFields
from app.core.kinds.one_parameter.beliefs.measurements import DrawnPoints
from app.core.kinds.one_parameter.beliefs.posterior import calibrated_belief, calibrated_range
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.statistic import clamped
from app.core.parameters import Parameter
from app.core.privacy.drawn_cost import drawn_cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.together.draws import drawn_together
from app.core.privacy.together.path import GroupCost
from app.core.statistics.sums import ExactStatistic


@dataclass(frozen=True, slots=True)
class Baps(BapsFields):
    budget_epsilon_max: ClassVar[float] = math.inf

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        draw = drawn_cost(model, people, unit_rows, self.temperature)
        lipschitz = 2 * self.samples * self.temperature * model.lipschitz * unit_rows
        return ReleaseCost(
            per_sample=draw.cost,
            samples=self.samples,
            kl_sup=draw.kl_sup,
            papers_pure=lipschitz,
            method=draw.method,
            grid_points=draw.grid_points,
        )

    def together(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost | None:
        """`privacy/together/draws.py`; with several rows a person by the range of all their rows together."""
        return drawn_together(model, people, unit_rows, self.temperature, cost.per_sample, count)

    def draw(
        self,
        model: Model,
        people: int,
        unit_rows: int,
        statistic: ExactStatistic,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        """A (samples, 1) array of grid points; `random_bytes` is the operating system's in production."""
        grid = model.grid(people * unit_rows, self.temperature)
        table = integer_table(model.constants(grid), clamped(model, people, unit_rows, statistic))
        return grid.theta[table.draw(self.samples, random_bytes)][:, None]

    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        return table_seconds(cost.grid_points, self.samples)

    def calibrated_parameters(self, model: Model, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model, people)

    def belief(self, model: Model, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        drawn = DrawnPoints(model.grid(people * unit_rows, self.temperature), evidence.samples[:, 0])
        return calibrated_belief(model, people, unit_rows, drawn, evidence.seed)
