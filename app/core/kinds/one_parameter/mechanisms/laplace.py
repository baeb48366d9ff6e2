"""`laplace`: discrete Laplace noise on the exact integer statistic, once; then any number of free samples.

The samples come from the noise-aware posterior on the public grid. They are post-processing of one noisy number, so
the release is charged once whatever N, and an analyst once whatever prefix.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import table_of, table_seconds
from app.core.kinds.mechanism_fields import LaplaceFields
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.noise_aware import likelihood_seconds, noisy_log_likelihood
from app.core.kinds.one_parameter.statistic import clamped
from app.core.noise.discrete_laplace import AddNoise, add_noise, discrete_laplace_cost, noise_scale, noise_seconds
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidMechanism


@dataclass(frozen=True, slots=True)
class Laplace(LaplaceFields):
    """Pure ε-DP in the statistic; neighbours replace one person's single row."""

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
        noise: AddNoise = add_noise,
    ) -> NDArray[np.float64]:
        """(samples, 1). `noise` is OpenDP's but in tests."""
        steps = _sensitivity(model, unit_rows)
        scale = noise_scale(steps, chargeable(self.epsilon))
        exact = clamped(model, people, unit_rows, statistic).total
        noisy = int(noise(np.array([exact], dtype=np.int64), scale)[0])
        return self.from_noisy(model, people, noisy, scale, random_bytes)

    def from_noisy(
        self, model: Model, people: int, noisy: int, scale: float, random_bytes: Callable[[int], bytes]
    ) -> NDArray[np.float64]:
        """Post-processing of the noisy sum."""
        grid = model.grid(people, 1.0)
        log_w = grid.log_prior + noisy_log_likelihood(model, grid.theta, people, noisy, scale)
        table = table_of(np.exp(log_w - log_w.max()))
        return grid.theta[table.draw(self.samples, random_bytes)][:, None]

    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        likelihood = likelihood_seconds(model, cost.grid_points, people)
        return table_seconds(cost.grid_points, self.samples) + noise_seconds(1) + likelihood


@lru_cache(maxsize=256)
def _grid_points(model: Model, people: int) -> int:
    """Finding the noise for a target asks for the cost of many ε, all on one grid."""
    return model.grid(people, 1.0).size


def _sensitivity(model: Model, unit_rows: int) -> int:
    if unit_rows != 1:
        raise InvalidMechanism("mechanism.kind", "baps: laplace needs one row a person")
    low, high = model.statistic_range
    return high - low
