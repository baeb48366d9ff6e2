"""`baps` on a network: N draws, once, of every block's tempered posterior on its public grid."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.mechanisms.baps import TEMPERATURE_MIN
from app.core.mechanisms.mechanism import check_samples, read_samples, refuse_unknown
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.networks.block_sampler import Settings, draw_network, kl_with_slack, largest_error, with_slack
from app.core.networks.counts import ExactCounts, clamped_counts
from app.core.networks.model import NetworkModel
from app.core.networks.network_cost import RecordCost, block_shapes, record_cost
from app.core.privacy.cost import Cost
from app.errors import InvalidMechanism


@dataclass(frozen=True, slots=True)
class NetworkBaps:
    """`samples` draws at `temperature` τ, the power on the likelihood. Cost: `samples` times that of one draw."""

    samples: int
    temperature: float = 1.0
    kind: str = "baps"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if not TEMPERATURE_MIN <= self.temperature <= 1:
            raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "temperature": self.temperature}

    def with_samples(self, samples: int) -> "NetworkBaps":
        return NetworkBaps(samples, self.temperature)

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


def draw_cost(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> Cost:
    """One draw, with the sampler's slack in every block one person can touch."""
    record = record_cost(model, people, unit_rows, temperature)
    shapes = block_shapes(model, people * unit_rows, unit_rows, temperature)
    return with_slack(record.cost, record.touched, largest_error(shapes))


def method_of(record: RecordCost, unit_rows: int) -> str:
    if unit_rows > 1:
        return "certified: bounded range of all of a person's rows"
    return "exact: every pair of counts" if record.exact else "certified: variance along every path of counts"


def parse_network_baps(spec: Mapping[str, Any]) -> NetworkBaps:
    refuse_unknown(spec, {"kind", "samples", "temperature"})
    temperature = spec.get("temperature", 1.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")
    return NetworkBaps(read_samples(spec), float(temperature) if abs(temperature) < 2 else 2.0)
