"""A certified supremum of Var(b), the curvature of ψ along a change, over all statistics a dataset can have.

On a cell of statistics with centre v, table p = P_v, mean c = E_p[b] and corners v + δ,

    ψ_dd(v + δ) = Var_{P_{v+δ}}(b) ≤ Σ p·(b−c)²·exp((f − E_p f)·δ),   f·δ = τ(η·δt − A·δm),

because replacing the mean by c and log Z by its tangent at v only enlarge the left side. The right side is convex in
δ (a positive sum of exponentials of linear functions), so its largest value on the cell is at a corner. Cells whose
bound exceeds the best variance found at a centre by more than the tolerance are split (PRIVACY §2, Computing it, 3).

A divergence of order α is α/2 times a weighted mean of ψ_dd between v − (α−1)d and v + d, hence
D_α ≤ (α/2)·sup ψ_dd over the reachable statistics widened by (α−1)·d on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import Direction, PublicGrid
from app.core.privacy.windows import outside_weight, posterior_windows
from app.errors import NumericalFailure

Array = NDArray[np.float64]

TOLERANCE = 4e-3
WINDOW_FIRST = 72
_CHUNK = 8192
_ROUNDS_MAX = 60
_FIRST_STRIDE = 5
_OUTSIDE_MAX = 1e-18
_CELLS_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class Region:
    """Statistics with rows in [rows_low, rows_high] and sum in [low·m − spill, high·m + spill]."""

    low: float
    high: float
    rows_low: float
    rows_high: float
    spill: float


@dataclass(frozen=True, slots=True)
class Cells:
    """Sectors {(m·a, m)}: a in [a0, a1] the mean statistic a row, m in [m0, m1] rows; trapezia in (t, m)."""

    a0: Array
    a1: Array
    m0: Array
    m1: Array

    def take(self, chosen: NDArray[np.bool_] | slice) -> "Cells":
        return Cells(self.a0[chosen], self.a1[chosen], self.m0[chosen], self.m1[chosen])

    def halves(self, split_rows: bool) -> "Cells":
        if split_rows:
            middle = (self.m0 + self.m1) / 2
            parts = (self.a0, self.a0), (self.a1, self.a1), (self.m0, middle), (middle, self.m1)
        else:
            middle = (self.a0 + self.a1) / 2
            parts = (self.a0, middle), (middle, self.a1), (self.m0, self.m0), (self.m1, self.m1)
        return Cells(*(np.concatenate(part) for part in parts))


def curvature_supremum(grid: PublicGrid, changes: Sequence[Direction], region: Region) -> float:
    """An upper bound of Var_{P_v}(b) over v in `region` and all changes, within about TOLERANCE of the supremum."""
    cells = _first_cells(grid, region)
    width = window_width(grid, cells)
    found, discarded = 0.0, 0.0
    for round_number in range(_ROUNDS_MAX):
        values, ceilings = _evaluate(grid, changes, cells, width)
        found = max(found, float(values.max()))
        open_cells = ~(ceilings <= found * (1 + TOLERANCE))  # a NaN stays open
        if (~open_cells).any():
            discarded = max(discarded, float(ceilings[~open_cells].max()))
        if not open_cells.any():
            return max(discarded, found)
        flat = region.rows_low == region.rows_high
        cells = cells.take(open_cells).halves(split_rows=not flat and round_number % 3 == 2)
        if len(cells.a0) > _CELLS_MAX:
            break
    raise NumericalFailure("the certified supremum did not settle")


def window_width(grid: PublicGrid, cells: Cells) -> int:
    """The smallest window (by doubling) outside which no centre keeps weight that matters."""
    sparse = cells.take(slice(None, None, 8))
    m = (sparse.m0 + sparse.m1) / 2
    t = m * (sparse.a0 + sparse.a1) / 2
    width = WINDOW_FIRST
    while width < grid.size:
        windows = posterior_windows(grid, t, m, width)
        if outside_weight(grid, windows, np.zeros_like(windows.log_p)).max() < _OUTSIDE_MAX:
            break
        width *= 2
    return width


def _first_cells(grid: PublicGrid, region: Region) -> Cells:
    """A posterior sd or two (five grid points) to a cell inside the range, doubling steps outside it."""
    stride = max(1, min(_FIRST_STRIDE, (grid.size - 1) // 8))
    inner = np.unique(np.concatenate([grid.mean[::stride], grid.mean[-1:]]))
    bottom = region.low - region.spill / region.rows_low
    top = region.high + region.spill / region.rows_low
    bounds = [
        _outward(inner[0], inner[1] - inner[0], bottom)[::-1],
        inner,
        _outward(inner[-1], inner[-1] - inner[-2], top),
    ]
    a = np.unique(np.clip(np.concatenate(bounds), bottom, top))
    ratio = region.rows_high / region.rows_low
    count = max(1, int(np.ceil(np.log(ratio) / np.log(1.3)))) if ratio > 1 else 1
    m = np.geomspace(region.rows_low, region.rows_high, count + 1)
    low_a, low_m = (side.ravel() for side in np.meshgrid(a[:-1], m[:-1], indexing="ij"))
    high_a, high_m = (side.ravel() for side in np.meshgrid(a[1:], m[1:], indexing="ij"))
    return Cells(low_a, high_a, low_m, high_m)


def _outward(edge: float, first_step: float, end: float) -> Array:
    """Points from `edge` towards `end`: a few even steps, then doubling ones, as the posterior piles up there."""
    sign = 1.0 if end > edge else -1.0
    room = abs(end - edge)
    steps = [k * first_step for k in range(1, 9) if k * first_step < room]
    while steps and steps[-1] * 1.5 < room:
        steps.append(steps[-1] * 1.5)
    return edge + sign * np.array([*steps, room])


def ceilings_of(grid: PublicGrid, changes: Sequence[Direction], cells: Cells) -> Array:
    """Certified ceilings of Var(b) on the given cells, as they are."""
    return _evaluate(grid, changes, cells, window_width(grid, cells))[1]


def _evaluate(grid: PublicGrid, changes: Sequence[Direction], cells: Cells, width: int) -> tuple[Array, Array]:
    """(variance at the centre, certified ceiling on the cell), the largest over all changes, for every cell."""
    values, ceilings = np.empty(len(cells.a0)), np.empty(len(cells.a0))
    for start in range(0, len(cells.a0), _CHUNK):
        part = slice(start, start + _CHUNK)
        values[part], ceilings[part] = _evaluate_chunk(grid, changes, cells.take(part), width)
    return values, ceilings


def _evaluate_chunk(grid: PublicGrid, changes: Sequence[Direction], cells: Cells, width: int) -> tuple[Array, Array]:
    m = (cells.m0 + cells.m1) / 2
    t = m * (cells.a0 + cells.a1) / 2
    windows = posterior_windows(grid, t, m, width)
    p = np.exp(windows.log_p)
    eta, partition = grid.eta[windows.columns], grid.partition[windows.columns]
    centred_eta = grid.temperature * (eta - (p * eta).sum(axis=1, keepdims=True))
    centred_partition = grid.temperature * (partition - (p * partition).sum(axis=1, keepdims=True))
    squares = [(change[0] * centred_eta - change[1] * centred_partition) ** 2 for change in changes]
    widest = max(float(np.ptp(grid.change(change))) ** 2 for change in changes)
    values = np.max([np.einsum("ij,ij->i", p, square) for square in squares], axis=0)
    ceilings = np.zeros(len(m))
    row_ends = (cells.m0,) if (cells.m0 == cells.m1).all() else (cells.m0, cells.m1)
    for corner_m in row_ends:
        for corner_a in (cells.a0, cells.a1):
            moved_t, moved_m = corner_m * corner_a - t, corner_m - m
            tilt = centred_eta * moved_t[:, None] - centred_partition * moved_m[:, None]
            outside = widest * outside_weight(grid, windows, tilt)
            with np.errstate(over="ignore"):
                weights = np.exp(windows.log_p + tilt)
            for square in squares:
                ceilings = np.maximum(ceilings, np.einsum("ij,ij->i", weights, square) + outside)
    return values, ceilings
