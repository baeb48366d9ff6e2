"""What one draw from a tempered posterior on a grid costs, as a proven upper bound for every order.

The smallest at each order is charged (PRIVACY §2):
  bounded range   pure r = max b − min b;  D_α ≤ min(r, α·r²/8)
and one of
  exact           every neighbouring pair visited (`enumeration.py`)
  certified       one row a person: a ceiling of Var(b) integrated along the path of every pair (`kernel.py`)
  certified       otherwise: α/2 times a mean of sup Var(b) over statistics nearer and further from the reachable (`peaks.py`)
and on top the slack of the integer sampler, proven in `mechanisms/integer_table.py`.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, ExponentialModel, PublicGrid, directions
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.enumeration import Supremum, enumerate_supremum, pair_count
from app.core.privacy.kernel import kernel_supremum
from app.core.privacy.peaks import CurvatureMap, Region, Witness, scan_variance
from app.core.privacy.windows import rounding_factor
from app.errors import NumericalFailure

Array = NDArray[np.float64]

WEIGHT_ERROR = 2.0**-44
"""s: every sampled weight is within e^{±s} of exact; derived in `mechanisms/integer_table.py`."""

ENUMERATION_WORK_MAX = 360_000
ENUMERATION_RECORDS_MAX = 64
"""Different records one person can have; each is a round of its own, whatever the number of pairs."""
REACHES = (0.0, 0.25, 0.5, *(order - 1.0 for order in ORDERS if order >= 2))
"""How many changes away from a reachable statistic its curvature is bounded: the path of order α goes α − 1 away."""
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
    if not kl >= 0:
        raise NumericalFailure("a bound on KL came out undefined")
    cost = Cost(span + 4 * WEIGHT_ERROR, tuple(curve.tolist()))
    return DrawCost(cost, float(kl), span, method, grid.size)


def _supremum(
    model: ExponentialModel, grid: PublicGrid, people: int, unit_rows: int, changes: list[Direction]
) -> tuple[Supremum, str]:
    low, high = model.statistic_range
    edge = max(abs(low), abs(high)) * people * unit_rows
    few = unit_rows + (high - low) * unit_rows * (unit_rows + 1) // 2 <= ENUMERATION_RECORDS_MAX
    affordable = ENUMERATION_WORK_MAX if unit_rows > 1 else ENUMERATION_WORK_MAX // 3  # the other road is faster there
    if few and pair_count((low, high), people, unit_rows) * grid.size <= affordable:
        slack = rounding_factor(grid, float(edge), float(people * unit_rows))
        return enumerate_supremum(grid, (low, high), people, unit_rows).times(slack), "exact: every neighbouring pair"
    certified = kernel_supremum(grid, (low, high), people) if unit_rows == 1 else None
    if certified is not None:
        slack = rounding_factor(grid, edge + ORDERS[-1] * (high - low), float(people))
        return certified.times(slack), "certified: ceilings of the curvature under its kernel"
    peaks = _Peaks(grid, (low, high), people, unit_rows, changes)
    return _certified(peaks), "certified: supremum of the curvature"


def _certified(peaks: "_Peaks") -> Supremum:
    """Bounds from sup Var(b) on every region; where there is none, from Var(b) ≤ r²/4."""
    tops = np.full(len(REACHES), peaks.span**2 / 4)
    pending = [(0, peaks.useful - 1)] if peaks.useful else []
    while pending:
        first, last = pending.pop()
        top = peaks.at(last)
        if first == last or top <= peaks.floor(first) * _GROUP_RATIO:
            tops[first : last + 1] = np.minimum(top, tops[first : last + 1])
        else:
            middle = (first + last) // 2
            pending += [(middle + 1, last), (first, middle)]
    return Supremum(_weighted_means(tops), tops[0] / 2)


def _weighted_means(tops: Array) -> Array:
    """D_α for every order, from `tops[i]` ≥ Var(b) at every statistic within REACHES[i] changes of a reachable one.

    With x counting changes along the line through the neighbours v and v + d,
    (α−1)·D_α(P_v ‖ P_{v+d}) = ∫₀^{α−1} (α−1−x)·Var_{v−xd}(b) dx + (α−1)·∫₀¹ (1−x)·Var_{v+xd}(b) dx,
    which is α(α−1)/2 times the variance where that is constant. Between v and v + d everything is in the hull of what is
    reachable; behind v, what is far has little weight and may be bounded generously without costing much.
    """
    nearest = np.minimum.accumulate(tops[::-1])[::-1]  # what holds further out holds further in
    curve = np.empty(len(ORDERS))
    for i, order in enumerate(ORDERS):
        ends = np.minimum(REACHES, order - 1)
        starts = np.concatenate([[0.0], ends[:-1]])
        weights = (ends - starts) * (order - 1 - (starts + ends) / 2)
        curve[i] = (weights @ nearest) / (order - 1) + nearest[0] / 2
    return curve


class _Peaks:
    """sup Var(b) over the statistics within `REACHES[i]` changes of a reachable one; grows with i."""

    def __init__(
        self,
        grid: PublicGrid,
        statistic_range: tuple[int, int],
        people: int,
        unit_rows: int,
        changes: list[Direction],
    ) -> None:
        self._grid = grid
        self._low, self._high = statistic_range
        self._edge = max(abs(self._low), abs(self._high))
        self._rows = (people, people * unit_rows)
        self._moved_sum = max(abs(change[0]) for change in changes)
        self._moved_rows = max(abs(change[1]) for change in changes)
        self.span = max(float(np.ptp(grid.change(change))) for change in changes)
        regions, seen = self._worthwhile(changes, people)
        self.useful = len(regions)
        if regions:
            self._map = CurvatureMap(grid, changes, regions[-1], seen)
        self._known: dict[int, float] = {}

    def _worthwhile(self, changes: list[Direction], people: int) -> tuple[list[Region], list[Witness]]:
        """Regions that keep enough rows and where (α/2)·Var(b) may be smaller than the bounded range, with what was seen.

        Where rows cannot move, all of them: the widest is no dearer than the narrowest.
        """
        if not self._moved_rows:
            return [self.region(i) for i in range(len(REACHES))], [scan_variance(self._grid, changes, self.region(0))]
        regions: list[Region] = []
        seen: list[Witness] = []
        for i, reach in enumerate(REACHES):
            region = self.region(i)
            if region.rows_low < people / 4:
                break
            seen.append(scan_variance(self._grid, changes, region))
            if i and (reach + 1) / 2 * seen[-1].value >= self.span:
                break
            regions.append(region)
        return regions, seen

    def region(self, i: int) -> Region:
        reach = REACHES[i]
        spill = reach * (self._moved_sum + self._moved_rows * self._edge)
        extra = reach * self._moved_rows
        return Region(self._low, self._high, self._rows[0] - extra, self._rows[1] + extra, spill)

    def at(self, i: int) -> float:
        if i not in self._known:
            self._known[i] = self._map.supremum(self.region(i)) * self._slack(i)
        return self._known[i]

    def floor(self, i: int) -> float:
        """From the largest variance already seen inside the region of `REACHES[i]`: what `at(i)` cannot fall below."""
        return self._map.floor(self.region(i)) * self._slack(i)

    def _slack(self, i: int) -> float:
        region = self.region(i)
        return rounding_factor(self._grid, region.rows_high * self._edge + region.spill, region.rows_high)
