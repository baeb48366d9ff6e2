"""How fast the table really drawn can change with one person of several rows: cells of statistics, any n.

Cells are sectors: the mean statistic a row in [a₀, a₁], rows in [m₀, m₁]. On each, from the table at its centre (`cells.py`),

    Var_d ≤ max over corners δ of Σ p·(b_d − E b_d)²·exp((f − E f)·δ),   f·δ = τ(η·δt − A·δm),

a quadratic form in the change d, so three sums a corner serve every change. Drawn is q = (1−γ)p + γ/K, and along a change
|d/dx log q_k(v + xd)| = w_k·|b_k − E b| (`mixed_slope.py`). On a cell log p_k lies under its tangent at the centre, E b moves
by at most √(Var_d·Var_δ), both under their ceilings, and a change between vertices has a b between theirs. Two neighbours and all
between them have n … nk rows and a mean of 0 … s: the steepest slope there bounds the pure cost, a change being a unit of x.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import Direction, PublicGrid, directions
from app.core.privacy.cells import Cells, longer_across_rows
from app.core.privacy.windows import means_peaking_at, outside_weight, points_per_sd, posterior_windows, window_width

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE, TOLERANCE_MANY = 0.05, 0.11
POINTS_MANY = 5_000
"""Points of a grid from which on cells are many."""
FIRST_SDS = 1.0
COLUMNS_MAX = 10_000
FIRST_ROWS = 1.5
WORK_MAX = 10_000_000
"""Cells times points of a window."""
_CHUNK_ELEMENTS = 60_000


class CellTables:
    """Tables at the centres of cells, with what bounds the cells."""

    def __init__(self, grid: PublicGrid, cells: Cells, width: int | None = None) -> None:
        self._grid = grid
        self._t, self._m = cells.centres()
        corners = np.array([(a * m, m) for a, m in product((cells.a0, cells.a1), (cells.m0, cells.m1))])
        self._moved = (corners - [self._t, self._m]).transpose(2, 0, 1)  # cell, corner, (t, m)
        self.width = window_width(grid, self._t, self._m) if width is None else width
        self._outside, self._moments = self._sums()

    def _chunks(self, chosen: Index) -> list[Index]:
        return np.array_split(chosen, max(1, len(chosen) * self.width // _CHUNK_ELEMENTS))

    def _tables(self, part: Index) -> tuple[Array, Array, Array, Array, Array]:
        """(log p, centred τη, centred τA, tilts to the corners, bound of the weight outside at the corners)."""
        windows = posterior_windows(self._grid, self._t[part], self._m[part], self.width)
        p = np.exp(windows.log_p)
        eta, partition = (
            self._grid.temperature * each[windows.columns] for each in (self._grid.eta, self._grid.partition)
        )
        eta, partition = (each - (p * each).sum(axis=1, keepdims=True) for each in (eta, partition))
        moved = self._moved[part]
        tilt = moved[:, :, :1] * eta[:, None, :] - moved[:, :, 1:] * partition[:, None, :]
        with np.errstate(over="ignore"):
            outside = np.max([outside_weight(self._grid, windows, tilt[:, i]) for i in range(4)], axis=0)
        return windows.log_p, eta, partition, tilt, outside

    def _sums(self) -> tuple[Array, Array]:
        outside, moments = np.empty(len(self._m)), np.empty((len(self._m), 4, 3))
        for part in self._chunks(np.arange(len(self._m))):
            log_p, eta, partition, tilt, outside[part] = self._tables(part)
            with np.errstate(over="ignore"):
                weights = np.exp(log_p[:, None, :] + tilt)
            moments[part] = weights @ np.stack([eta**2, eta * partition, partition**2], axis=2)
        return outside, moments

    def ceilings(self, change: Direction) -> Array:
        """Of Var_d, for every cell."""
        t, m = change
        forms = t * t * self._moments[:, :, 0] - 2 * t * m * self._moments[:, :, 1] + m * m * self._moments[:, :, 2]
        lost = 1e-12 * (t * t * self._moments[:, :, 0] + m * m * self._moments[:, :, 2])
        width = float(np.ptp(self._grid.change(change))) ** 2
        with np.errstate(invalid="ignore"):
            beyond = np.where(self._outside > 0, width * self._outside, 0)
        ceilings: Array = np.maximum(forms + lost, 0.0).max(axis=1) + beyond
        return ceilings

    def slopes(self, chosen: Index, changes: list[Direction]) -> tuple[Array, float]:
        """(a bound of w_k·|b_k − E b| for every chosen cell, the steepest seen at a centre)."""
        ceilings = {change: self.ceilings(change) for change in changes}
        bounds, seen = np.zeros(len(chosen)), 0.0
        for place in self._chunks(np.arange(len(chosen))):
            part = chosen[place]
            if len(part):
                bounds[place], there = self._steepest(part, {d: ceiling[part] for d, ceiling in ceilings.items()})
                seen = max(seen, there)
        return bounds, seen

    def _steepest(self, part: Index, ceilings: dict[Direction, Array]) -> tuple[Array, float]:
        log_p, eta, partition, tilt, outside = self._tables(part)
        spread = self._spread(part, outside)
        floor = UNIFORM_SHARE / ((1 - UNIFORM_SHARE) * self._grid.size)
        with np.errstate(over="ignore"):
            share, centre = np.exp(log_p + tilt.max(axis=1)), np.exp(log_p)
        share /= share + floor
        centre /= centre + floor
        slopes, seen = np.zeros(len(part)), 0.0
        for change, ceiling in ceilings.items():
            away = np.abs(change[0] * eta - change[1] * partition)
            seen = max(seen, float((centre * away).max()))
            span = float(np.ptp(self._grid.change(change)))
            with np.errstate(invalid="ignore"):
                beyond = np.where(outside > 0, 2 * span * outside / UNIFORM_SHARE, 0.0)
                steep = (share * (away + np.sqrt(ceiling * spread)[:, None])).max(axis=1) + beyond
            slopes = np.maximum(slopes, steep)
        return slopes, seen

    def _spread(self, part: Index, outside: Array) -> Array:
        """A ceiling of Var(f·δ) for every δ from the centre to a point of the cell."""
        t, m = self._moved[part][:, :, None, 0], self._moved[part][:, :, None, 1]
        sums = self._moments[part][:, None]
        forms = t * t * sums[..., 0] - 2 * t * m * sums[..., 1] + m * m * sums[..., 2]
        lost = 1e-12 * (t * t * sums[..., 0] + m * m * sums[..., 2])
        eta, partition = (self._grid.temperature * np.ptp(each) for each in (self._grid.eta, self._grid.partition))
        width = ((np.abs(t) * eta + np.abs(m) * partition) ** 2).max(axis=(1, 2))
        with np.errstate(invalid="ignore"):
            beyond = np.where(outside > 0, width * outside, 0.0)
        spread: Array = np.maximum(forms + lost, 0.0).max(axis=(1, 2)) + beyond
        return spread


def steepest_unit_slope(grid: PublicGrid, steps: int, people: int, unit_rows: int) -> float:
    """sup of w_k·|b_k − E b| over everything reachable; looser where that takes too much work, infinite if it never began."""
    spread = points_per_sd(grid, float(people))
    if not grid.size <= COLUMNS_MAX * FIRST_SDS * spread:
        return np.inf
    changes = directions((0, steps), unit_rows)
    cells = _first_cells(grid, steps, people, unit_rows, spread)
    t, m = cells.centres()
    width = window_width(grid, t, m)
    tolerance = TOLERANCE if grid.size <= POINTS_MANY else TOLERANCE_MANY
    settled, seen, rest, work = 0.0, 0.0, np.inf, 0
    while True:
        work += cells.count * width
        if work > WORK_MAX:
            return float(np.maximum(settled, rest))
        bounds, there = CellTables(grid, cells, width).slopes(np.arange(cells.count), changes)
        seen = max(seen, there)
        open_ = ~(bounds <= seen * (1 + tolerance))
        settled = max(settled, float(bounds[~open_].max(initial=0.0)))
        if not open_.any():
            return settled
        rest = float(bounds[open_].max())
        whole = cells.take(open_)
        cells = whole.halves(longer_across_rows(grid, whole, width))


def _first_cells(grid: PublicGrid, steps: int, people: int, unit_rows: int, spread: float) -> Cells:
    """About a posterior sd each where posteriors peak inside the range."""
    count = max(9, int(np.ceil((grid.size - 1) / (FIRST_SDS * spread))) + 1)
    means = np.interp(np.linspace(0, grid.size - 1, count), np.arange(grid.size), grid.mean)
    inner = means_peaking_at(grid, means, float(people))
    ends = np.linspace(0.0, float(steps), 17)
    a = np.unique(np.concatenate([inner, ends]).clip(0.0, float(steps)))
    bands = max(1, int(np.ceil(np.log(unit_rows) / np.log(FIRST_ROWS))))
    m = np.geomspace(people, people * unit_rows, bands + 1)
    m[0], m[-1] = people, people * unit_rows
    low_a, low_m = (side.ravel() for side in np.meshgrid(a[:-1], m[:-1], indexing="ij"))
    high_a, high_m = (side.ravel() for side in np.meshgrid(a[1:], m[1:], indexing="ij"))
    return Cells(low_a, high_a, low_m, high_m)
