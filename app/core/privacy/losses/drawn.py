"""The (ε, δ) of N draws of a tempered posterior as it is drawn, over every pair of neighbours, where those can be visited.

Every probability of a table in doubles is within e^{±e} of the one drawn with, e from rounding and the integer sampler's weights.
Then P(A) ≤ e^{Ne}·P°(A) and Q(A) ≥ e^{−Ne}·Q°(A) for N draws, and δ(ε) ≤ e^{Ne}·δ°(ε − 2Ne).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from app.core.grids.public_grid import ExponentialModel
from app.core.privacy.losses.composed import ComposedLaw
from app.core.privacy.losses.pair_laws import epsilon_of, laws_of_pairs, too_many
from app.core.privacy.neighbours import Neighbours
from app.core.privacy.posterior_cost import WEIGHT_ERROR
from app.core.privacy.visited import FLAT, WORK_MAX, lost, visited_tables

_TABLES = 2.0**-46
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class DrawnLosses:
    """Of one draw, from the public numbers it is a function of."""

    model: ExponentialModel
    people: int
    unit_rows: int
    temperature: float

    def epsilon(self, draws: int, delta: float) -> float:
        """Infinite where pairs are too many, or draws."""
        return _epsilon(self, draws, delta)


@lru_cache(maxsize=4_096)
def _epsilon(losses: DrawnLosses, draws: int, delta: float) -> float:
    found = _laws(losses)
    if found is None or not (draws > 0 and delta > 0):
        return math.inf
    laws, error = found
    wrong = draws * error
    return rounded_up(epsilon_of(laws, draws, delta * math.exp(-wrong)) + 2 * wrong)


@lru_cache(maxsize=128)
def _laws(losses: DrawnLosses) -> tuple[list[ComposedLaw], float] | None:
    low, high = losses.model.statistic_range
    if low != 0:
        return None
    grid = losses.model.grid(losses.people * losses.unit_rows, losses.temperature)
    neighbours = Neighbours(high, losses.people, losses.unit_rows)
    log_q = None if too_many(neighbours) else visited_tables(grid, neighbours, work_max=WORK_MAX)
    if log_q is None:
        return None
    laws = laws_of_pairs(neighbours, log_q)
    return None if laws is None else (laws, lost(grid, neighbours) + 2 * FLAT + 2 * WEIGHT_ERROR + _TABLES)


def rounded_up(epsilon: float) -> float:
    """To six digits: every machine shows the same, whatever its transforms round."""
    if not 0 < epsilon < math.inf:
        return epsilon
    unit = 10.0 ** (math.floor(math.log10(epsilon)) + 1 - _DIGITS)
    return max(epsilon, math.ceil(epsilon / unit) * unit)
