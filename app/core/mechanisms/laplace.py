"""`laplace`: discrete Laplace noise on the exact integer statistic, once; then any number of free samples.

The samples come from the noise-aware posterior on the public grid. They are post-processing of one noisy number, so
the release is charged once whatever N, and an analyst once whatever prefix.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.mechanisms.integer_table import table_of
from app.core.mechanisms.mechanism import (
    chargeable,
    check_epsilon,
    check_samples,
    clamped,
    read_epsilon,
    read_samples,
    refuse_unknown,
)
from app.core.mechanisms.noise_aware import noise_scale, noisy_log_likelihood
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.discrete_laplace import discrete_laplace_cost
from app.core.statistics import ExactStatistic
from app.errors import InvalidMechanism


@dataclass(frozen=True, slots=True)
class Laplace:
    """Pure ε-DP in the statistic; neighbours replace one person's single row."""

    samples: int
    epsilon: float
    kind: str = "laplace"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon}

    def with_samples(self, samples: int) -> "Laplace":
        return Laplace(samples, self.epsilon)

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        steps = _sensitivity(model, unit_rows)
        once = discrete_laplace_cost(steps, noise_scale(steps, chargeable(self.epsilon)))
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=self.samples,
            kl_sup=once.curve[0],
            papers_pure=once.pure,
            method="exact: discrete Laplace",
            grid_points=_grid_points(model, people),
        )

    def draw(
        self,
        model: Model,
        people: int,
        unit_rows: int,
        statistic: ExactStatistic,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        steps = _sensitivity(model, unit_rows)
        scale = noise_scale(steps, chargeable(self.epsilon))
        noisy = add_noise(clamped(model, people, unit_rows, statistic).total, scale)
        return self.from_noisy(model, people, noisy, scale, random_bytes)

    def from_noisy(
        self, model: Model, people: int, noisy: int, scale: float, random_bytes: Callable[[int], bytes]
    ) -> NDArray[np.float64]:
        """Post-processing of the noisy sum."""
        grid = model.grid(people, 1.0)
        log_w = grid.log_prior + noisy_log_likelihood(model, grid.theta, people, noisy, scale)
        table = table_of(np.exp(log_w - log_w.max()))
        return grid.theta[table.draw(self.samples, random_bytes)][:, None]


def add_noise(value: int, scale: float) -> int:
    """OpenDP's exact integer sampler, seeded by the operating system. Loaded when first needed."""
    # Not the prelude: where scikit-learn is installed, that loads all of it.
    from opendp.domains import atom_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measurement = make_laplace(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale)
    return int(measurement(value))


@lru_cache(maxsize=256)
def _grid_points(model: Model, people: int) -> int:
    """Finding the noise for a target asks for the cost of many ε, all on one grid."""
    return model.grid(people, 1.0).size


def _sensitivity(model: Model, unit_rows: int) -> int:
    if unit_rows != 1:
        raise InvalidMechanism("mechanism.kind", "baps: laplace needs one row a person")
    low, high = model.statistic_range
    return high - low


def parse_laplace_mechanism(spec: Mapping[str, Any]) -> Laplace:
    refuse_unknown(spec, {"kind", "samples", "epsilon"})
    return Laplace(read_samples(spec), read_epsilon(spec))
