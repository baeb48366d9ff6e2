"""What one person's rows cost in one block: certified for every way they can move its counts, any n.

A row removes or adds a success or a failure, or swaps one for the other; k rows of a person move the counts by any
d = added − removed with at most k of each. For each d, suprema over all counts s, f ≥ 0 with s + f ≤ n before and after of

  KL, D_α        of the posterior (`block_suprema.py`): mixing with the uniform table can only lower them
  pure           of the table really drawn, mixture included (`mixed_pure.py`), which also bounds every order
  range          of the log-likelihood ratio b
  distance       total variation: at most √(KL/2) (Pinsker), tanh(ρ/4) for log-ratios of range ρ, and 1 − e^{−D_∞} of the
                 posterior, log E_v e^b − min b at the end where that is largest

A block that every row falls in is the one-parameter family, its statistic (s, s + f), and gets cheaper with n. The empty
block is not always the worst (PRIVACY §4).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import UNIFORM_SHARE as MIXED_WITH
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import bounded_suprema, enumerated_suprema, few_counts
from app.core.kinds.networks.blocks.block_terms import (
    COLUMNS,
    CURVE,
    DISTANCE,
    KL,
    PURE,
    RANGE,
    SWAP,
    BlockTerms,
    Direction,
    moves,
    range_figures,
)
from app.core.kinds.networks.blocks.mixed_pure import Counts, mixed_pure
from app.core.kinds.networks.blocks.visited import least_before
from app.core.privacy.cost import ORDERS
from app.core.privacy.posterior_cost import DrawCost, posterior_draw_cost
from app.errors import NumericalFailure

Array = NDArray[np.float64]

_RELATIVE, _ABSOLUTE = 1e-9, 1e-11
_ORDERS = np.array(ORDERS)


@lru_cache(maxsize=1024)
def certified_terms(shape: BlockShape) -> BlockTerms:
    grid = block_grid(shape)
    directions = moves(shape.unit_rows)
    asked, mirrored = up_to_mirror(shape, directions)
    order = [asked.index(mirrored.get(d, d)) for d in directions]
    if shape.full:
        exact, suprema = _family_suprema(shape, asked)
    else:
        exact = few_counts(grid, shape.rows)
        suprema = enumerated_suprema(grid, shape.rows, asked) if exact else bounded_suprema(grid, shape, asked)
        suprema = np.column_stack([suprema, [_mixed_pure(grid, shape, d) for d in asked]])
    rows = np.stack([figures_of(grid, shape, d, suprema[i]) for i, d in enumerate(asked)])[order]
    if not (rows >= 0).all() or not np.isfinite(rows).all():
        raise NumericalFailure("the cost of a block came out undefined")
    return BlockTerms(rows, exact, grid.size, shape.unit_rows, None, shape.full)


def range_terms(shape: BlockShape) -> BlockTerms:
    """Bounded range alone, without a grid: a row has range τ·ln((1−ω)/ω), a swap twice that; pure ρ and min(ρ, α·ρ²/8)."""
    odds = shape.temperature * math.log((1 - shape.trim) / shape.trim) * (1 + _RELATIVE)
    directions = moves(shape.unit_rows)
    rows = np.stack([range_figures(odds * (abs(p) + abs(q))) for p, q in directions])
    return BlockTerms(rows, exact=False, grid_points=0, unit_rows=shape.unit_rows)


def up_to_mirror(
    shape: BlockShape, directions: Sequence[Direction]
) -> tuple[list[Direction], dict[Direction, Direction]]:
    """With a symmetric prior θ ↔ 1−θ turns (p, q) into (q, p): half of the moves say it all.

    The grid is symmetric but for the last bits of its points, which the relative margins cover.
    """
    if shape.alpha != shape.beta:
        return list(directions), {}
    return [d for d in directions if d[0] >= d[1]], {d: (d[1], d[0]) for d in directions if d[0] < d[1]}


def figures_of(grid: BlockGrid, shape: BlockShape, d: Direction, suprema: Array) -> Array:
    """From [KL, D_α …, pure], with what rounding may have lost and what the range bounds; any number of rows at once."""
    reach = float(np.ptp(grid.change(d))) * (1 + _RELATIVE)
    figures = np.minimum(suprema[..., :PURE] * (1 + _RELATIVE) + _ABSOLUTE * reach, reach)
    figures = np.minimum(figures, np.concatenate([[1.0], _ORDERS]) * reach**2 / 8)
    unmixed = min(reach, _posterior_pure(grid, shape.rows, d) + _RELATIVE * reach)
    rows = np.empty((*suprema.shape[:-1], COLUMNS))
    rows[..., PURE], rows[..., RANGE] = np.minimum(unmixed, suprema[..., PURE] * (1 + _RELATIVE)), reach
    rows[..., :PURE] = np.minimum(figures, rows[..., PURE : PURE + 1])
    apart = np.sqrt(np.minimum(figures[..., KL], unmixed) / 2)
    rows[..., DISTANCE] = np.minimum(apart, min(np.tanh(reach / 4), -np.expm1(-unmixed)))
    return rows


def _family_suprema(shape: BlockShape, asked: Sequence[Direction]) -> tuple[bool, Array]:
    family = family_cost(shape)
    possible = np.array([d in SWAP or shape.unit_rows > 1 for d in asked])[:, None]
    suprema = np.where(possible, [family.kl_sup, *family.cost.curve, family.cost.pure], 0.0)
    return family.method.startswith("exact"), suprema


def family_figures(shape: BlockShape) -> Array:
    """Of a block that every row falls in, whatever the rows of a person do."""
    family = family_cost(shape)
    row = range_figures(family.range_pure)
    row[KL], row[CURVE], row[PURE] = family.kl_sup, family.drawn.curve, family.drawn.pure
    return row


def family_cost(shape: BlockShape) -> DrawCost:
    """With s + f the number of rows a block is a Bernoulli family: one row a person can only be swapped, several move both, and
    what is charged is the worst of their moves. It falls with n (PRIVACY §2), and is for no larger share of the uniform."""
    if not MIXED_WITH <= UNIFORM_SHARE:
        raise NumericalFailure("the family's pure cost is for a larger share of the uniform table than blocks have")
    model = bernoulli("block", shape.alpha, shape.beta, shape.trim)
    return posterior_draw_cost(model, shape.least_rows, shape.unit_rows, shape.temperature)


def _mixed_pure(grid: BlockGrid, shape: BlockShape, d: Direction) -> float:
    counts = counts_before(grid, shape, d)
    return mixed_pure(grid, counts, grid.change(d), UNIFORM_SHARE, 1 / shape.temperature)


def counts_before(grid: BlockGrid, shape: BlockShape, d: Direction) -> Counts:
    """Which counts may stand before the move d, as (s, f), or (s, s + f) where every row is an observation."""
    removed = max(0, -d[0]), max(0, -d[1])
    most = shape.rows - max(0, sum(d))
    if shape.full:
        ends = (removed[0], least_before(shape, d)), (most - removed[1], most)
        return Counts(grid.success - grid.failure, grid.failure, *ends, None, removed[1])
    return Counts(grid.success, grid.failure, removed, (most - removed[1], most - removed[0]), most)


def _posterior_pure(grid: BlockGrid, n: int, d: Direction) -> float:
    """sup over counts of log E_v e^b − min b without the mixture: at the counts where θ is as large (b rising) or as small as
    can be, posteriors rising with s and falling with f in the likelihood-ratio order; the range where b does neither."""
    b = grid.change(d)
    if d[0] * d[1] > 0:
        return float(np.ptp(b))
    rising = b[-1] > b[0]
    fixed = tuple(max(0, -step) for step in d)
    free = n - max(sum(fixed), sum(fixed) + sum(d))
    s, f = (fixed[0] + free, fixed[1]) if rising else (fixed[0], fixed[1] + free)
    p = tables(grid, np.array([float(s)]), np.array([float(f)]))[0]
    return float(np.log(p @ np.exp(b - b.min())))
