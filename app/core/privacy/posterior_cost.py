"""What one draw from a tempered posterior on a grid costs, as a proven upper bound for every order.

Three bounds, the smallest at each order charged (PRIVACY §2):
  bounded range   pure r = max b − min b;  D_α ≤ min(r, α·r²/8)
  exact           every neighbouring pair visited (`enumeration.py`, `lattice.py`)
  certified       (α/2)·sup Var(b) over all reachable statistics, widened by (α−1)·d (`cells.py`), or that supremum's
                  weighted mean over the path between two neighbours, where it is smaller (`kernel.py`)
and on top the slack of the integer sampler, proven in `mechanisms/integer_table.py`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import Direction, ExponentialModel, PublicGrid, directions
from app.core.privacy.cells import Region, curvature_supremum
from app.core.privacy.cost import Cost
from app.core.privacy.enumeration import Supremum, enumerate_supremum, pair_count
from app.core.privacy.kernel import kernel_curve
from app.core.privacy.lattice import lattice_supremum
from app.core.privacy.orders import ORDERS
from app.core.privacy.windows import rounding_factor

Array = NDArray[np.float64]

WEIGHT_ERROR = 2.0**-44
"""s: every sampled weight is within e^{±s} of exact; derived in `mechanisms/integer_table.py`."""

ENUMERATION_WORK_MAX = 300_000
LATTICE_VALUES_MAX = 20_000
KERNEL_GRID_MAX = 10_000
_RELATIVE_MARGIN = 1e-9
_GROUP_RATIO = 1.02


@dataclass(frozen=True, slots=True)
class DrawCost:
    """One draw. `kl_sup` bounds KL between neighbours; `method` says how the curve was certified."""

    cost: Cost
    kl_sup: float
    range_pure: float
    method: str
    grid_points: int


@lru_cache(maxsize=512)
def posterior_draw_cost(model: ExponentialModel, people: int, unit_rows: int, temperature: float) -> DrawCost:
    """Cached by the public numbers it is a function of: model, people, rows a person, temperature."""
    grid = model.grid(people * unit_rows, temperature)
    changes = directions(model.statistic_range, unit_rows)
    span = max(float(np.ptp(grid.change(change))) for change in changes) * (1 + _RELATIVE_MARGIN)
    supremum, method = _supremum(model, grid, people, unit_rows, changes)
    orders = np.array(ORDERS)
    curve = np.minimum(supremum.curve * (1 + _RELATIVE_MARGIN), np.minimum(span, orders * span**2 / 8))
    curve += 2 * WEIGHT_ERROR * (2 * orders - 1) / (orders - 1)
    kl = min(supremum.kl * (1 + _RELATIVE_MARGIN), span, span**2 / 8) + 4 * WEIGHT_ERROR
    cost = Cost(span + 4 * WEIGHT_ERROR, tuple(curve.tolist()))
    return DrawCost(cost, float(kl), span, method, grid.size)


def _supremum(
    model: ExponentialModel, grid: PublicGrid, people: int, unit_rows: int, changes: list[Direction]
) -> tuple[Supremum, str]:
    low, high = model.statistic_range
    if pair_count((low, high), people, unit_rows) * grid.size <= ENUMERATION_WORK_MAX:
        return enumerate_supremum(grid, (low, high), people, unit_rows), "exact: every neighbouring pair"
    if unit_rows == 1 and people * (high - low) <= LATTICE_VALUES_MAX and high - low <= 64:
        exact = lattice_supremum(grid, (low, high), people)
        ceiling = _certified(grid, (low, high), people, unit_rows, changes)
        return Supremum(np.minimum(exact.curve, ceiling.curve), exact.kl), "exact: every value of the statistic"
    ceiling = _certified(grid, (low, high), people, unit_rows, changes)
    if unit_rows > 1 or grid.size > KERNEL_GRID_MAX:
        return ceiling, "certified: supremum of the curvature"
    slack = rounding_factor(grid, float(people * max(abs(low), abs(high))), float(people))
    curve = kernel_curve(grid, (low, high), people, 2 * ceiling.kl) * slack
    return Supremum(
        np.minimum(curve, ceiling.curve), ceiling.kl
    ), "certified: ceilings of the curvature under its kernel"


def _certified(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, changes: list[Direction]
) -> Supremum:
    """(α/2)·sup Var(b) for every order, infinite where the widened region would leave too few rows."""
    peaks = _Peaks(grid, statistic_range, people, unit_rows, changes)
    reaches = [max(order - 1, 1.0) for order in ORDERS]
    curve = np.full(len(ORDERS), np.inf)
    if peaks.region(reaches[0]).rows_low < people / 8:
        return Supremum(curve, math.inf)
    span = max(float(np.ptp(grid.change(change))) for change in changes)
    feasible = [
        i
        for i, reach in enumerate(reaches)
        if peaks.region(reach).rows_low >= people / 8 and ORDERS[i] / 2 * peaks.at(reaches[0]) < span
    ] or [0]
    pending = [(feasible[0], feasible[-1])]
    while pending:
        first, last = pending.pop()
        if peaks.at(reaches[last]) <= peaks.at(reaches[first]) * _GROUP_RATIO or last - first <= 1:
            for i in range(first, last + 1):
                curve[i] = ORDERS[i] / 2 * peaks.at(reaches[last] if i > first else reaches[first])
        else:
            middle = (first + last) // 2
            pending += [(first, middle), (middle, last)]
    return Supremum(curve, peaks.at(reaches[0]) / 2)


class _Peaks:
    """sup Var(b) over the statistics within `reach` changes of a reachable one; grows with `reach`."""

    def __init__(
        self,
        grid: PublicGrid,
        statistic_range: tuple[int, int],
        people: int,
        unit_rows: int,
        changes: list[Direction],
    ) -> None:
        self._grid, self._changes = grid, changes
        self._low, self._high = statistic_range
        self._rows = (people, people * unit_rows)
        self._moved_sum = max(abs(change[0]) for change in changes)
        self._moved_rows = max(abs(change[1]) for change in changes)
        self._known: dict[float, float] = {}

    def region(self, reach: float) -> Region:
        edge = max(abs(self._low), abs(self._high))
        spill = reach * (self._moved_sum + self._moved_rows * edge)
        extra = reach * self._moved_rows
        return Region(self._low, self._high, self._rows[0] - extra, self._rows[1] + extra, spill)

    def at(self, reach: float) -> float:
        if self._moved_rows == 0:
            reach = ORDERS[-1] - 1
        if reach not in self._known:
            region = self.region(reach)
            edge = max(abs(self._low), abs(self._high))
            slack = rounding_factor(self._grid, region.rows_high * edge + region.spill, region.rows_high)
            self._known[reach] = curvature_supremum(self._grid, self._changes, region) * slack
        return self._known[reach]
