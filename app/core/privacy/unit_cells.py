"""Several rows a person: the exact curve at corners of cells of statistics, and how much larger it can be inside a cell.

A cell is a quadrilateral with corners v_i; any of its points is v = Σ λ_i·v_i with products as weights. ψ is convex, so from
its tangents at the corners

    Σ λ_i·ψ(v_i) − ψ(v) ≤ Σ_{i<j} λ_iλ_j·J_ij ≤ G,   J_ij = (∇ψ(v_i) − ∇ψ(v_j))·(v_i − v_j),                               (1)

G the largest over weights: with a = μ(1−μ), b = ν(1−ν) in [0, ¼] the sum is bilinear in a and b, hence largest at ends of both.
Z² times the variance of b is a sum of exponentials with positive weights, so its logarithm is convex: for the cell moved by −xd,
Var_d(v − xd) ≤ e^{2G(x)}·Σ λ_i·Var_d(v_i − xd). D_α is an integral of that over x from −1 to α−1 (`kernel.py`). And the
logarithm of E = e^{(α−1)·D_α} is ψ(v − (α−1)d) + (α−1)ψ(v + d) − αψ(v), of which only the last term is not convex. So

    D_α(v) ≤ max_i D_α(v_i)·e^{2·max G(x)},   D_α(v) ≤ max_i D_α(v_i) + G(0)·α/(α−1):                                      (2)

the first is sharp where D_α is small, the second where it is large. Z_i·Z_j·J_ij, a sum over pairs of points of
w_k·w_l·(f_k − f_l)(e^{f_k} − e^{f_l})/2, is such a sum as well: between two places x₀ < x₁, J_ij(x) ≤ max J_ij·e^{g_i + g_j} with
g = (x₁ − x₀)·(E_{x₀} b − E_{x₁} b)/4 the most that ψ lies under its chord (`curvature.py`, 1).

First datasets. With n − 1 + j rows, j < k, nobody has more than j rows; with a sum t nobody has more than t, and nobody is further
below the largest sum than all together. So next to an end of the range cells are strips of a few whole numbers, with the vertices
of just the changes that are open there. Cells that may exceed the largest D_α seen by more than TOLERANCE are cut; cells
of whole numbers into whole numbers, and a single statistic is exact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid, person_corners
from app.core.numerics.hull import hull_vertices
from app.core.privacy.cost import ORDERS
from app.core.privacy.unit_paths import Jobs, Paths, follow
from app.core.privacy.windows import means_peaking_at, points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 0.035
FIRST_SDS = 1.2
FIRST_ROWS = 1.6
WORK_MAX = 32_000_000
"""Statistics times changes times orders times points of the grid."""
CHORD = 0.02
"""Between the orders computed (α−1)·D_α is convex, and no more than this under its chord where it was looked at."""
STRIPS = 4
ROWS_MAX = 8
"""Rows a person: each is a class of first datasets of its own."""
_SCOUTS = 200
WINDOW_LEAST = 128
WINDOW_SDS = 8.0
REACH_SDS = 8.5
_LEAST_ORDERS = 8
_LOW, _INNER, _HIGH = 0, 1, 2
_PAIRS = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))
"""Corners (first, m₀), (last, m₀), (first, m₁), (last, m₁): two sides along sums, two along rows, two diagonals."""


@dataclass(frozen=True, slots=True)
class _Patches:
    """A cell with one change each: its kind, the ends of its coordinate and of its rows, how many rows a person has at most.

    The coordinate is a sum t, a share of the way between the two strips, or how far t lies below its largest.
    """

    kind: Index
    first: Array
    last: Array
    m0: Array
    m1: Array
    most: Index
    dt: Array
    dm: Array

    def take(self, chosen: NDArray[np.bool_] | Index) -> "_Patches":
        return _Patches(*(getattr(self, field)[chosen] for field in self.__slots__))

    @property
    def count(self) -> int:
        return len(self.kind)


def _joined(parts: list[_Patches]) -> _Patches:
    return _Patches(*(np.concatenate([getattr(part, field) for part in parts]) for field in _Patches.__slots__))


def cell_supremum(grid: PublicGrid, steps: int, people: int, unit_rows: int, pure: float, known: Array) -> Array:
    """`known` bounds of D_α, lowered where cells say less, up to the order from which a cost of `pure` says less still."""
    if people < 2 * unit_rows or unit_rows > ROWS_MAX:
        return known
    return np.minimum(known, _Search(grid, steps, people, unit_rows).supremum(pure, known))


def _enough(orders: Array, powers: Array) -> Index:
    """Places of orders between which a chord of the convex `powers` lies within CHORD of it."""
    chosen = [0]
    while chosen[-1] < len(orders) - 1:
        first = chosen[-1]
        last = first + 1
        while last < len(orders) - 1:
            inner = slice(first + 1, last + 1)
            ends = [first, last + 1]
            if (np.interp(orders[inner], orders[ends], powers[ends]) > (1 + CHORD) * powers[inner]).any():
                break
            last += 1
        chosen.append(last)
    return np.array(chosen)


class _Search:
    def __init__(self, grid: PublicGrid, steps: int, people: int, unit_rows: int) -> None:
        self._grid, self._steps, self._people, self._rows = grid, steps, people, unit_rows
        self._spread = points_per_sd(grid, float(people))
        self._width = grid.size
        self._changes = lru_cache(maxsize=None)(self._open_changes)

    def supremum(self, pure: float, known: Array) -> Array:
        """Infinite at orders that were not computed."""
        curve = np.full(len(ORDERS), np.inf)
        patches = self._first()
        self._width = self._window(patches)
        if patches.count * self._width * _LEAST_ORDERS > WORK_MAX:
            return curve
        orders, seen = self._orders(patches, pure)
        places = np.searchsorted(ORDERS, orders)
        settled, work = np.zeros(len(orders)), 0.0
        loose = known[places] > seen * (1 + TOLERANCE)
        while loose.any():
            step = 4 * patches.count * self._width * len(orders)
            work += step
            if work > WORK_MAX:
                return curve
            largest, bounds, across = self._bounds(patches, orders)
            seen = np.maximum(seen, largest.max(axis=0))
            loose = known[places] > seen * (1 + TOLERANCE)
            open_ = ((bounds > seen * (1 + TOLERANCE)) & loose).any(axis=1) & self._divisible(patches)
            settled = np.maximum(settled, bounds[~open_].max(axis=0, initial=0.0))
            curve[places] = np.maximum(settled, bounds[open_].max(axis=0, initial=0.0))
            if not open_.any():
                return curve
            patches = self._halved(patches.take(open_), across[open_])
        return curve

    def _open_changes(self, kind: int, reach: int, most: int) -> list[Direction]:
        """Vertices of what one of at most `most` rows can change where nobody is further than `reach` from that end."""
        ends = [
            (min(reach, self._steps * m), max(0, self._steps * m - reach))[kind // 2] if kind != _INNER else 0
            for m in range(1, most + 1)
        ]
        olds = {(self._steps * m if kind != _LOW else 0, m) for m in range(1, most + 1)}
        olds |= {(end, m) for m, end in enumerate(ends, 1)}
        if kind == _INNER:
            olds = set(person_corners((0, self._steps), most))
        news = person_corners((0, self._steps), self._rows)
        changes = {(new[0] - old[0], new[1] - old[1]) for old in olds for new in news} | {(0, 0)}
        return [change for change in hull_vertices(changes) if change != (0, 0)]

    def _first(self) -> _Patches:
        n, k = self._people, self._rows
        bands = [(float(n - 1 + j), float(n - 1 + j), j) for j in range(1, k)]
        start, end = n - 1 + k, n * k
        while start <= end:
            stop = min(end, max(start, int(start * FIRST_ROWS)))
            bands.append((float(start), float(stop), k))
            start = stop + 1
        strips = np.unique(np.linspace(0, k * self._steps, min(STRIPS, k * self._steps) + 1).astype(np.int64))
        columns = [(kind, float(a), float(b - 1)) for kind in (_LOW, _HIGH) for a, b in zip(strips, strips[1:])]
        columns += self._inner_columns()
        return self._patches([(*column, *band) for column in columns for band in bands])

    def _inner_columns(self) -> list[tuple[int, float, float]]:
        """A posterior sd or so each, at the fewest rows."""
        n, edge = self._people, self._rows * self._steps
        count = max(8, int(np.ceil((self._grid.size - 1) / (FIRST_SDS * self._spread))) + 1)
        means = np.interp(np.linspace(0, self._grid.size - 1, count), np.arange(self._grid.size), self._grid.mean)
        t = np.unique(means_peaking_at(self._grid, means, float(n)) * n)
        t = np.append(t, np.linspace(0, self._steps * n, 9))
        shares = np.unique(((t - edge) / (self._steps * n - 2 * edge)).clip(0.0, 1.0)) if n > 2 * self._rows else [0.0]
        shares = np.array(shares) if len(shares) > 1 else np.array([0.0, 1.0])
        return [(_INNER, float(a), float(b)) for a, b in zip(shares, shares[1:])]

    def _patches(self, cells: list[tuple[int, float, float, float, float, int]]) -> _Patches:
        found = [
            (*cell, *change)
            for cell in cells
            for change in self._changes(cell[0], 0 if cell[0] == _INNER else int(cell[2]), cell[5])
        ]
        kind, first, last, m0, m1, most, dt, dm = (np.array(column, dtype=np.float64) for column in zip(*found))
        return _Patches(kind.astype(np.int64), first, last, m0, m1, most.astype(np.int64), dt, dm)

    def _sum(self, patches: _Patches, coordinate: Array, m: Array) -> Array:
        top, edge = self._steps * m, float(self._rows * self._steps)
        inner = edge + coordinate * (top - 2 * edge)
        t: Array = np.where(patches.kind == _LOW, coordinate, np.where(patches.kind == _HIGH, top - coordinate, inner))
        return t

    def _corners(self, patches: _Patches) -> tuple[Array, Array]:
        """(t, m) of four corners, a row each."""
        m = np.stack([patches.m0, patches.m0, patches.m1, patches.m1])
        ends = np.stack([patches.first, patches.last, patches.first, patches.last])
        return np.stack([self._sum(patches, ends[i], m[i]) for i in range(4)]), m

    def _paths(self, patches: _Patches, orders: Array, corners: slice = slice(None)) -> tuple[Paths, Array, Array]:
        t, m = self._corners(patches)
        low, high = self._peaks(patches)
        first = np.clip((low + high) // 2 - self._width // 2, 0, self._grid.size - self._width)
        t, m = t[corners], m[corners]
        each = len(t)
        jobs = Jobs(t.ravel(), m.ravel(), *(np.tile(side, each) for side in (patches.dt, patches.dm, first)))
        return follow(self._grid, jobs, self._width, orders), t, m

    def _peaks(self, patches: _Patches) -> tuple[Index, Index]:
        """The first and last grid point among the peaks of the posteriors that a path meets, as far as it is followed."""
        grid, power, (t, m) = self._grid, self._grid.temperature, self._corners(patches)
        limit = int(REACH_SDS * max(self._spread, 1.0))

        def peak(x: float) -> Index:
            rows = np.maximum(power * (m + x * patches.dm) + grid.prior_rows, 1e-3 * power)
            return np.searchsorted(grid.mean, (power * (t + x * patches.dt) + grid.prior_sum) / rows)

        here, ahead, back = peak(0.0), peak(1.0), peak(-4096.0)
        places = np.concatenate([here, ahead, np.clip(back, here - limit, here + limit)])
        return places.min(axis=0), places.max(axis=0)

    def _window(self, patches: _Patches) -> int:
        if self._grid.size <= WINDOW_LEAST:
            return self._grid.size
        low, high = self._peaks(patches)
        wanted = int((high - low).max()) + int(2 * WINDOW_SDS * max(self._spread, 1.0))
        return min(self._grid.size, max(wanted, WINDOW_LEAST))

    def _orders(self, patches: _Patches, pure: float) -> tuple[Array, Array]:
        """The orders at which F = (α−1)·D_α rises more slowly than `pure`, and D_α seen there, by a corner of some cells."""
        some = patches.take(np.arange(0, patches.count, max(1, patches.count // _SCOUTS)))
        orders = np.array(ORDERS)
        for count in (10, 20, len(orders)):
            seen = self._paths(some, orders[:count], slice(0, 1))[0].divergence.max(axis=0)
            steep = np.flatnonzero(np.diff((orders[:count] - 1) * seen) >= 1.01 * pure * np.diff(orders[:count]))
            if len(steep):
                count = int(steep[0]) + 2
                break
        chosen = _enough(orders[:count], (orders[:count] - 1) * seen[:count])
        return orders[chosen], seen[chosen]

    def _bounds(self, patches: _Patches, orders: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """(largest at a corner, bound inside: a row each, a column an order; whether rows are the longer side)."""
        paths, t, m = self._paths(patches, orders)
        shape = 4, patches.count
        eta, partition = (each.reshape(*shape, -1) for each in (paths.eta, paths.partition))
        divergence, spill = (each.reshape(*shape, -1) for each in (paths.divergence, paths.spill))
        largest = divergence.max(axis=0)
        slope = eta * patches.dt[:, None] - partition * patches.dm[:, None]
        places = np.array([-1.0, 0.0, *(orders - 1)])
        sag = np.maximum(-np.diff(slope, axis=2), 0.0) * np.diff(places) / 4
        jeffreys = []
        for i, j in _PAIRS:
            moved = (eta[i] - eta[j]) * (t[i] - t[j])[:, None] - (partition[i] - partition[j]) * (m[i] - m[j])[:, None]
            moved = np.maximum(moved, 0.0) + 1e-12
            with np.errstate(over="ignore"):
                between = np.maximum(moved[:, 1:], moved[:, :-1]) * np.exp(sag[i] + sag[j])
            jeffreys.append((moved[:, 1], between))
        here, along = (self._gap([pair[side] for pair in jeffreys]) for side in (0, 1))
        along = np.maximum.accumulate(along, axis=1)[:, 1:]  # up to the place of each order
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(2 * along)
            added = here[:, None] * (orders / (orders - 1))
            beyond = np.where(spill.any(axis=0), np.sqrt(factor) * spill.sum(axis=0), 0.0)
            bounds = np.fmin(largest * factor, largest + added) + beyond
        bounds = np.where(np.isnan(bounds), np.inf, bounds)
        across = np.maximum(jeffreys[2][0], jeffreys[3][0]) > np.maximum(jeffreys[0][0], jeffreys[1][0])
        return largest, bounds, across

    @staticmethod
    def _gap(pairs: list[Array]) -> Array:
        """G of (1)."""
        sums, rows = np.maximum(pairs[0], pairs[1]), np.maximum(pairs[2], pairs[3])
        gap: Array = np.maximum(np.maximum(sums, rows) / 4, (sums + rows) / 8 + (pairs[4] + pairs[5]) / 16)
        return gap

    @staticmethod
    def _divisible(patches: _Patches) -> NDArray[np.bool_]:
        return (patches.first < patches.last) | (patches.m0 < patches.m1)

    def _halved(self, patches: _Patches, across: NDArray[np.bool_]) -> _Patches:
        flat = patches.m0 == patches.m1
        across = np.where(patches.first == patches.last, True, across & ~flat)
        rows, sums = patches.take(across), patches.take(~across)
        middle = np.floor((rows.m0 + rows.m1) / 2)
        halves = [
            _Patches(rows.kind, rows.first, rows.last, rows.m0, middle, rows.most, rows.dt, rows.dm),
            _Patches(rows.kind, rows.first, rows.last, middle + 1, rows.m1, rows.most, rows.dt, rows.dm),
        ]
        inner = sums.take(sums.kind == _INNER)
        centre = (inner.first + inner.last) / 2
        halves += [
            _Patches(inner.kind, inner.first, centre, inner.m0, inner.m1, inner.most, inner.dt, inner.dm),
            _Patches(inner.kind, centre, inner.last, inner.m0, inner.m1, inner.most, inner.dt, inner.dm),
        ]
        strips = sums.take(sums.kind != _INNER)
        cells = sorted(set(zip(*(getattr(strips, f).tolist() for f in ("kind", "first", "last", "m0", "m1", "most")))))
        parts = []
        for kind, first, last, m0, m1, most in cells:
            half = float((first + last) // 2)
            parts += [(kind, first, half, m0, m1, most), (kind, half + 1, last, m0, m1, most)]
        if parts:
            halves.append(self._patches(parts))
        return _joined(halves)
