"""`map`: one grid point near the posterior's peak, by the exponential mechanism (Algorithm 3, made sound on the grid).

On a continuum the papers' density score has no sensitivity; on the public grid two scores do:

  probability   score p_k, the point's posterior probability, which one person changes by at most Δ, certified over all points and
                pairs (`posterior_cost.point_change`). Weights ∝ exp(g·p_k): range 2gΔ.
  log_density   score log-likelihood, whose change b has range r at τ = 1. Weights ∝ prior·likelihood^p: range p·r.

The sampler's errors widen that range. If every log-weight is within e of exact, the log-ratio of two neighbours' tables has
range at most 2gΔ + 4e or p·r + 4e (mixing with the uniform table brings every ratio nearer to 1), and g and p are what makes
this ε: e = s for `log_density`, e = s·(1 + 2g) for `probability`, whose scores carry an error of s each. So the table drawn
from has range at most ε, slack included, and D_α ≤ min(ε, α·ε²/8): what `probability` is charged, or less where every pair can
be visited. `log_density` is one draw of the posterior at temperature p and charged as that: ε is what fixes p (`map_cost.py`).

Laws. 1 had g from a bound of total variation, √(KL/2) or tanh(r/4), instead of Δ; `log_density` has always been the same.

Which score is nearer to the truth depends on n and ε. `auto` is the one with the smaller simulated error, from public
numbers (`map_simulation.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import (
    UNIFORM_SHARE,
    IntegerTable,
    integer_table,
    integer_weights,
    mixed_table,
    table_seconds,
)
from app.core.grids.public_grid import PublicGrid, directions
from app.core.kinds.belief import Belief, Evidence
from app.core.kinds.mechanism_fields import AUTO_SCORE, CURRENT_LAW, SCORES, MapFields, Score
from app.core.kinds.one_parameter.beliefs.measurements import DrawnPoints, Measurement, ScoredPoint
from app.core.kinds.one_parameter.beliefs.posterior import calibrated_belief, calibrated_range
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_cost import choice_cost, scored_cost, tempered_cost
from app.core.kinds.one_parameter.map_simulation import PointError, log_density_error, probability_error
from app.core.kinds.one_parameter.statistic import clamped
from app.core.parameters import Parameter
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.posterior_cost import WEIGHT_ERROR, point_change, posterior_draw_cost
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.privacy.together.draws import drawn_together
from app.core.privacy.together.path import GroupCost
from app.core.statistics.sums import ExactStatistic
from app.errors import NumericalFailure

_RELATIVE_MARGIN = 1e-9
_ROUNDING = 2.0**-49
_GRIDS_TRIED = 8


@dataclass(frozen=True, slots=True)
class MapPoint(MapFields):
    """One point; the release is charged once. `auto` stands for the score that `settled` names."""

    def settled(self, model: Model, people: int, unit_rows: int) -> "MapPoint":
        """With the score named: for `auto` the one of smaller simulated error."""
        if self.score != AUTO_SCORE:
            return self
        errors = score_errors(model, self.epsilon, people, unit_rows, self.law)
        best: Score = min(SCORES, key=lambda score: errors[score].total_sd)
        return replace(self, score=best)

    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost:
        if self.settled(model, people, unit_rows).score == "log_density":
            power = likelihood_power(model, self.epsilon, people, unit_rows)
            return tempered_cost(model, people, unit_rows, self.epsilon, power)
        gain = score_gain(self.epsilon, score_sensitivity(model, people, unit_rows, self.law))
        return scored_cost(model, people, unit_rows, self.epsilon, gain)

    def together(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost, count: int) -> GroupCost | None:
        """By its log-density one draw at a power; by probability a choice whose range adds up."""
        if self.settled(model, people, unit_rows).score == "log_density":
            power = likelihood_power(model, self.epsilon, people, unit_rows)
            found = drawn_together(model, people, unit_rows, power, cost.once, count)
            return None if found is None else GroupCost(ZERO_COST, found.per_sample, 0.0, found.kl_each, found.sharp)
        once = choice_cost(count * chargeable(self.epsilon))
        return GroupCost(ZERO_COST, once, 0.0, once.curve[0])

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

    def work(self, model: Model, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        """The probability score passes through two tables."""
        return 2 * table_seconds(cost.grid_points, 1)

    def table(
        self, model: Model, people: int, unit_rows: int, statistic: ExactStatistic
    ) -> tuple[NDArray[np.float64], IntegerTable]:
        """Private: what the point is drawn from."""
        if self.settled(model, people, unit_rows).score == "log_density":
            grid = model.grid(people * unit_rows, likelihood_power(model, self.epsilon, people, unit_rows))
            return grid.theta, integer_table(model.constants(grid), statistic)
        grid = model.grid(people * unit_rows, 1.0)
        weights = integer_weights(model.constants(grid), statistic)
        total = sum(weights)
        scores = np.array([weight / total for weight in weights])
        gain = score_gain(self.epsilon, score_sensitivity(model, people, unit_rows, self.law))
        return grid.theta, mixed_table(gain * (scores - scores.max()))

    def calibrated_parameters(self, model: Model, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model, people)

    def belief(self, model: Model, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        """A point is one draw of its table, as the draws of `baps` are of theirs."""
        point, drawn = float(evidence.samples[0, 0]), evidence.samples[:1, 0]
        measurement: Measurement
        if self.settled(model, people, unit_rows).score == "log_density":
            power = likelihood_power(model, self.epsilon, people, unit_rows)
            measurement = DrawnPoints(model.grid(people * unit_rows, power), drawn)
        else:
            gain = score_gain(self.epsilon, score_sensitivity(model, people, unit_rows, self.law))
            measurement = ScoredPoint(model.grid(people * unit_rows, 1.0), gain, point)
        return calibrated_belief(model, people, unit_rows, measurement, evidence.seed)


def score_errors(
    model: Model, epsilon: float, people: int, unit_rows: int, law: int = CURRENT_LAW
) -> dict[Score, PointError]:
    """The simulated error of either score. Raises NumericalFailure where one is undefined."""
    return {score: score_error(score, model, epsilon, people, unit_rows, law) for score in SCORES}


def score_error(
    score: Score, model: Model, epsilon: float, people: int, unit_rows: int, law: int = CURRENT_LAW
) -> PointError:
    if score == "log_density":
        return log_density_error(model, people, unit_rows, likelihood_power(model, epsilon, people, unit_rows))
    gain = score_gain(epsilon, score_sensitivity(model, people, unit_rows, law))
    return probability_error(model, people, unit_rows, gain)


def score_gain(epsilon: float, sensitivity: float) -> float:
    """g with 2gΔ + 4s·(1 + 2g) = ε, a little less."""
    return (chargeable(epsilon) - 4 * WEIGHT_ERROR) / (2 * sensitivity + 8 * WEIGHT_ERROR) * (1 - _RELATIVE_MARGIN)


def score_sensitivity(model: Model, people: int, unit_rows: int, law: int = CURRENT_LAW) -> float:
    """Δ: how much one person can change a point's posterior probability, by the bound of that law."""
    if law > 1:
        return point_change(model, people, unit_rows) + 8 * WEIGHT_ERROR
    draw = posterior_draw_cost(model, people, unit_rows, 1.0)
    mixing = 2 * UNIFORM_SHARE + 8 * WEIGHT_ERROR
    return min(float(np.sqrt(draw.kl_sup / 2)), float(np.tanh(draw.range_pure / 4))) + mixing


@lru_cache(maxsize=512)
def likelihood_power(model: Model, epsilon: float, people: int, unit_rows: int) -> float:
    """p with p·r + 4s ≤ ε, for the range r on the grid of that power itself.

    With one row a person b is monotone and r the same on every grid. With several it may turn in between, and a finer grid
    come nearer to the turn: then p is lowered until it fits.
    """
    allowed = chargeable(epsilon) - 4 * WEIGHT_ERROR
    power = allowed / _range(model, model.grid(people * unit_rows, 1.0), unit_rows)
    for _ in range(_GRIDS_TRIED):
        widest = _range(model, model.grid(people * unit_rows, power), unit_rows)
        if power * widest <= allowed:
            return power
        power = allowed / widest * (1 - _RELATIVE_MARGIN)
    raise NumericalFailure("no power on the likelihood was found for this ε")


def _range(model: Model, grid: PublicGrid, unit_rows: int) -> float:
    """r at τ = 1, with room for what doubles lose against the sampler's integers."""
    changes = [grid.change(change) / grid.temperature for change in directions(model.statistic_range, unit_rows)]
    widest = max(float(np.ptp(change)) + _ROUNDING * float(np.abs(change).max()) for change in changes)
    return widest * (1 + _RELATIVE_MARGIN)
