"""`map`: one grid point near the posterior's peak, by the exponential mechanism (Algorithm 3, made sound on the grid).

On a continuum the papers' density score has no sensitivity; on the public grid two scores do:

  probability   score p_k, the point's posterior probability. |p_k − p'_k| ≤ Δ = min(√(KL_sup/2), tanh(r/4)) (Pinsker; and
                total variation of two tables with log-ratios of range r). Weights ∝ exp(ε·p_k/(2Δ)): range ε.
  log_density   score log-likelihood, whose change b has range r at τ = 1. Weights ∝ prior·likelihood^{ε/r}: range ε.

Either way the log-ratio between neighbours has range at most ε: pure ε, D_α ≤ min(ε, α·ε²/8).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.families.exponential import directions
from app.core.mechanisms.integer_table import (
    UNIFORM_SHARE,
    IntegerTable,
    integer_table,
    integer_weights,
    mixed_table,
)
from app.core.mechanisms.mechanism import check_epsilon, clamped, read_epsilon, refuse_unknown
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.privacy.cost import ZERO_COST, Cost
from app.core.privacy.orders import ORDERS
from app.core.privacy.posterior_cost import WEIGHT_ERROR, posterior_draw_cost
from app.core.statistics import ExactStatistic
from app.errors import InvalidMechanism

Score = Literal["probability", "log_density"]
SCORES: tuple[Score, ...] = ("probability", "log_density")


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One point; the release is charged once."""

    epsilon: float
    score: Score = "log_density"
    kind: str = "map"
    samples: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": self.epsilon, "score": self.score}

    def with_samples(self, samples: int) -> "MapPoint":
        return self

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        error = WEIGHT_ERROR * (1 + 2 * self._gain(model, people, unit_rows))
        curve = tuple(
            min(self.epsilon, order * self.epsilon**2 / 8) + 2 * error * (2 * order - 1) / (order - 1)
            for order in ORDERS
        )
        once = Cost(self.epsilon + 4 * error, curve)
        return ReleaseCost(
            per_sample=ZERO_COST,
            once=once,
            samples=1,
            kl_sup=min(self.epsilon, self.epsilon**2 / 8),
            papers_pure=self.epsilon,
            method="certified: bounded range",
            grid_points=model.grid(people * unit_rows, 1.0).size,
        )

    def draw(
        self,
        model: Model,
        people: int,
        unit_rows: int,
        statistic: ExactStatistic,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        theta, table = self.table(model, people, unit_rows, clamped(model, people, unit_rows, statistic))
        return theta[table.draw(1, random_bytes)][:, None]

    def table(
        self, model: Model, people: int, unit_rows: int, statistic: ExactStatistic
    ) -> tuple[NDArray[np.float64], IntegerTable]:
        """Private: what the point is drawn from."""
        if self.score == "log_density":
            grid = model.grid(people * unit_rows, self.epsilon / _range(model, people, unit_rows))
            return grid.theta, integer_table(model.constants(grid), statistic)
        grid = model.grid(people * unit_rows, 1.0)
        weights = integer_weights(model.constants(grid), statistic)
        total = sum(weights)
        scores = np.array([weight / total for weight in weights])
        return grid.theta, mixed_table(self._gain(model, people, unit_rows) * (scores - scores.max()))

    def _gain(self, model: Model, people: int, unit_rows: int) -> float:
        """ε/(2Δ) for the probability score: how much an error of a score is magnified in a log-weight."""
        if self.score == "log_density":
            return 0.0
        return self.epsilon / (2 * score_sensitivity(model, people, unit_rows))


def score_sensitivity(model: Model, people: int, unit_rows: int) -> float:
    """Δ: how much one person can change a point's posterior probability."""
    draw = posterior_draw_cost(model, people, unit_rows, 1.0)
    mixing = 2 * UNIFORM_SHARE + 8 * WEIGHT_ERROR
    return min(float(np.sqrt(draw.kl_sup / 2)), float(np.tanh(draw.range_pure / 4))) + mixing


def _range(model: Model, people: int, unit_rows: int) -> float:
    grid = model.grid(people * unit_rows, 1.0)
    return max(float(np.ptp(grid.change(change))) for change in directions(model.statistic_range, unit_rows))


def parse_map(spec: Mapping[str, Any]) -> MapPoint:
    refuse_unknown(spec, {"kind", "epsilon", "score"})
    score = spec.get("score", "log_density")
    if score not in SCORES:
        raise InvalidMechanism("mechanism.score", "one of " + ", ".join(SCORES))
    return MapPoint(read_epsilon(spec), score)
