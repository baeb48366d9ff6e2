"""What one draw from a posterior on a grid costs where several people's rows change at once, one row a person.

The posterior is an exponential family in the sum, t: D_α(P_t ‖ P_u) rises as t and u move apart on either side. So k people cost
what a change of the sum by k times one person's most does, and everything that certifies one person's cost (`posterior_cost.py`)
serves with that step: enumeration where sums are few, the ceiling of the curvature under its kernel elsewhere, with the ceiling
as far beyond the reachable sums as the largest order of the wider step goes; and up to two thousand sums those that can be
worst by it are visited for a few people (`tops.py`), which is exact. The range of the log-likelihood ratio is k times
one person's, pure costs add, and no draw costs more than its share γ of the uniform table allows.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import ExponentialModel, PublicGrid
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.curvature import Ceiling, curvature_ceiling
from app.core.privacy.enumeration import Supremum, divergences
from app.core.privacy.kernel import supremum_of_step
from app.core.privacy.posterior_cost import WEIGHT_ERROR, capped_curve, grid_rounding, posterior_draw_cost, with_slack
from app.core.privacy.together.path import GroupCost, range_curve
from app.core.privacy.together.tops import visited_tops
from app.core.privacy.windows import rounding_factor
from app.errors import NumericalFailure

Array = NDArray[np.float64]

ENUMERATED_MAX = 120_000
"""Sums times points of the grid."""
VISITED_MAX = 8
"""People at once up to whom sums that can be worst are visited: a part in a thousand less, four times the work."""
_RELATIVE_MARGIN = 1e-9
_CHUNK = 50_000


def drawn_together(
    model: ExponentialModel, people: int, unit_rows: int, temperature: float, once: Cost, together: int
) -> GroupCost | None:
    """Of each draw, from what one person costs `once`. None where no more is known than that."""
    if unit_rows == 1:
        found = group_draw(model, people, temperature, together, once.pure)
        return None if found is None else GroupCost(found[0], ZERO_COST, found[1], 0.0, sharp=True)
    span = posterior_draw_cost(model, people, unit_rows, temperature).range_pure * together
    cost = with_slack(min(span, once.pure * together), range_curve(span))
    return GroupCost(cost, ZERO_COST, cost.curve[0], 0.0)


@lru_cache(maxsize=512)
def group_draw(
    model: ExponentialModel, people: int, temperature: float, together: int, pure_once: float
) -> tuple[Cost, float] | None:
    """(one draw's cost, KL) for up to `together` people; `pure_once` is one person's. None where nothing certifies it."""
    (low, high), grid = model.statistic_range, model.grid(people, temperature)
    count = min(together, people)
    step = count * (high - low)
    span = float(np.ptp(grid.change((step, 0)))) * (1 + _RELATIVE_MARGIN) + grid_rounding(grid, [(step, 0)])
    ranged = range_curve(span)
    found = _supremum(model, grid, people, temperature, count, ranged)
    if found is None:
        return None
    curve = np.minimum(found.curve * (1 + _RELATIVE_MARGIN), ranged)
    pure = min(
        span, count * pure_once, math.log1p((1 - UNIFORM_SHARE) * grid.size / UNIFORM_SHARE) * (1 + _RELATIVE_MARGIN)
    )
    kl = min(found.kl * (1 + _RELATIVE_MARGIN), span, span**2 / 8) + 4 * WEIGHT_ERROR
    if not kl >= 0:
        raise NumericalFailure("a bound on KL came out undefined")
    return with_slack(pure, capped_curve(curve, pure)), float(kl)


def _supremum(
    model: ExponentialModel, grid: PublicGrid, people: int, temperature: float, count: int, cap: Array
) -> Supremum | None:
    low, high = model.statistic_range
    step = count * (high - low)
    first, last = people * low, people * high - step
    edge = max(abs(low), abs(high)) * people
    if (last - first + 1) * grid.size <= ENUMERATED_MAX:
        starts = np.arange(first, last + 1, dtype=np.float64)
        datasets = np.stack([starts, np.full(len(starts), float(people))], axis=1)
        return _enumerated(grid, datasets, step).times(rounding_factor(grid, float(edge), float(people)))
    ceiling = _ceiling(model, people, temperature, 1 << (count - 1).bit_length())
    if ceiling is None:
        return None
    slack = rounding_factor(grid, edge + ORDERS[-1] * float(step), float(people))
    found = supremum_of_step(ceiling, (float(people * low), float(people * high)), float(step))
    if count <= VISITED_MAX:
        found = visited_tops(grid, ceiling, (people * low, people * high), people, step, found, cap)
    return found.times(slack)


def _enumerated(grid: PublicGrid, datasets: Array, step: int) -> Supremum:
    """Both directions of every pair that is so far apart."""
    curve, largest = np.zeros(len(ORDERS)), 0.0
    for change in (step, -step):
        starts = datasets if change > 0 else datasets + np.array([float(step), 0.0])
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // _CHUNK)):
            curves, kl = divergences(grid, chunk, (change, 0))
            curve, largest = np.maximum(curve, curves.max(axis=0)), max(largest, float(kl.max()))
    return Supremum(curve, largest)


@lru_cache(maxsize=64)
def _ceiling(model: ExponentialModel, people: int, temperature: float, count: int) -> Ceiling | None:
    """Far enough for `count` people at the largest order: shared by all groups up to a power of two."""
    (low, high), grid = model.statistic_range, model.grid(people, temperature)
    reach = (ORDERS[-1] - 1) * float(count * (high - low))
    ceiling = curvature_ceiling(grid, people, (people * low - reach, people * high + reach))
    if ceiling is not None and not np.isfinite(ceiling.left + ceiling.right).all():
        raise NumericalFailure("a ceiling of the curvature came out undefined")
    return ceiling
