"""The certified supremum of Var(b) over all statistics a dataset can have, by splitting cells where it may be.

A divergence of order α is α/2 times a weighted mean of ψ_dd = Var(b) between v − (α−1)d and v + d, hence
D_α ≤ (α/2)·sup ψ_dd over the reachable statistics widened by (α−1)·d on both sides: one region per order, each inside the
next. The first ceilings are computed once, for the widest; a cell's ceiling holds on every part of the cell.

Which side is split, how fine the first cells are and where variances are looked for only decide the work: an answer is
the largest ceiling over cells that cover the region, whatever they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import Direction, PublicGrid
from app.core.privacy.cells import Bounds, Cells, bound_cells, longer_across_rows, variances, window_width
from app.core.privacy.windows import posterior_windows
from app.errors import NumericalFailure

Array = NDArray[np.float64]

TOLERANCE = 4e-3
NEGLIGIBLE = 1e-22
"""Below this Var(b) is not worth telling apart: at the largest order it costs 2⁻⁵⁸, the integer sampler 2⁻⁴²."""
_FIRST_SDS = 1.2
_ROW_BAND = 1.5
_TOP_CELLS = 64
_SPARSE = 0.8
_BALANCE = 3.0
_WORK_MAX = 30_000_000


@dataclass(frozen=True, slots=True)
class Region:
    """Statistics (t, m): m in [rows_low, rows_high] and t/m in [bottom, top], a sector.

    It covers every t in [low·m − spill, high·m + spill], what a sum of m values in [low, high] moved by `spill` can be.
    """

    low: float
    high: float
    rows_low: float
    rows_high: float
    spill: float

    @property
    def bottom(self) -> float:
        """Smallest mean statistic a row."""
        return self.low - self.spill / self.rows_low

    @property
    def top(self) -> float:
        return self.high + self.spill / self.rows_low

    def holds(self, a: float, m: float) -> bool:
        return self.rows_low <= m <= self.rows_high and self.bottom <= a <= self.top


@dataclass(frozen=True, slots=True)
class Witness:
    """Var(b) at the statistic (m·a, m): what no supremum over a region that holds it can fall below."""

    value: float
    a: float
    m: float


class CurvatureMap:
    """Ceilings over the widest region, refined for any region inside it."""

    def __init__(self, grid: PublicGrid, changes: Sequence[Direction], widest: Region, seen: list[Witness]) -> None:
        self._grid, self._changes, self._widest = grid, changes, widest
        self._cells = _first_cells(grid, widest)
        self._width = window_width(grid, self._cells)
        self._bounds = bound_cells(grid, changes, self._cells, self._width)
        self._seen = list(seen)

    def floor(self, region: Region) -> float:
        """The largest variance already seen inside the region."""
        return max((seen.value for seen in self._seen if region.holds(seen.a, seen.m)), default=0.0)

    def supremum(self, region: Region) -> float:
        """An upper bound of Var_{P_v}(b) over v in `region` and all changes, within about TOLERANCE of the supremum.

        Infinite, for the caller to charge something else, where that takes too much work.
        """
        cells, bounds = self._inside(region)
        discarded, work = 0.0, 0
        while work * self._width <= _WORK_MAX:
            self._look(cells, bounds)
            found = max(self.floor(region), NEGLIGIBLE)
            open_cells = ~(bounds.ceilings <= found * (1 + TOLERANCE))  # a NaN stays open
            if not open_cells.all():
                discarded = max(discarded, float(bounds.ceilings[~open_cells].max()))
            if not open_cells.any():
                return max(discarded, found)
            cells = cells.take(open_cells)
            cells = cells.halves(longer_across_rows(self._grid, cells, self._width))
            bounds = bound_cells(self._grid, self._changes, cells, self._width)
            work += cells.count
        return math.inf

    def _inside(self, region: Region) -> tuple[Cells, Bounds]:
        """The parts of the first cells that lie in the region, with the ceilings of the whole cells."""
        widest, first = self._widest, self._cells
        if not (widest.rows_low <= region.rows_low and region.rows_high <= widest.rows_high):
            raise NumericalFailure("a region must lie inside the widest")
        if not (widest.bottom <= region.bottom and region.top <= widest.top):
            raise NumericalFailure("a region must lie inside the widest")
        touched = (first.m1 >= region.rows_low) & (first.m0 <= region.rows_high)
        touched &= (first.a1 >= region.bottom) & (first.a0 <= region.top)
        a0, a1, corner_a = (
            side[touched].clip(region.bottom, region.top) for side in (first.a0, first.a1, self._bounds.corner_a)
        )
        m0, m1, corner_m = (
            side[touched].clip(region.rows_low, region.rows_high)
            for side in (first.m0, first.m1, self._bounds.corner_m)
        )
        values = np.zeros(len(a0))  # the centres moved: nothing is known there yet
        return Cells(a0, a1, m0, m1), Bounds(values, self._bounds.ceilings[touched], corner_a, corner_m)

    def _look(self, cells: Cells, bounds: Bounds) -> None:
        """Note the largest variance at the centres and at the worst corners of the highest cells."""
        finite = np.where(np.isfinite(bounds.ceilings), bounds.ceilings, -1.0)
        count = min(_TOP_CELLS, len(finite))
        chosen = np.argpartition(finite, -count)[-count:]
        corner_a, corner_m = bounds.corner_a[chosen], bounds.corner_m[chosen]
        at_corners = variances(self._grid, self._changes, corner_a * corner_m, corner_m, self._width)
        values = np.concatenate([bounds.values, at_corners])
        top = int(np.argmax(values))
        a = np.concatenate([(cells.a0 + cells.a1) / 2, corner_a])
        m = np.concatenate([(cells.m0 + cells.m1) / 2, corner_m])
        self._seen.append(Witness(float(values[top]), float(a[top]), float(m[top])))


def scan_variance(grid: PublicGrid, changes: Sequence[Direction], region: Region) -> Witness:
    """The largest Var(b) at a hundred or two statistics with the fewest rows: what the supremum cannot fall below."""
    means = _peaking_at(grid, grid.mean[:: max(1, grid.size // 128)], region.rows_low)
    a = np.concatenate([means[(means >= region.bottom) & (means <= region.top)], [region.bottom, region.top]])
    same = np.full(len(a), region.rows_low)
    values = variances(grid, changes, a * same, same, window_width(grid, Cells(a, a, same, same)))
    top = int(np.argmax(values))
    return Witness(float(values[top]), float(a[top]), region.rows_low)


def _first_cells(grid: PublicGrid, region: Region) -> Cells:
    """A posterior sd or so to a cell where posteriors peak inside the range, growing steps outside it."""
    bottom, top = region.bottom, region.top
    spread = _points_per_sd(grid, region.rows_low)
    if spread < _SPARSE:
        inner = _between_points(grid, region.rows_low)
    else:
        stride = max(1, min(round(_FIRST_SDS * spread), (grid.size - 1) // 8))
        inner = _peaking_at(grid, np.append(grid.mean[:-1:stride], grid.mean[-1]), region.rows_low)
    inner = np.unique(inner.clip(bottom, top))
    if len(inner) > 1:
        below = _outward(inner[0], inner[1] - inner[0], bottom)[::-1]
        above = _outward(inner[-1], inner[-1] - inner[-2], top)
        inner = np.concatenate([below, inner, above])
    a = np.unique(np.concatenate([[bottom], inner, [top]]).clip(bottom, top))
    ratio = region.rows_high / region.rows_low
    count = max(1, int(np.ceil(np.log(ratio) / np.log(_ROW_BAND))))
    m = np.geomspace(region.rows_low, region.rows_high, count + 1)
    low_a, low_m = (side.ravel() for side in np.meshgrid(a[:-1], m[:-1], indexing="ij"))
    high_a, high_m = (side.ravel() for side in np.meshgrid(a[1:], m[1:], indexing="ij"))
    return Cells(low_a, high_a, low_m, high_m)


def _peaking_at(grid: PublicGrid, means: Array, rows: float) -> Array:
    """Mean statistics a row whose posteriors, prior included, peak at the given means."""
    weight = grid.temperature * rows
    return (means * (weight + grid.prior_rows) - grid.prior_sum) / weight


def _between_points(grid: PublicGrid, rows: float) -> Array:
    """For a grid coarser than its posteriors: around the means where two neighbouring points weigh the same."""
    apart = grid.temperature * rows * np.diff(grid.eta)
    equal = (grid.temperature * rows * np.diff(grid.partition) - np.diff(grid.log_prior)) / apart
    return np.concatenate([equal - _BALANCE / apart, equal + _BALANCE / apart])


def _points_per_sd(grid: PublicGrid, rows: float) -> float:
    """How many grid points a posterior's sd covers, near the middle of a few dozen posteriors."""
    a = _peaking_at(grid, grid.mean[:: max(1, grid.size // 32)], rows)
    same = np.full(len(a), rows)
    windows = posterior_windows(grid, a * rows, same, window_width(grid, Cells(a, a, same, same)))
    p = np.exp(windows.log_p)
    place = windows.columns - (p * windows.columns).sum(axis=1, keepdims=True)
    return float(np.median(np.sqrt((p * place**2).sum(axis=1))))


def _outward(edge: float, first_step: float, end: float) -> Array:
    """Points from `edge` towards `end`: a few even steps, then growing ones, as the posterior piles up there."""
    sign = 1.0 if end > edge else -1.0
    room = abs(end - edge)
    steps = [k * first_step for k in range(1, 9) if k * first_step < room]
    while steps and steps[-1] * 1.5 < room:
        steps.append(steps[-1] * 1.5)
    return edge + sign * np.array([*steps, room])
