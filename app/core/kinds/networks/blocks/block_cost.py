"""What one person's observation costs in one block: certified for every direction it can move the counts, any n.

Directions: remove or add a success or a failure, or swap one for the other. For each, the supremum over all counts
s, f ≥ 0 with s + f ≤ n before and after the move of KL and of every D_α; exact where the counts are few, else

  start    counts are grouped into rectangles (single pairs near zero); D_α of all starts in one is bounded by the weighted
           mean of ceilings of Var(b) along the path (`curvature.py`), each taken on all places the path can pass
  refine   the rectangles with the highest bounds are replaced by exact values at their counts, while that is cheap

The pure cost is exact for every n: D_∞(v → v+d) = log E_v e^b − min b, and posteriors rise with s and fall with f in the
likelihood-ratio order, so the expectation is largest at an end. Total variation is at most √(KL/2) (Pinsker), tanh(ρ/4) for
log-ratios of range ρ, and 1 − e^{−D_∞}. The empty block is not always the worst (PRIVACY §4).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.networks.blocks.block_grid import BlockGrid, BlockShape, Divergences, block_grid, tables
from app.core.kinds.networks.blocks.curvature import AXES, VarianceMap, plane_edges
from app.core.privacy.cost import ORDERS
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.errors import NumericalFailure

Array = NDArray[np.float64]
Direction = tuple[int, int]

REMOVE: tuple[Direction, Direction] = ((-1, 0), (0, -1))
ADD: tuple[Direction, Direction] = ((1, 0), (0, 1))
SWAP: tuple[Direction, Direction] = ((-1, 1), (1, -1))
"""By the side (success, failure) an observation leaves or enters; a swap by the side it leaves."""
DIRECTIONS = (*REMOVE, *ADD, *SWAP)

KL, PURE, RANGE, DISTANCE = 0, len(ORDERS) + 1, len(ORDERS) + 2, len(ORDERS) + 3
CURVE = slice(1, len(ORDERS) + 1)
COLUMNS = len(ORDERS) + 4
"""A row of figures: KL, every order, pure, range of b, total variation distance. All of them add over blocks."""

EXACT_WORK_MAX = 1_000_000
REFINED_WORK_MAX = 400_000
REFINED_POINTS_MAX = 36
SINGLES = 12
_ROUNDS = 4
_CLOSE = 1.02
_UNDERFLOW = 280.0
_RELATIVE, _ABSOLUTE = 1e-9, 1e-11

_ORDERS = np.array(ORDERS)
PATH = np.unique([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, *(order - 1 for order in ORDERS)])


@dataclass(frozen=True, slots=True)
class BlockTerms:
    """`rows[i]` are the figures of `DIRECTIONS[i]`."""

    rows: Array
    exact: bool
    grid_points: int

    def of(self, direction: Direction) -> Array:
        row: Array = self.rows[DIRECTIONS.index(direction)]
        return row


@lru_cache(maxsize=1024)
def block_terms(shape: BlockShape) -> BlockTerms:
    grid = block_grid(shape)
    n = shape.rows
    spread = float(np.ptp(grid.success - grid.failure))
    exact = (n + 1) * (n + 2) // 2 * grid.size <= EXACT_WORK_MAX and n * spread <= _UNDERFLOW
    if shape.full:
        suprema, exact = _swaps(shape)
    else:
        suprema = _enumerated(grid, n) if exact else _bounded(grid, shape)
    rows = np.zeros((len(DIRECTIONS), COLUMNS))
    for i, d in enumerate(DIRECTIONS):
        reach = float(np.ptp(grid.change(d))) * (1 + _RELATIVE)
        figures = np.minimum(suprema[i] * (1 + _RELATIVE) + _ABSOLUTE * reach, reach)
        figures = np.minimum(figures, np.concatenate([[1.0], _ORDERS]) * reach**2 / 8)
        pure = min(reach, _pure(grid, n, d) + _RELATIVE * reach)
        rows[i, KL], rows[i, CURVE] = min(figures[0], pure), np.minimum(figures[1:], pure)
        rows[i, PURE], rows[i, RANGE] = pure, reach
        rows[i, DISTANCE] = min(np.sqrt(rows[i, KL] / 2), np.tanh(reach / 4), -np.expm1(-pure))
    if not (rows >= 0).all() or not np.isfinite(rows).all():
        raise NumericalFailure("the cost of a block came out undefined")
    return BlockTerms(rows, exact, grid.size)


def range_terms(shape: BlockShape) -> BlockTerms:
    """Bounded range alone, without a grid: pure τ·ln((1−ω)/ω), twice that for a swap, and min(ρ, α·ρ²/8)."""
    odds = shape.temperature * math.log((1 - shape.trim) / shape.trim) * (1 + _RELATIVE)
    rows = np.empty((len(DIRECTIONS), COLUMNS))
    for i, d in enumerate(DIRECTIONS):
        reach = odds * (2 if d in SWAP else 1)
        rows[i, KL], rows[i, CURVE] = min(reach, reach**2 / 8), np.minimum(reach, _ORDERS * reach**2 / 8)
        rows[i, PURE], rows[i, RANGE], rows[i, DISTANCE] = reach, reach, math.tanh(reach / 4)
    return BlockTerms(rows, exact=False, grid_points=0)


def _swaps(shape: BlockShape) -> tuple[Array, bool]:
    """With s + f = n this is the one-parameter family: only a swap is open, and its cost falls with n (PRIVACY §2)."""
    model = bernoulli("block", shape.alpha, shape.beta, shape.trim)
    draw = posterior_draw_cost(model, shape.rows, 1, shape.temperature)
    suprema = np.zeros((len(DIRECTIONS), len(ORDERS) + 1))
    for d in SWAP:
        suprema[DIRECTIONS.index(d)] = [draw.kl_sup, *draw.cost.curve]
    return suprema, draw.method.startswith("exact")


def _pure(grid: BlockGrid, n: int, d: Direction) -> float:
    """sup over counts of log E_v e^b − min b: at the counts where θ is as large (b rising) or as small as can be."""
    b = grid.change(d)
    rising = b[-1] > b[0]
    fixed = tuple(max(0, -step) for step in d)
    free = n - max(sum(fixed), sum(fixed) + sum(d))
    s, f = (fixed[0] + free, fixed[1]) if rising else (fixed[0], fixed[1] + free)
    p = tables(grid, np.array([float(s)]), np.array([float(f)]))[0]
    return float(np.log(p @ np.exp(b - b.min())))


def _allowed(s: Array, f: Array, d: Direction, n: int) -> NDArray[np.bool_]:
    after = s + d[0], f + d[1]
    inside: NDArray[np.bool_] = (after[0] >= 0) & (after[1] >= 0) & (after[0] + after[1] <= n) & (s + f <= n)
    return inside


def _enumerated(grid: BlockGrid, n: int) -> Array:
    pairs = np.array([(s, f) for s in range(n + 1) for f in range(n + 1 - s)], dtype=np.float64)
    p = tables(grid, pairs[:, 0], pairs[:, 1])
    best = np.zeros((len(DIRECTIONS), len(ORDERS) + 1))
    for i, d in enumerate(DIRECTIONS):
        chosen = _allowed(pairs[:, 0], pairs[:, 1], d, n)
        if chosen.any():
            best[i] = Divergences(grid.change(d)).at(p[chosen]).max(axis=0)
    return best


def _bounded(grid: BlockGrid, shape: BlockShape) -> Array:
    edges = plane_edges(shape.trim, shape.temperature, ORDERS[-1])
    ceilings = VarianceMap(grid, edges)
    sides = _groups(edges, shape.rows)
    starts = np.array([(*s, *f) for s, f in product(sides, sides) if s[0] + f[0] <= shape.rows], dtype=np.float64)
    return np.stack([_supremum(grid, ceilings, starts, d, shape.rows) for d in DIRECTIONS])


def _groups(edges: Array, n: int) -> list[tuple[int, int]]:
    """Whole numbers 0 … n in groups: singles near zero, then about as wide as the cells."""
    ends = np.unique(np.concatenate([np.arange(SINGLES + 1), np.ceil(edges[edges > SINGLES]), [n]]).astype(np.int64))
    ends = ends[ends <= n]
    return [(int(before) + 1, int(end)) for before, end in zip(np.concatenate([[-1], ends[:-1]]), ends, strict=True)]


def _supremum(grid: BlockGrid, ceilings: VarianceMap, starts: Array, d: Direction, n: int) -> Array:
    """For every figure, the largest of what remains bounded and what has been found exactly."""
    nearest = np.maximum(starts[:, [0, 2]], np.maximum(0, -np.array(d)))
    starts = starts[(nearest <= starts[:, [1, 3]]).all(axis=1) & (nearest.sum(axis=1) + max(0, sum(d)) <= n)]
    bounds = path_bounds(ceilings, starts, d)
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
        inside = _allowed(s, f, d, n)
        best = np.maximum(best, exact.at(tables(grid, s[inside], f[inside])).max(axis=0, initial=0.0))
        bounds[chosen], open_[chosen] = 0.0, False
    return np.asarray(np.maximum(best, bounds.max(axis=0, initial=0.0)))


def _members(start: Array) -> tuple[Array, Array]:
    s, f = np.meshgrid(np.arange(start[0], start[1] + 1), np.arange(start[2], start[3] + 1))
    return s.ravel(), f.ravel()


def path_bounds(ceilings: VarianceMap, starts: Array, d: Direction) -> Array:
    """[KL, D_α …] ≤ for every start rectangle (s₀, s₁, f₀, f₁): ceilings along v − x·d, −1 ≤ x ≤ α − 1, weighted."""
    axis = next(i for i, a in enumerate(AXES) if d in (a, (-a[0], -a[1])))
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
