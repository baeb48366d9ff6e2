"""The pure cost of the table really drawn, several rows a person: log-ratios at the corners of cells, and what they miss inside.

Drawn is q = (1−γ)p + γ/K; L = m(log p) with m(ℓ) = log((1−γ)e^ℓ + γ/K) convex, of slope w in [0, 1]. For v = Σ λ_i·v_i in a cell
(`units/cells.py`) log p_k is concave, and at most G above the mean of its corners: Σ λ_i·log p_k(v_i) ≤ log p_k(v) ≤ that + G. So

    L_k(v) ≤ Σ λ_i·L_k(v_i) + G·w,   L_k(v+d) ≥ Σ λ_i·L_k(v_i+d) − κ,
    L_k(v) − L_k(v+d) ≤ max_i(L_k(v_i) − L_k(v_i+d)) + G·w + κ,

w at the largest log p_k plus G, and κ the most a convex m lies under its chord on the r long range of log p_k at the moved
corners: r/4 times the change of w, and r²/8 times the largest w(1−w). For a fixed first dataset a loss is largest at a vertex of
the changes (`mixed_pairs.py`). Both are of second order, so that this serves where a person moves a posterior by much of its
width, and slopes (`units/slope.py`) where by little.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.units.cells import CORNER_PAIRS, ROWS_MAX, gap
from app.core.privacy.units.patches import FirstDatasets, Patches
from app.core.privacy.windows import beyond_edges, points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 0.03
WORK_MAX = 9_000_000
"""Corners times changes times points of a window."""
_WINDOW_SDS = 10.0
_CHUNK_ELEMENTS = 40_000
_EDGES = [0, 1, -2, -1]


def largest_fall(grid: PublicGrid, steps: int, people: int, unit_rows: int, known: float) -> float:
    """sup of L_k(v) − L_k(v′) over all neighbours, or `known` where that is less or this too much work."""
    if people < 2 * unit_rows or unit_rows > ROWS_MAX:
        return known
    datasets, spread = FirstDatasets(steps, people, unit_rows), points_per_sd(grid, float(people))
    if datasets.many(grid, spread):
        return known
    patches = datasets.cells(grid, spread)
    places = _Places(grid, datasets, spread, patches)
    settled, seen, work = 0.0, 0.0, 0
    while True:
        work += 4 * patches.count * places.width
        if work > WORK_MAX:
            return known
        size = max(1, _CHUNK_ELEMENTS // (4 * places.width))
        parts = [
            places.bounds(patches.take(np.arange(patches.count)[i : i + size])) for i in range(0, patches.count, size)
        ]
        largest, bounds, across = (np.concatenate(column) for column in zip(*parts, strict=True))
        seen = max(seen, float(largest.max()))
        if known <= seen * (1 + TOLERANCE):
            return known
        open_ = ~(bounds <= seen * (1 + TOLERANCE)) & patches.divisible
        settled = max(settled, float(bounds[~open_].max(initial=0.0)))
        if not open_.any():
            return min(known, settled)
        patches = datasets.halved(patches.take(open_), across[open_])


class _Places:
    """Windows of grid points for cells of first datasets."""

    def __init__(self, grid: PublicGrid, datasets: FirstDatasets, spread: float, patches: Patches) -> None:
        self._grid, self._datasets = grid, datasets
        low, high = self._peaks(patches)
        self.width = min(grid.size, int((high - low).max()) + int(2 * _WINDOW_SDS * max(spread, 1.0)))

    def _peaks(self, patches: Patches) -> tuple[Index, Index]:
        grid, (t, m) = self._grid, self._datasets.corners(patches)
        found = []
        for x in (0.0, 1.0):
            rows = np.maximum(grid.temperature * (m + x * patches.dm) + grid.prior_rows, 1e-3 * grid.temperature)
            sums = grid.temperature * (t + x * patches.dt) + grid.prior_sum
            found.append(np.searchsorted(grid.mean, sums / rows))
        places = np.concatenate(found)
        return places.min(axis=0), places.max(axis=0)

    def bounds(self, patches: Patches) -> tuple[Array, Array, NDArray[np.bool_]]:
        """(largest at a corner, bound inside, whether rows are the longer side), for each patch."""
        low, high = self._peaks(patches)
        first = np.clip((low + high) // 2 - self.width // 2, 0, self._grid.size - self.width)
        columns = first[:, None] + np.arange(self.width)
        t, m = self._datasets.corners(patches)
        before, outside, means = self._tables(columns, t, m)
        after, outside_after, _ = self._tables(columns, t + patches.dt, m + patches.dm)
        pairs = []
        for i, j in CORNER_PAIRS:
            moved = (means[0][i] - means[0][j]) * (t[i] - t[j]) - (means[1][i] - means[1][j]) * (m[i] - m[j])
            pairs.append(np.maximum(moved, 0.0) + 1e-12)
        wide = gap(pairs)
        fall = (self._drawn(before) - self._drawn(after)).max(axis=0)
        with np.errstate(over="ignore"):
            share = self._share(before.max(axis=0) + wide[:, None])
        spill = np.exp(np.minimum(wide, 700.0)) * np.maximum(outside, outside_after).sum(axis=0)
        bound = (fall + wide[:, None] * share + self._sag(after)).max(axis=1) + spill * (2 + 1 / UNIFORM_SHARE)
        across = np.maximum(pairs[2], pairs[3]) > np.maximum(pairs[0], pairs[1])
        return fall.max(axis=1), np.where(np.isnan(bound), np.inf, bound), across

    def _tables(self, columns: Index, t: Array, m: Array) -> tuple[Array, Array, tuple[Array, Array]]:
        """(log p on the window, a bound of the weight outside it, means of τη and τA) for every corner and patch."""
        grid = self._grid
        eta, partition = grid.temperature * grid.eta[columns], grid.temperature * grid.partition[columns]
        log_p = grid.log_prior[columns] + eta * t[:, :, None] - partition * m[:, :, None]
        log_p -= log_p.max(axis=2, keepdims=True)
        p = np.exp(log_p)
        total = p.sum(axis=2)
        log_z = np.log(total)
        outside = beyond_edges(grid, columns[:, _EDGES], log_p[:, :, _EDGES].transpose(1, 0, 2), log_z.T).T
        means = tuple(np.einsum("cpk,pk->cp", p, value) / total for value in (eta, partition))
        return log_p - log_z[:, :, None], outside, (means[0], means[1])

    def _drawn(self, log_p: Array) -> Array:
        drawn: Array = np.log((1 - UNIFORM_SHARE) * np.exp(log_p) + UNIFORM_SHARE / self._grid.size)
        return drawn

    def _share(self, log_p: Array) -> Array:
        """w, whose slope in log p is w(1 − w)."""
        floor = UNIFORM_SHARE / ((1 - UNIFORM_SHARE) * self._grid.size)
        share: Array = 1 / (1 + floor * np.exp(np.minimum(-log_p, 700.0)))
        return share

    def _sag(self, log_p: Array) -> Array:
        """κ at every point."""
        low, high = log_p.min(axis=0), log_p.max(axis=0)
        least, most = self._share(low), self._share(high)
        bend = np.minimum(0.25, np.minimum(most, 1 - least))
        sag: Array = np.minimum((high - low) * (most - least) / 4, (high - low) ** 2 / 8 * bend)
        return sag
