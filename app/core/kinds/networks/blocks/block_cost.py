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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import UNIFORM_SHARE as MIXED_WITH
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import bounded_suprema, enumerated_suprema, few_counts, swap_figures
from app.core.kinds.networks.blocks.mixed_pure import Counts, mixed_pure
from app.core.privacy.cost import ORDERS
from app.core.privacy.posterior_cost import DrawCost, posterior_draw_cost
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

_RELATIVE, _ABSOLUTE = 1e-9, 1e-11
_ORDERS = np.array(ORDERS)


@lru_cache(maxsize=64)
def moves(unit_rows: int) -> tuple[Direction, ...]:
    """Every change of (s, f) that replacing up to `unit_rows` rows by as many others can make, but none."""
    if unit_rows == 1:
        return DIRECTIONS
    steps = range(-unit_rows, unit_rows + 1)
    return tuple((p, q) for p in steps for q in steps if (p, q) != (0, 0) and abs(p + q) <= unit_rows)


@dataclass(frozen=True, slots=True)
class BlockTerms:
    """`rows[i]` are the figures of `moves(unit_rows)[i]`; `by_total[t]`, where every pair of counts was visited, are those of
    at most t observations before the move: blocks of one node share the rows there are. In a block of `every_row` there
    is nothing to share, and for one row a person `by_success[s]` are the figures at s successes before."""

    rows: Array
    exact: bool
    grid_points: int
    unit_rows: int = 1
    by_total: Array | None = None
    every_row: bool = False
    by_success: Array | None = None

    def of(self, direction: Direction) -> Array:
        row: Array = self.rows[moves(self.unit_rows).index(direction)]
        return row


@lru_cache(maxsize=1024)
def block_terms(shape: BlockShape) -> BlockTerms:
    grid = block_grid(shape)
    directions = moves(shape.unit_rows)
    asked, mirrored = up_to_mirror(shape, directions)
    order = [asked.index(mirrored.get(d, d)) for d in directions]
    by_success = None
    if shape.full:
        exact, suprema = _family_suprema(grid, shape, asked)
        if shape.unit_rows == 1 and few_counts(grid, shape.rows):
            each = swap_figures(grid, shape.rows, SWAP)
            by_success = np.zeros((shape.rows + 1, len(directions), COLUMNS))
            for i, d in enumerate(SWAP):
                by_success[:, directions.index(d)] = _figures(grid, shape, d, each[:, i])
    elif few_counts(grid, shape.rows):
        exact, suprema = True, enumerated_suprema(grid, shape.rows, asked)
    else:
        pure = [_mixed_pure(grid, shape, d) for d in asked]
        exact, suprema = False, np.column_stack([bounded_suprema(grid, shape, asked), pure])[None]
    found = np.stack([_figures(grid, shape, d, suprema[:, i]) for i, d in enumerate(asked)], axis=1)[:, order]
    if not (found >= 0).all() or not np.isfinite(found).all():
        raise NumericalFailure("the cost of a block came out undefined")
    by_total = found if len(found) > 1 else None
    return BlockTerms(found[-1], exact, grid.size, shape.unit_rows, by_total, shape.full, by_success)


def range_terms(shape: BlockShape) -> BlockTerms:
    """Bounded range alone, without a grid: a row has range τ·ln((1−ω)/ω), a swap twice that; pure ρ and min(ρ, α·ρ²/8)."""
    odds = shape.temperature * math.log((1 - shape.trim) / shape.trim) * (1 + _RELATIVE)
    directions = moves(shape.unit_rows)
    rows = np.stack([range_figures(odds * (abs(p) + abs(q))) for p, q in directions])
    return BlockTerms(rows, exact=False, grid_points=0, unit_rows=shape.unit_rows)


def range_figures(reach: float) -> Array:
    """Of any mechanism whose log-ratio between neighbours has this range."""
    row = np.empty(COLUMNS)
    row[KL], row[CURVE] = min(reach, reach**2 / 8), np.minimum(reach, _ORDERS * reach**2 / 8)
    row[PURE], row[RANGE], row[DISTANCE] = reach, reach, math.tanh(reach / 4)
    return row


def up_to_mirror(
    shape: BlockShape, directions: Sequence[Direction]
) -> tuple[list[Direction], dict[Direction, Direction]]:
    """With a symmetric prior θ ↔ 1−θ turns (p, q) into (q, p): half of the moves say it all.

    The grid is symmetric but for the last bits of its points, which the relative margins cover.
    """
    if shape.alpha != shape.beta:
        return list(directions), {}
    return [d for d in directions if d[0] >= d[1]], {d: (d[1], d[0]) for d in directions if d[0] < d[1]}


def _figures(grid: BlockGrid, shape: BlockShape, d: Direction, suprema: Array) -> Array:
    """From [t, KL, D_α …, pure], with what rounding may have lost and what the range bounds."""
    reach = float(np.ptp(grid.change(d))) * (1 + _RELATIVE)
    figures = np.minimum(suprema[:, :PURE] * (1 + _RELATIVE) + _ABSOLUTE * reach, reach)
    figures = np.minimum(figures, np.concatenate([[1.0], _ORDERS]) * reach**2 / 8)
    unmixed = min(reach, _posterior_pure(grid, shape.rows, d) + _RELATIVE * reach)
    pure = np.minimum(unmixed, suprema[:, PURE] * (1 + _RELATIVE) + _ABSOLUTE * reach)
    rows = np.empty((len(suprema), COLUMNS))
    rows[:, :PURE] = np.minimum(figures, pure[:, None])
    rows[:, PURE], rows[:, RANGE] = pure, reach
    kl = np.minimum(figures[:, KL], unmixed)
    rows[:, DISTANCE] = np.minimum(np.sqrt(kl / 2), min(np.tanh(reach / 4), -np.expm1(-unmixed)))
    return rows


def _family_suprema(grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction]) -> tuple[bool, Array]:
    family = _family(shape)
    few = few_counts(grid, shape.rows)
    suprema = np.zeros((1, len(asked), PURE + 1))
    for i, d in enumerate(asked):
        if d in SWAP or shape.unit_rows > 1:
            pure = min(family.cost.pure, _mixed_pure(grid, shape, d)) if few else family.cost.pure
            suprema[0, i] = [family.kl_sup, *family.cost.curve, pure]
    return family.method.startswith("exact"), suprema


def family_figures(shape: BlockShape) -> Array:
    """Of a block that every row falls in, whatever the rows of a person do."""
    family = _family(shape)
    row = range_figures(family.range_pure)
    row[KL], row[CURVE], row[PURE] = family.kl_sup, family.cost.curve, family.cost.pure
    return row


def _family(shape: BlockShape) -> DrawCost:
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
        # The others have a row each, this person those removed, and one that stays where none is removed or none is added.
        stays = int(max(d) <= 0 or min(d) >= 0)
        ends = (removed[0], shape.least_rows - 1 + sum(removed) + stays), (most - removed[1], most)
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
