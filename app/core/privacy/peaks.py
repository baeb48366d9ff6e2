"""The certified supremum of Var(b) over all statistics a dataset can have, by splitting cells where it may be.

A divergence of order α is α/2 times a weighted mean of ψ_dd = Var(b) between v − (α−1)d and v + d, hence
D_α ≤ (α/2)·sup ψ_dd over the reachable statistics widened by (α−1)·d on both sides: one region per order, each inside the
next. One set of cells serves them all: a cell's ceiling holds on every part of the cell.

Which side is split, how fine the first cells are and where variances are looked for only decide the work: an answer is
the largest ceiling over cells that cover the region, whatever they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid
from app.core.privacy.cells import Bounds, Cells, bound_cells, longer_across_rows, variances
from app.core.privacy.windows import means_peaking_at, points_per_sd, window_width
from app.errors import NumericalFailure

Array = NDArray[np.float64]

TOLERANCE = 4e-3
TOLERANCE_SLOW = 1e-2
NEGLIGIBLE = 1e-22
"""Below this Var(b) is not worth telling apart: at the largest order it costs 2⁻⁵⁸, the integer sampler 2⁻⁴²."""
_FIRST_SDS = 1.2
_ROW_BAND = 1.5
_TOP_CELLS = 64
_SPARSE = 0.8
_BALANCE = 3.0
_WORK_GOOD = 500_000
_WORK_MAX = 12_000_000
_WORK_TOTAL = 36_000_000
_ROUNDS_MAX = 80


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

    def contains(self, other: "Region") -> bool:
        return self.holds(other.bottom, other.rows_low) and self.holds(other.top, other.rows_high)

    def covers(self, cells: Cells) -> NDArray[np.bool_]:
        rows = (cells.m0 >= self.rows_low) & (cells.m1 <= self.rows_high)
        covered: NDArray[np.bool_] = rows & (cells.a0 >= self.bottom) & (cells.a1 <= self.top)
        return covered


@dataclass(frozen=True, slots=True)
class Witness:
    """Var(b) at the statistic (m·a, m): what no supremum over a region that holds it can fall below."""

    value: float
    a: float
    m: float


class CurvatureMap:
    """Ceilings on cells that cover the widest region; every supremum asked for leaves them finer where it looked."""

    def __init__(
        self,
        grid: PublicGrid,
        changes: Sequence[Direction],
        widest: Region,
        seen: list[Witness],
        tolerance: float = TOLERANCE,
        work_total: int = _WORK_TOTAL,
    ) -> None:
        self._grid, self._changes, self._widest = grid, changes, widest
        self._tolerance, self._work_total = tolerance, work_total
        self._cells = _first_cells(grid, widest)
        self._width = window_width(grid, *self._cells.centres())
        first = bound_cells(grid, changes, self._cells, self._width)
        self._ceilings = first.ceilings
        self._seen = list(seen)
        self._work = 0
        self._note(self._cells, first)

    def floor(self, region: Region) -> float:
        """The largest variance already seen inside the region."""
        return max((seen.value for seen in self._seen if region.holds(seen.a, seen.m)), default=0.0)

    def supremum(self, region: Region) -> float:
        """An upper bound of Var_{P_v}(b) over v in `region` and all changes, within its tolerance of the supremum.

        Where that takes long, within TOLERANCE_SLOW; where that takes too long, the best bound so far, be it infinite.
        """
        if not self._widest.contains(region):
            raise NumericalFailure("a region must lie inside the widest")
        self._cut_along(region)
        work, rounds = 0, 0
        while True:
            inside = region.covers(self._cells)
            ceilings = self._ceilings[inside]
            found = max(self.floor(region), NEGLIGIBLE)
            highest = float(ceilings.max())  # a NaN is refused by whoever is charged
            chosen = np.flatnonzero(inside)[~(ceilings <= found * (1 + self._tolerance))]
            step = 2 * len(chosen) * self._width
            work, rounds, self._work = work + step, rounds + 1, self._work + step
            enough = highest <= found * (1 + TOLERANCE_SLOW) and work > _WORK_GOOD
            too_much = work > _WORK_MAX or self._work > self._work_total or rounds > _ROUNDS_MAX
            if not len(chosen) or enough or too_much:
                return max(highest, found)
            self._split(chosen)

    def _split(self, chosen: NDArray[np.int64]) -> None:
        """Halve the chosen cells. A half also keeps the ceiling of the whole, should its own be higher or undefined."""
        whole = self._cells.take(chosen)
        halves = whole.halves(longer_across_rows(self._grid, whole, self._width))
        bounds = bound_cells(self._grid, self._changes, halves, self._width)
        self._note(halves, bounds)
        self._replace(chosen, halves, np.fmin(bounds.ceilings, np.tile(self._ceilings[chosen], 2)))

    def _cut_along(self, region: Region) -> None:
        """Make the region a union of cells."""
        for line, across_rows in (
            (region.rows_low, True),
            (region.rows_high, True),
            (region.bottom, False),
            (region.top, False),
        ):
            low, high = (self._cells.m0, self._cells.m1) if across_rows else (self._cells.a0, self._cells.a1)
            chosen = np.flatnonzero((low < line) & (line < high))
            whole, at = self._cells.take(chosen), np.full(len(chosen), line)
            parts = whole.cut(at, at, np.full(len(chosen), across_rows))
            self._replace(chosen, parts, np.tile(self._ceilings[chosen], 2))

    def _replace(self, chosen: NDArray[np.int64], parts: Cells, ceilings: Array) -> None:
        rest = np.ones(self._cells.count, dtype=np.bool_)
        rest[chosen] = False
        self._cells = self._cells.take(rest).joined(parts)
        self._ceilings = np.concatenate([self._ceilings[rest], ceilings])

    def _note(self, cells: Cells, bounds: Bounds) -> None:
        """Remember the largest variance at the centres, and at the worst corners of the highest cells."""
        a, m = (cells.a0 + cells.a1) / 2, (cells.m0 + cells.m1) / 2
        self._remember(a, m, bounds.values)
        finite = np.where(np.isfinite(bounds.ceilings), bounds.ceilings, -1.0)
        count = min(_TOP_CELLS, len(finite))
        top = np.argpartition(finite, -count)[-count:]
        a, m = bounds.corner_a[top], bounds.corner_m[top]
        self._remember(a, m, variances(self._grid, self._changes, a * m, m, self._width))

    def _remember(self, a: Array, m: Array, values: Array) -> None:
        top = int(np.argmax(values))
        self._seen.append(Witness(float(values[top]), float(a[top]), float(m[top])))


def scan_variance(grid: PublicGrid, changes: Sequence[Direction], region: Region) -> Witness:
    """The largest Var(b) at a hundred or two statistics with the fewest rows: what the supremum cannot fall below."""
    means = means_peaking_at(grid, grid.mean[:: max(1, grid.size // 128)], region.rows_low)
    a = np.concatenate([means[(means >= region.bottom) & (means <= region.top)], [region.bottom, region.top]])
    same = np.full(len(a), region.rows_low)
    values = variances(grid, changes, a * same, same, window_width(grid, a * same, same))
    top = int(np.argmax(values))
    return Witness(float(values[top]), float(a[top]), region.rows_low)


def _first_cells(grid: PublicGrid, region: Region) -> Cells:
    """A posterior sd or so to a cell where posteriors peak inside the range, growing steps outside it."""
    bottom, top = region.bottom, region.top
    spread = points_per_sd(grid, region.rows_low)
    if spread < _SPARSE:
        inner = _between_points(grid, region.rows_low)
    else:
        stride = max(1, min(round(_FIRST_SDS * spread), (grid.size - 1) // 8))
        inner = means_peaking_at(grid, np.append(grid.mean[:-1:stride], grid.mean[-1]), region.rows_low)
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


def _between_points(grid: PublicGrid, rows: float) -> Array:
    """For a grid coarser than its posteriors: around the means where two neighbouring points weigh the same."""
    apart = grid.temperature * rows * np.diff(grid.eta)
    equal = (grid.temperature * rows * np.diff(grid.partition) - np.diff(grid.log_prior)) / apart
    return np.concatenate([equal - _BALANCE / apart, equal + _BALANCE / apart])


def _outward(edge: float, first_step: float, end: float) -> Array:
    """Points from `edge` towards `end`: a few even steps, then growing ones, as the posterior piles up there."""
    sign = 1.0 if end > edge else -1.0
    room = abs(end - edge)
    steps = [k * first_step for k in range(1, 9) if k * first_step < room]
    while steps and steps[-1] * 1.5 < room:
        steps.append(steps[-1] * 1.5)
    return edge + sign * np.array([*steps, room])
