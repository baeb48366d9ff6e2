"""Certified ceilings of Var(b), the curvature of ψ along a change, on cells of statistics.

On a cell of statistics with centre v, table p = P_v, mean c = E_p[b] and corners v + δ,

    ψ_dd(v + δ) = Var_{P_{v+δ}}(b) ≤ Σ p·(b−c)²·exp((f − E_p f)·δ),   f·δ = τ(η·δt − A·δm),

because replacing the mean by c and log Z by its tangent at v only enlarge the left side. The right side is convex in
δ (a positive sum of exponentials of linear functions), so its largest value on the cell is at a corner (PRIVACY §2,
Computing it, 3). With p, c and E_p f taken on a window W instead of the whole grid the bound still holds: Z ≥ Z_W, whose
logarithm lies above its own tangent, and what is outside W is added at its worst, max (b−c)² times `outside_weight`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid
from app.core.privacy.windows import outside_weight, posterior_windows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CHUNK_ELEMENTS = 100_000


@dataclass(frozen=True, slots=True)
class Cells:
    """Sectors {(m·a, m)}: a in [a0, a1] the mean statistic a row, m in [m0, m1] rows; trapezia in (t, m)."""

    a0: Array
    a1: Array
    m0: Array
    m1: Array

    @property
    def count(self) -> int:
        return len(self.a0)

    def take(self, chosen: NDArray[Any] | slice) -> "Cells":
        return Cells(self.a0[chosen], self.a1[chosen], self.m0[chosen], self.m1[chosen])

    def centres(self) -> tuple[Array, Array]:
        m = (self.m0 + self.m1) / 2
        return m * (self.a0 + self.a1) / 2, m

    def halves(self, across_rows: Mask) -> "Cells":
        """Each cell in two, across its rows where asked and across its means elsewhere: first halves, then second."""
        return self.cut((self.a0 + self.a1) / 2, (self.m0 + self.m1) / 2, across_rows)

    def cut(self, a: Array, m: Array, across_rows: Mask) -> "Cells":
        """Each cell in two, at the rows `m` or at the mean `a`."""
        before = np.where(across_rows, self.a1, a), np.where(across_rows, m, self.m1)
        after = np.where(across_rows, self.a0, a), np.where(across_rows, m, self.m0)
        parts = (self.a0, after[0]), (before[0], self.a1), (self.m0, after[1]), (before[1], self.m1)
        return Cells(*(np.concatenate(part) for part in parts))

    def joined(self, other: "Cells") -> "Cells":
        return Cells(*(np.concatenate([getattr(self, side), getattr(other, side)]) for side in self.__slots__))


@dataclass(frozen=True, slots=True)
class Bounds:
    """For every cell: its ceiling, the corner (m·a, m) where that is reached, and Var(b) at the cell's centre."""

    ceilings: Array
    corner_a: Array
    corner_m: Array
    values: Array


def bound_cells(grid: PublicGrid, changes: Sequence[Direction], cells: Cells, width: int) -> Bounds:
    """The largest over all changes, for every cell; in chunks whose tables stay in the processor's cache."""
    parts = [_bound_chunk(grid, changes, cells.take(part), width) for part in _chunks(cells.count, width)]
    return Bounds(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def variances(grid: PublicGrid, changes: Sequence[Direction], t: Array, m: Array, width: int) -> Array:
    """Var(b) at the statistics (t, m), the largest over all changes."""
    found = np.empty(len(t))
    for part in _chunks(len(t), width):
        windows = posterior_windows(grid, t[part], m[part], width)
        p = np.exp(windows.log_p)
        found[part] = np.max([_variance(p, grid.change(change)[windows.columns]) for change in changes], axis=0)
    return found


def longer_across_rows(grid: PublicGrid, cells: Cells, width: int) -> Mask:
    """Whether a cell's ceiling owes more to its spread of rows than to its spread of means.

    For a normal posterior a half-width of s sds in the sum lifts the ceiling by 3s²/2, one of r sds along rows by r²/2.
    """
    longer = np.zeros(cells.count, dtype=np.bool_)
    if (cells.m0 == cells.m1).all():
        return longer
    for part in _chunks(cells.count, width):
        some = cells.take(part)
        t, m = some.centres()
        windows = posterior_windows(grid, t, m, width)
        p = np.exp(windows.log_p)
        eta, partition = grid.eta[windows.columns], grid.partition[windows.columns]
        along_sum = _variance(p, eta) * (m * (some.a1 - some.a0)) ** 2
        along_rows = _variance(p, eta * (t / m)[:, None] - partition) * (some.m1 - some.m0) ** 2
        longer[part] = along_rows > 3 * along_sum
    return longer


def _chunks(count: int, width: int) -> list[slice]:
    size = max(16, _CHUNK_ELEMENTS // width)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _variance(p: Array, b: Array) -> Array:
    centred = b - (p * b).sum(axis=1, keepdims=True)
    variance: Array = (p * centred**2).sum(axis=1)
    return variance


def _bound_chunk(
    grid: PublicGrid, changes: Sequence[Direction], cells: Cells, width: int
) -> tuple[Array, Array, Array, Array]:
    t, m = cells.centres()
    windows = posterior_windows(grid, t, m, width)
    p = np.exp(windows.log_p)
    eta, partition = grid.eta[windows.columns], grid.partition[windows.columns]
    centred_eta = grid.temperature * (eta - (p * eta).sum(axis=1, keepdims=True))
    centred_partition = grid.temperature * (partition - (p * partition).sum(axis=1, keepdims=True))
    squares = [(change[0] * centred_eta - change[1] * centred_partition) ** 2 for change in changes]
    widest = max(float(np.ptp(grid.change(change))) ** 2 for change in changes)
    values = np.max([np.einsum("ij,ij->i", p, square) for square in squares], axis=0)
    flat = bool((cells.m0 == cells.m1).all())
    corners = [(a, rows) for rows in ((cells.m0,) if flat else (cells.m0, cells.m1)) for a in (cells.a0, cells.a1)]
    ceilings = np.empty((len(corners), len(m)))
    for i, (corner_a, corner_m) in enumerate(corners):
        tilt = centred_eta * (corner_m * corner_a - t)[:, None]
        if not flat:
            tilt -= centred_partition * (corner_m - m)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            outside = widest * outside_weight(grid, windows, tilt)
            weights = np.exp(windows.log_p + tilt)
            ceilings[i] = np.max([np.einsum("ij,ij->i", weights, square) for square in squares], axis=0) + outside
    worst = np.argmax(ceilings, axis=0)
    place = np.arange(len(m))
    corner_a, corner_m = (np.stack(sides)[worst, place] for sides in zip(*corners, strict=True))
    return ceilings[worst, place], corner_a, corner_m, values
