"""BAPS: N draws, once, from the tempered posterior on the public grid. Every later answer is post-processing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.mechanisms.integer_table import integer_table
from app.core.mechanisms.mechanism import check_samples, clamped, read_samples, refuse_unknown
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.statistics import ExactStatistic
from app.errors import InvalidMechanism

TEMPERATURE_MIN = 1e-6


@dataclass(frozen=True, slots=True)
class Baps:
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

    def with_samples(self, samples: int) -> "Baps":
        return Baps(samples, self.temperature)

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        draw = posterior_draw_cost(model, people, unit_rows, self.temperature)
        lipschitz = 2 * self.samples * self.temperature * model.lipschitz * unit_rows
        return ReleaseCost(
            per_sample=draw.cost,
            samples=self.samples,
            kl_sup=draw.kl_sup,
            papers_pure=lipschitz,
            method=draw.method,
            grid_points=draw.grid_points,
        )

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


def parse_baps(spec: Mapping[str, Any]) -> Baps:
    refuse_unknown(spec, {"kind", "samples", "temperature"})
    temperature = spec.get("temperature", 1.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")
    return Baps(read_samples(spec), float(temperature) if abs(temperature) < 2 else 2.0)
