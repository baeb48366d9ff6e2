"""On a whole cell of counts: between which bounds the tables of a block lie there.

With vertices c of the cell (`sectors.py`), M its middle, ψ the log-partition function and Λ(v) = ψ(v+d) − ψ(v) = log E_v e^b for
a move that adds b to log-weights, in all of the cell

  log p_k   is concave: at least the least at a vertex, at most log p_k(M) + max_c (c − M)·((X_k, Y_k) − E_M(X, Y))
  Λ         is at most max_c Λ(c) + KL(P_M ‖ P_c), with a tangent at M in place of ψ(v); at least
            Λ(M) + min_c (c − M)·E_{M+d}(X, Y) − ψ(c) + ψ(M), with one at M + d in place of ψ(v+d)

all equalities for a single pair of counts. Of a log-concave table only a window around the peak is worked out: beyond either
end weights fall at least as fast as they do there, and the cell's tables have no more than Σ_c tail_c·e^{KL(P_M ‖ P_c)} outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import LOWEST, BlockGrid, BlockShape
from app.core.kinds.networks.blocks.block_terms import Direction
from app.core.kinds.networks.blocks.sectors import Cells

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Pair = tuple[Array, Array]

UNSEEN = 1e-9
"""No sum over a table of up to two factors of how far log-weights move in a cell has more than this beyond a window."""
_ROUNDING = 2.0**-47
_WINDOW_MIN = 64
_SDS = 6.3
_BATCH = 24_000
_LARGEST = 300.0


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Of cells that share a width of window, [cell, point]: p and q/p, q the table after the move, between bounds; p and q at the
    vertices, [cell, vertex, point]; how far log-weights move against their mean from end to end of the cell, along its rays and
    across. No more than `outside` of any table lies beyond the window, on `rest` points; `lengthwise`: cut it along its rays."""

    p: Pair
    ratio: Pair
    p_at: Array
    q_at: Array
    along: Array
    across: Array
    outside: Array
    rest: int
    lengthwise: NDArray[np.bool_]

    def take(self, places: NDArray[np.bool_]) -> "Enclosed":
        return Enclosed(
            (self.p[0][places], self.p[1][places]),
            (self.ratio[0][places], self.ratio[1][places]),
            self.p_at[places],
            self.q_at[places],
            self.along[places],
            self.across[places],
            self.outside[places],
            self.rest,
            self.lengthwise[places],
        )


