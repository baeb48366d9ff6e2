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

Cells that may exceed the largest D_α seen by more than TOLERANCE are cut; a single statistic is exact (`units/patches.py`).
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.units.patches import FirstDatasets, Patches
from app.core.privacy.units.paths import Jobs, Paths, follow
from app.core.privacy.windows import points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 0.035
WORK_MAX = 32_000_000
"""Statistics times changes times orders times points of the grid."""
CHORD = 0.02
"""Between the orders computed (α−1)·D_α is convex, and no more than this under its chord where it was looked at."""
ROWS_MAX = 8
"""Rows a person: each is a class of first datasets of its own."""
WINDOW_LEAST = 128
WINDOW_SDS = 8.0
REACH_SDS = 8.5
_SCOUTS = 200
_LEAST_ORDERS = 8
CORNER_PAIRS = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))
"""Corners (first, m₀), (last, m₀), (first, m₁), (last, m₁): two sides along sums, two along rows, two diagonals."""


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
        self._grid, self._datasets = grid, FirstDatasets(steps, people, unit_rows)
        self._spread = points_per_sd(grid, float(people))
        self._width = grid.size

    def supremum(self, pure: float, known: Array) -> Array:
        """Infinite at orders that were not computed."""
        curve = np.full(len(ORDERS), np.inf)
        if self._datasets.many(self._grid, self._spread):
            return curve
        patches = self._datasets.cells(self._grid, self._spread)
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
            open_ = ((bounds > seen * (1 + TOLERANCE)) & loose).any(axis=1) & patches.divisible
            settled = np.maximum(settled, bounds[~open_].max(axis=0, initial=0.0))
            curve[places] = np.maximum(settled, bounds[open_].max(axis=0, initial=0.0))
            if not open_.any():
                return curve
            patches = self._datasets.halved(patches.take(open_), across[open_])
        return curve

    def _paths(self, patches: Patches, orders: Array, corners: slice = slice(None)) -> tuple[Paths, Array, Array]:
        t, m = self._datasets.corners(patches)
        low, high = self._peaks(patches)
        first = np.clip((low + high) // 2 - self._width // 2, 0, self._grid.size - self._width)
        t, m = t[corners], m[corners]
        each = len(t)
        jobs = Jobs(t.ravel(), m.ravel(), *(np.tile(side, each) for side in (patches.dt, patches.dm, first)))
        return follow(self._grid, jobs, self._width, orders), t, m

    def _peaks(self, patches: Patches) -> tuple[Index, Index]:
        """The first and last grid point among the peaks of the posteriors that a path meets, as far as it is followed."""
        grid, power, (t, m) = self._grid, self._grid.temperature, self._datasets.corners(patches)
        limit = int(REACH_SDS * max(self._spread, 1.0))

        def peak(x: float) -> Index:
            rows = np.maximum(power * (m + x * patches.dm) + grid.prior_rows, 1e-3 * power)
            return np.searchsorted(grid.mean, (power * (t + x * patches.dt) + grid.prior_sum) / rows)

        here, ahead, back = peak(0.0), peak(1.0), peak(-4096.0)
        places = np.concatenate([here, ahead, np.clip(back, here - limit, here + limit)])
        return places.min(axis=0), places.max(axis=0)

    def _window(self, patches: Patches) -> int:
        if self._grid.size <= WINDOW_LEAST:
            return self._grid.size
        low, high = self._peaks(patches)
        wanted = int((high - low).max()) + int(2 * WINDOW_SDS * max(self._spread, 1.0))
        return min(self._grid.size, max(wanted, WINDOW_LEAST))

    def _orders(self, patches: Patches, pure: float) -> tuple[Array, Array]:
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

    def _bounds(self, patches: Patches, orders: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
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
        for i, j in CORNER_PAIRS:
            moved = (eta[i] - eta[j]) * (t[i] - t[j])[:, None] - (partition[i] - partition[j]) * (m[i] - m[j])[:, None]
            moved = np.maximum(moved, 0.0) + 1e-12
            with np.errstate(over="ignore"):
                between = np.maximum(moved[:, 1:], moved[:, :-1]) * np.exp(sag[i] + sag[j])
            jeffreys.append((moved[:, 1], between))
        here, along = (gap([pair[side] for pair in jeffreys]) for side in (0, 1))
        along = np.maximum.accumulate(along, axis=1)[:, 1:]  # up to the place of each order
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(2 * along)
            added = here[:, None] * (orders / (orders - 1))
            beyond = np.where(spill.any(axis=0), np.sqrt(factor) * spill.sum(axis=0), 0.0)
            bounds = np.fmin(largest * factor, largest + added) + beyond
        bounds = np.where(np.isnan(bounds), np.inf, bounds)
        across = np.maximum(jeffreys[2][0], jeffreys[3][0]) > np.maximum(jeffreys[0][0], jeffreys[1][0])
        return largest, bounds, across


def gap(pairs: list[Array]) -> Array:
    """G of (1)."""
    sums, rows = np.maximum(pairs[0], pairs[1]), np.maximum(pairs[2], pairs[3])
    largest: Array = np.maximum(np.maximum(sums, rows) / 4, (sums + rows) / 8 + (pairs[4] + pairs[5]) / 16)
    return largest
