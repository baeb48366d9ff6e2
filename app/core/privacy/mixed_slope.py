"""A certified bound of how fast the table really drawn can change with the statistic: one row a person, any n.

Drawn is q_k = (1−γ)·p_k + γ/K (`grids/integer_table.py`). Along the sum t, with ℓ = log p_k, ℓ′ = τη_k − m, m = E[τη],

    L_k = log q_k,   L_k′ = w_k·ℓ′,   w_k = p_k/(p_k + c),   c = γ/((1−γ)K),

so |L_k(t) − L_k(t′)| ≤ Δ·sup|L_k′| for neighbours at most Δ apart. ℓ is concave, m rises and m′ = ψ″ ≤ S on a cell [u₀, u₁] of
length h (`curvature.py`). For a point above the mean at u₁, s = u₁ − t and y = ℓ′(u₁) ≥ 0:

    ℓ(t) ≤ ℓ(u₁) − s·y  (tangent),   0 ≤ ℓ′(t) ≤ y + s·S,   hence   L_k′(t) ≤ B(s) = w(ℓ(u₁) − s·y)·(y + s·S).

log w is a concave rising function of ℓ, so F = log B is concave in s: at most F(0) where F′(0) ≤ 0, F(h) where F′(h) ≥ 0, and
where its tangents at 0 and h meet otherwise. With p_k in place of w_k, log p_k in place of log w_k, the same bounds the slope
of the point's own probability, p_k′ = p_k·ℓ′. A point below the mean at u₀ is the mirror image; one between the two means has
|ℓ′| ≤ h·S. All this on a window of points; beyond it p_k ≤ o/K (`windows.py`), so w_k ≤ o/γ, and the window's mean is within
o·R of m, R the width of τη: 2R·o/γ covers both (2R·o for p_k).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.curvature import Ceiling, block_tables, block_window

Array = NDArray[np.float64]

TOLERANCE = 5e-3
"""Cells are looked at closely, and cut, only where they may exceed the steepest slope seen by more than this."""
_BLOCK = 8
_PARTS = 4
_ROUNDS = 3
_CHUNK_ELEMENTS = 120_000
_WORK_MAX = 16_000_000


@dataclass(frozen=True, slots=True)
class _Cells:
    """[start, end] with ψ″ ≤ top, in rows of cells that touch: one row shares a window."""

    nodes: Array
    top: Array


def steepest_slope(
    grid: PublicGrid, rows: int, ceiling: Ceiling, ends: tuple[float, float], pointwise: bool = False
) -> float:
    """A bound of |d/dt log q_k(t)| over all points and all t in `ends`, or if `pointwise` of |d/dt p_k(t)|.

    Infinite or undefined where there is none.
    """
    floor = None if pointwise else UNIFORM_SHARE / ((1 - UNIFORM_SHARE) * grid.size)
    cells = _blocks(ceiling, ends)
    width = block_window(grid, rows, cells.nodes)
    seen, settled, bound, work = 0.0, 0.0, np.inf, 0
    for _ in range(_ROUNDS):
        work += cells.nodes.size * width
        if work > _WORK_MAX:
            break
        seen, bounds = _slopes(_Table(grid, rows, width, floor), cells, seen)
        enough = bounds <= seen * (1 + TOLERANCE) ** 2
        settled = max(settled, float(np.max(bounds, where=enough, initial=0.0)))
        if enough.all():
            return settled
        bound = float(bounds[~enough].max())
        starts, stops = cells.nodes[:, :-1][~enough], cells.nodes[:, 1:][~enough]
        nodes = np.linspace(starts, stops, _PARTS + 1, axis=1)
        cells = _Cells(nodes, np.repeat(cells.top[~enough][:, None], _PARTS, axis=1))
    return float(np.maximum(settled, bound))


def _blocks(ceiling: Ceiling, ends: tuple[float, float]) -> _Cells:
    """The ceiling's cells that meet `ends`, _BLOCK to a row, the last repeated as cells without length."""
    nodes = ceiling.nodes
    first = max(0, int(np.searchsorted(nodes, ends[0], side="right")) - 1)
    last = min(len(nodes) - 1, max(first + 1, int(np.searchsorted(nodes, ends[1], side="left"))))
    top = np.maximum(ceiling.left, ceiling.right)[first:last]
    missing = -len(top) % _BLOCK
    inner = np.append(nodes[first : last + 1], np.full(missing, nodes[last])).clip(*ends)
    places = np.arange(0, len(inner) - 1, _BLOCK)[:, None]
    tops = np.append(top, np.full(missing, top[-1]))
    return _Cells(inner[places + np.arange(_BLOCK + 1)], tops[places + np.arange(_BLOCK)])


