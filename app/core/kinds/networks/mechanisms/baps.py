"""`baps` on a network: N draws, once, of every block's tempered posterior on its public grid."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.mechanism_fields import BapsFields
from app.core.kinds.networks.beliefs.drawn_posterior import DRAWN_MEASURED, DrawnTables, drawn_belief
from app.core.kinds.networks.beliefs.posterior import calibrated_range
from app.core.kinds.networks.blocks.block_sampler import (
    Settings,
    draw_network,
    draw_seconds,
    kl_with_slack,
    largest_error,
    with_slack,
)
from app.core.kinds.networks.cost import RecordCost, record_brackets, record_cost
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.several_rows import UNIT_ROWS_PLACED_MAX
from app.core.kinds.networks.shapes import block_shapes, touched_blocks
from app.core.kinds.networks.statistic import clamped_counts
from app.core.parameters import Parameter
from app.core.privacy.cost import ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.together.path import GroupCost, range_curve
from app.core.statistics.counts import ExactCounts


@dataclass(frozen=True, slots=True)
class NetworkBaps(BapsFields):
    budget_epsilon_max: ClassVar[float] = math.inf

    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost:
        record = record_cost(model, people, unit_rows, self.temperature)
        shapes = block_shapes(model, people * unit_rows, unit_rows, self.temperature)
        papers = 2 * self.samples * self.temperature * math.log(1 / model.trim) * unit_rows
        return ReleaseCost(
            per_sample=draw_cost(model, people, unit_rows, self.temperature),
            samples=self.samples,
            kl_sup=kl_with_slack(record.kl_sup, record.touched, largest_error(shapes)),
            papers_pure=papers,
            method=method_of(record, unit_rows),
            grid_points=record.grid_points,
        )

    def together(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost:
        return record_range(model, people, unit_rows, self.temperature, count)

    def attribute_cost(self, model: NetworkModel, people: int, unit_rows: int) -> Cost:
        """If only one attribute of one record changed: beside the papers' 2NτL, never charged."""
        return record_cost(model, people, unit_rows, self.temperature).attribute.times(self.samples)

    def draw(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        """(samples, cells); `random_bytes` is the operating system's in production."""
        rows = people * unit_rows
        cells = clamped_counts(model.network, counts, rows).astype(np.float64)
        return draw_network(model, Settings(rows, unit_rows, self.temperature, self.samples), cells, random_bytes)

    def approximation(self, model: NetworkModel) -> str:
        return DRAWN_MEASURED

    def calibrated_parameters(self, model: NetworkModel, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model)

    def belief(self, model: NetworkModel, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        return drawn_belief(model, self.drawn_tables(model, people, unit_rows), evidence.samples, evidence.seed)

    def drawn_tables(self, model: NetworkModel, people: int, unit_rows: int) -> DrawnTables:
        return DrawnTables(people, unit_rows, self.temperature)

    def work(self, model: NetworkModel, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        return draw_seconds(model, cost.grid_points, self.samples)


def draw_cost(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> Cost:
    """One draw, with the sampler's slack in every block one person can touch."""
    record = record_cost(model, people, unit_rows, temperature)
    shapes = block_shapes(model, people * unit_rows, unit_rows, temperature)
    return with_slack(record.cost, record.touched, largest_error(shapes))


def record_range(model: NetworkModel, people: int, unit_rows: int, temperature: float, count: int) -> GroupCost:
    """One draw, by the range of so many people's records together: what is worse than a path of neighbours for few people is
    better for many."""
    record = record_cost(model, people, unit_rows, temperature)
    shapes = block_shapes(model, people * unit_rows, unit_rows, temperature)
    span = record.range_pure * count
    ranged = Cost(span, tuple(range_curve(span).tolist()))
    cost = with_slack(ranged, count * record.touched, largest_error(shapes))
    return GroupCost(cost, ZERO_COST, cost.curve[0], 0.0)


def draw_brackets(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> tuple[Cost, Cost]:
    """(no less, no more) than `draw_cost`, much sooner: for choosing."""
    error = largest_error(block_shapes(model, people * unit_rows, unit_rows, temperature))
    most, least = record_brackets(model, people, unit_rows, temperature)
    return with_slack(most, touched_blocks(model, unit_rows), error), least


def method_of(record: RecordCost, unit_rows: int) -> str:
    if unit_rows > UNIT_ROWS_PLACED_MAX:
        return "certified: bounded range of all of a person's rows"
    return "exact: every pair of counts" if record.exact else "certified: tables as drawn, over all counts"
