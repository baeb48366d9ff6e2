"""The largest KL and D_α of a block's posterior over all counts before a move: exact where counts are few, else bounded.

  start    counts are grouped into rectangles (single pairs near zero); D_α of all starts in one is bounded by the weighted
           mean of ceilings of Var(b) along the path (`curvature.py`), each taken on all places the path can pass
  refine   the rectangles with the highest bounds are replaced by exact values at their counts, while that is cheap

A move is any whole d = (Δs, Δf). Along j·d the variance is j² times that along d, so ceilings are kept by primitive direction.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid, BlockShape, Divergences, tables
from app.core.kinds.networks.blocks.curvature import VarianceMap, plane_edges
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]
Direction = tuple[int, int]

EXACT_WORK_MAX = 1_000_000
REFINED_WORK_MAX = 400_000
REFINED_POINTS_MAX = 36
SINGLES = 12
_ROUNDS = 4
_CLOSE = 1.02
_UNDERFLOW = 280.0

PATH = np.unique([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, *(order - 1 for order in ORDERS)])


def few_counts(grid: BlockGrid, rows: int) -> bool:
    """Whether every pair of counts can be visited, with sums that doubles hold."""
    return (rows + 1) * (rows + 2) // 2 * grid.size <= EXACT_WORK_MAX and fits_in_doubles(grid, rows)


def fits_in_doubles(grid: BlockGrid, rows: int) -> bool:
    return rows * float(np.ptp(grid.success - grid.failure)) <= _UNDERFLOW


def all_counts(rows: int) -> Array:
    return np.array([(s, f) for s in range(rows + 1) for f in range(rows + 1 - s)], dtype=np.float64)


def allowed(s: Array, f: Array, d: Direction, n: int) -> NDArray[np.bool_]:
    """Counts that may stand before the move d."""
    after = s + d[0], f + d[1]
    inside: NDArray[np.bool_] = (after[0] >= 0) & (after[1] >= 0) & (after[0] + after[1] <= n) & (s + f <= n)
    return inside


def enumerated_suprema(grid: BlockGrid, n: int, moves: Sequence[Direction]) -> Array:
    """A row [KL, D_α …] for every move."""
    pairs = all_counts(n)
    p = tables(grid, pairs[:, 0], pairs[:, 1])
    best = np.zeros((len(moves), len(ORDERS) + 1))
    for i, d in enumerate(moves):
        chosen = allowed(pairs[:, 0], pairs[:, 1], d, n)
        if chosen.any():
            best[i] = Divergences(grid.change(d)).at(p[chosen]).max(axis=0)
    return best


def bounded_suprema(grid: BlockGrid, shape: BlockShape, moves: Sequence[Direction]) -> Array:
    edges = plane_edges(shape.trim, shape.temperature, ORDERS[-1] * shape.unit_rows)
    axes = list(dict.fromkeys(primitive(d)[0] for d in moves))
    ceilings = VarianceMap(grid, edges, axes)
    sides = [groups(side, shape.rows) for side in edges]
    starts = np.array([(*s, *f) for s, f in product(*sides) if s[0] + f[0] <= shape.rows], dtype=np.float64)
    return np.stack([_supremum(grid, ceilings, axes, starts, d, shape.rows) for d in moves])


def primitive(d: Direction) -> tuple[Direction, int]:
    """(a, j) with d = ±j·a, a without common factor and of one sign for d and −d."""
    j = math.gcd(*d)
    a = d[0] // j, d[1] // j
    return (a if a > (0, 0) else (-a[0], -a[1])), j


def groups(edges: Array, n: int) -> list[tuple[int, int]]:
    """Whole numbers 0 … n in groups: singles near zero, then about as wide as the cells."""
    ends = np.unique(np.concatenate([np.arange(SINGLES + 1), np.ceil(edges[edges > SINGLES]), [n]]).astype(np.int64))
    ends = ends[ends <= n]
    return [(int(before) + 1, int(end)) for before, end in zip(np.concatenate([[-1], ends[:-1]]), ends, strict=True)]


def _supremum(
    grid: BlockGrid, ceilings: VarianceMap, axes: list[Direction], starts: Array, d: Direction, n: int
) -> Array:
    """For every figure, the largest of what remains bounded and what has been found exactly."""
    starts = reachable(starts, d, n)
    axis, times = primitive(d)
    bounds = path_bounds(ceilings, axes.index(axis), starts, d) * times**2
    exact = Divergences(grid.change(d))
    points = np.prod(starts[:, [1, 3]] - starts[:, [0, 2]] + 1, axis=1)
    spread = float(np.ptp(grid.success - grid.failure))
    open_ = (points <= REFINED_POINTS_MAX) & ((starts[:, 1] + starts[:, 3]) * spread <= _UNDERFLOW)
    best = np.zeros(bounds.shape[1])
    left = REFINED_WORK_MAX // grid.size
    for _ in range(_ROUNDS):
        excess = np.where(open_, (bounds / np.maximum(best, bounds.max(axis=0) / 2)).max(axis=1), 0.0)
        chosen = np.argsort(-excess)[: len(ORDERS) // 2]
        chosen = chosen[(excess[chosen] > _CLOSE * (best > 0).any()) & (np.cumsum(points[chosen]) <= left)]
        if not len(chosen):
            break
        left -= int(points[chosen].sum())
        s, f = (np.concatenate(side) for side in zip(*(_members(start) for start in starts[chosen]), strict=True))
        inside = allowed(s, f, d, n)
        best = np.maximum(best, exact.at(tables(grid, s[inside], f[inside])).max(axis=0, initial=0.0))
        bounds[chosen], open_[chosen] = 0.0, False
    return np.asarray(np.maximum(best, bounds.max(axis=0, initial=0.0)))


def reachable(starts: Array, d: Direction, n: int) -> Array:
    """Rectangles with counts that may stand before the move d."""
    nearest = np.maximum(starts[:, [0, 2]], np.maximum(0, -np.array(d)))
    return np.asarray(starts[(nearest <= starts[:, [1, 3]]).all(axis=1) & (nearest.sum(axis=1) + max(0, sum(d)) <= n)])


def _members(start: Array) -> tuple[Array, Array]:
    s, f = np.meshgrid(np.arange(start[0], start[1] + 1), np.arange(start[2], start[3] + 1))
    return s.ravel(), f.ravel()


def path_bounds(ceilings: VarianceMap, axis: int, starts: Array, d: Direction) -> Array:
    """[KL, D_α …] ≤ for every start rectangle (s₀, s₁, f₀, f₁): ceilings along v − x·d, −1 ≤ x ≤ α − 1, weighted."""
    reach = []
    for low, high, step in ((starts[:, 0], starts[:, 1], d[0]), (starts[:, 2], starts[:, 3], d[1])):
        ends = np.sort([-step * PATH[:-1], -step * PATH[1:]], axis=0)
        reach.append((low[:, None] + ends[0], high[:, None] + ends[1]))
    tops = ceilings.largest(axis, reach[0], reach[1])
    bounds: Array = np.asarray(tops @ PATH_WEIGHTS)
    return bounds


def _path_weights() -> Array:
    """(α−1)·D_α = ∫₀^{α−1} (α−1−x)·Var_{v−xd} dx + (α−1)·∫₀¹ (1−x)·Var_{v+xd} dx, piece by piece; KL is the second integral."""
    weights = np.zeros((len(PATH) - 1, len(ORDERS) + 1))
    low, high = PATH[:-1], PATH[1:]
    ahead = high <= 0
    weights[ahead] = ((high - low) * (1 + (low + high) / 2))[ahead, None]
    for i, order in enumerate(ORDERS):
        end = np.minimum(high, order - 1)
        width = np.where(ahead, 0.0, np.maximum(end - low, 0.0))
        weights[:, i + 1] += width * (order - 1 - (low + end) / 2) / (order - 1)
    return weights


PATH_WEIGHTS = _path_weights()