@dataclass(frozen=True, slots=True)
class _Table:
    """What slopes are of: a grid, its rows, how many points to a window; c, or None for slopes of p_k itself."""

    grid: PublicGrid
    rows: int
    width: int
    floor: float | None

    def share(self, p: Array) -> Array:
        """w, or p."""
        if self.floor is None:
            return p
        share = p + self.floor
        return np.divide(p, share, out=share)

    def rise(self, share: Array) -> Array | float:
        """d log share/dℓ."""
        return 1.0 if self.floor is None else 1 - share


def _slopes(table: _Table, cells: _Cells, seen: float) -> tuple[float, Array]:
    """(the steepest slope seen at a node, a bound for every cell)."""
    size = max(1, _CHUNK_ELEMENTS // (table.width * cells.nodes.shape[1]))
    bounds = np.empty(cells.top.shape)
    for i in range(0, len(bounds), size):
        part = slice(i, i + size)
        seen, bounds[part] = _slopes_chunk(table, _Cells(cells.nodes[part], cells.top[part]), seen)
    return seen, bounds


def _slopes_chunk(table: _Table, cells: _Cells, seen: float) -> tuple[float, Array]:
    grid = table.grid
    x, p, outside = block_tables(grid, table.rows, cells.nodes, table.width)
    p /= p.sum(axis=2, keepdims=True)
    mean = (p @ x[:, :, None])[:, :, 0]
    away = x[:, None, :] - mean[:, :, None]
    steep = table.share(p) * away
    above, below = steep.max(axis=2), -steep.min(axis=2)
    seen = max(seen, float(above.max()), float(below.max()))
    enough = seen * (1 + TOLERANCE)
    h = np.diff(cells.nodes, axis=1)
    room, between = h * cells.top, h * cells.top
    if table.floor is None:
        largest = p.max(axis=2)
        between = room * np.maximum(largest[:, 1:], largest[:, :-1]) * np.exp(h**2 * cells.top / 8)
    bounds = np.maximum(between, np.minimum(np.maximum(above[:, 1:], below[:, :-1]) + room, enough))
    for sign, at_node, nodes in ((1.0, above[:, 1:], slice(1, None)), (-1.0, below[:, :-1], slice(None, -1))):
        block, cell = np.nonzero(at_node + room > enough)
        if len(block):
            y, q = sign * away[:, nodes][block, cell], p[:, nodes][block, cell]
            found = _steepest(table, q, y, h[block, cell][:, None], cells.top[block, cell][:, None], enough)
            bounds[block, cell] = np.maximum(bounds[block, cell], found)
    beyond = (outside[:, :-1] + outside[:, 1:]) * np.exp(h**2 * cells.top / 8)
    extent = grid.temperature * (grid.eta[-1] - grid.eta[0]) / (1.0 if table.floor is None else UNIFORM_SHARE)
    with np.errstate(invalid="ignore"):
        bounds += np.where(beyond > 0, 2 * extent * beyond, 0.0)
    return seen, bounds


def _steepest(table: _Table, p: Array, y: Array, h: Array, top: Array, enough: float) -> Array:
    """For every cell, the largest bound among its points, one row each; those under `enough` may be left out."""
    largest = np.zeros(len(p))
    cell, k = np.nonzero((table.share(p) * (y + h * top) > enough) & (y > 0))
    p, y, h, top = p[cell, k], y[cell, k], h[cell, 0], top[cell, 0]
    share, far_share = table.share(p), table.share(p * np.exp(-h * y))
    with np.errstate(divide="ignore", invalid="ignore"):
        here, there = np.log(share * y), np.log(far_share * (y + h * top))
        rise, end_rise = top / y - table.rise(share) * y, top / (y + h * top) - table.rise(far_share) * y
        meet = np.clip((there - end_rise * h - here) / (rise - end_rise), 0.0, h)
        peak = here + rise * meet
    peak = np.where(rise <= 0, here, np.where(end_rise >= 0, there, peak))
    np.maximum.at(largest, cell, np.exp(peak))
    return largest