class SectorTables:
    """Of one block and one move."""

    def __init__(self, grid: BlockGrid, shape: BlockShape, d: Direction) -> None:
        self._grid, self._d, self._b = grid, d, grid.change(d)
        self._own = shape.alpha - 0.5, shape.beta - 0.5
        bends = max(float(np.diff(part, 2).max()) for part in (grid.success, grid.failure))
        self._concave = bends <= 0 and min(self._own) >= 0
        self._size = float(np.abs(grid.success).max() + np.abs(grid.failure).max())
        self._log_prior = float(np.abs(grid.log_prior).max())

    def enclosed(self, cells: Cells) -> Iterator[tuple[Whole, Enclosed]]:
        """Places of cells that share a width of window, and the bounds there."""
        vertices, middle = _vertices(cells)
        start, width = self._windows(vertices, middle)
        waiting = np.arange(len(cells))
        while len(waiting):
            again = []
            for size in np.unique(width[waiting]):
                here = waiting[width[waiting] == size]
                for part in np.array_split(here, max(1, len(here) * int(size) // _BATCH)):
                    found, wide = self._on_window(vertices[part], middle[part], start[part], int(size))
                    enough = wide | (size == self._grid.size)
                    if enough.any():
                        yield part[enough], found if enough.all() else found.take(enough)
                    again.append(part[~enough])
            waiting = np.concatenate(again)
            start[waiting] = np.maximum(start[waiting] - width[waiting] // 2, 0)
            width[waiting] = np.minimum(2 * width[waiting], self._grid.size)
            start[waiting] = np.minimum(start[waiting], self._grid.size - width[waiting])

    def _windows(self, vertices: Array, middle: Array) -> tuple[Whole, Whole]:
        """Around the peaks at all vertices, by so many spreads of a Beta; all points where a table may not be log-concave."""
        size = self._grid.size
        own, d = np.array(self._own), np.array(self._d)
        if not self._concave:
            return np.zeros(len(middle), dtype=np.int64), np.full(len(middle), size)
        all_ = np.concatenate([vertices, vertices + d], axis=1) + own
        total = np.maximum(all_.sum(axis=2), 1e-9)
        share = np.clip(all_[:, :, 0] / total, 0.0, 1.0)
        angle = np.arcsin(np.sqrt(np.stack([share.min(axis=1), share.max(axis=1)], axis=1)))
        reach = _SDS / 2 / np.sqrt(total.min(axis=1) + 1)
        ends = np.sin(np.clip(angle + np.stack([-reach, reach], axis=1), 0.0, np.pi / 2)) ** 2
        places = np.searchsorted(self._grid.theta, ends)
        width = np.maximum(places[:, 1] - places[:, 0] + 1, _WINDOW_MIN)
        power = 2 ** np.ceil(np.log2(width)).astype(np.int64)
        width = np.minimum(np.where(width <= power // 4 * 3, power // 4 * 3, power), size)
        width[(all_ < 0).any(axis=(1, 2)) | (2 * width > size)] = size
        start = np.clip(places.sum(axis=1) // 2 - width // 2, 0, size - width)
        return start, width

    def _on_window(
        self, vertices: Array, middle: Array, start: Whole, width: int
    ) -> tuple[Enclosed, NDArray[np.bool_]]:
        """And whether windows hold all but a little of every table."""
        window = _Window(self._grid, self._b, start, width)
        at = window.table(middle)
        mean, ahead = window.means(at.p), window.means(at.q)
        steps = vertices - middle[:, None]
        centred = window.x - mean[:, :1], window.y - mean[:, 1:]
        single = not steps.any()
        tables = [at] if single else [window.table(vertices[:, corner]) for corner in range(4)]
        tail = np.maximum.reduce([at.tail, *(table.tail for table in tables)])
        extent = 4 * (1 + np.abs(steps).max(axis=(1, 2)) * self._size)
        error = _ROUNDING * (1 + self._log_prior + vertices.sum(axis=2).max(axis=1) * self._size) + extent * tail
        least, low, high, beyond = at.log_p, np.zeros(len(middle)), at.rise, tail
        moved = [step[:, :1] * centred[0] + step[:, 1:] * centred[1] for step in np.swapaxes(steps, 0, 1)]
        for table, step in zip(tables, [] if single else np.swapaxes(steps, 0, 1), strict=False):
            apart = np.maximum(table.psi - at.psi - (step * mean).sum(axis=1), 0.0) + 4 * error
            least = np.minimum(least, table.log_p)
            high = np.maximum(high, table.rise + apart)
            low = np.minimum(low, (step * ahead).sum(axis=1) - table.psi + at.psi)
            beyond = np.maximum(beyond, tail * np.exp(np.minimum(apart, 600.0)))
        shift = window.b - window.b_top
        most = np.minimum(at.log_p + np.maximum.reduce(moved) + 4 * error[:, None], 0.0)
        ratios = (high + 6 * error, low + at.rise - 6 * error)
        along = np.maximum(np.abs(moved[2] - moved[0]), np.abs(moved[3] - moved[1]))
        across = np.maximum(np.abs(moved[1] - moved[0]), np.abs(moved[3] - moved[2]))
        spreads = [np.einsum("ij,ij->i", at.p, moved_by**2) for moved_by in (along, across)]
        enclosed = Enclosed(
            (np.exp(least - 4 * error[:, None]), np.exp(most)),
            (_bounded_exp(shift - ratios[0][:, None]), _bounded_exp(shift - ratios[1][:, None])),
            np.stack([table.p for table in tables], axis=1),
            np.stack([table.q for table in tables], axis=1),
            along,
            across,
            8 * beyond,
            self._grid.size - width,
            spreads[0] > spreads[1],
        )
        return enclosed, 8 * extent**2 * np.maximum(tail, beyond) < UNSEEN


@dataclass(frozen=True, slots=True)
class _Table:
    """At counts, a row each: log p, p, ψ; q after the move and Λ up to a constant; what may lie outside the window of either."""

    log_p: Array
    p: Array
    psi: Array
    q: Array
    rise: Array
    tail: Array


class _Window:
    """So many points of the grid from `start` on, a row each."""

    def __init__(self, grid: BlockGrid, b: Array, start: Whole, width: int) -> None:
        where = start[:, None] + np.arange(width)
        self.x, self.y, self.b, self._prior = (part[where] for part in (grid.success, grid.failure, b, grid.log_prior))
        self.b_top = self.b.max(axis=1, keepdims=True)
        self._tilt = np.exp(self.b - self.b_top)
        self._cut = ((start > 0), (start + width < grid.size))
        self._whole = width == grid.size

    def table(self, counts: Array) -> _Table:
        log = self._prior + counts[:, :1] * self.x
        log += counts[:, 1:] * self.y
        top = log.max(axis=1, keepdims=True)
        log -= top
        np.maximum(log, LOWEST, out=log)
        p = np.exp(log)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        total = np.log(total)
        log -= total
        q = p * self._tilt
        after = q.sum(axis=1, keepdims=True)
        q /= after
        tail = np.zeros(len(log)) if self._whole else 2 * np.maximum(self._outside(p), self._outside(q))
        return _Table(log, p, (top + total)[:, 0], q, np.log(after[:, 0]), tail)

    def _outside(self, p: Array) -> Array:
        """Beyond an end that cuts the grid weights fall at least as fast as there: a geometric series."""
        found = np.zeros(len(p))
        for cut, (end, inner) in zip(self._cut, ((0, 1), (-1, -2)), strict=True):
            fall = p[:, end] / p[:, inner]
            beyond = p[:, end] * fall / np.maximum(1 - fall, 1e-9)
            found += np.where(cut, np.where(fall < 1 - 1e-9, beyond, 1.0), 0.0)
        return found

    def means(self, p: Array) -> Array:
        """Of both statistics."""
        return np.stack([np.einsum("ij,ij->i", p, part) for part in (self.x, self.y)], axis=1)


def _bounded_exp(log: Array) -> Array:
    return np.asarray(np.exp(np.minimum(log, _LARGEST)))


def _vertices(cells: Cells) -> tuple[Array, Array]:
    """[cell, vertex, side] and [cell, side] in counts (s, f); vertices left and right at t₀, then at t₁."""
    s = np.swapaxes(cells.s, 1, 2).reshape(-1, 4)
    total = np.repeat(cells.t, 2, axis=1).astype(np.float64)
    vertices = np.stack([s, total - s], axis=2)
    return vertices, vertices.mean(axis=1)
