"""Figures of every pair of tables a block can be drawn from before and after a move, where there are few enough to visit.

Tables are as they are drawn: the posterior, or weights ∝ exp(g·p_k) of `map`'s score, mixed with γ of the uniform one. With
ℓ = log P/Q and φ(x) = eˣ − 1 − x: KL = E_P φ(−ℓ), (α−1)·D_α = log(1 + E_P φ((α−1)ℓ) + (α−1)·KL), which loses no digits.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import GRID_POINTS_MIN
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import all_counts, fits_in_doubles
from app.core.kinds.networks.blocks.block_terms import (
    COLUMNS,
    CURVE,
    KL,
    PURE,
    RANGE,
    BlockTerms,
    Direction,
    moves,
)
from app.core.numerics.remainder import phi
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]
Figures = Callable[[Array, Array], Array]
"""Tables before and after, a row each → figures, a row each."""

WORK_MAX = 150_000
"""Tables times points times moves up to which every pair is visited; with very few rows twenty times that."""
ROWS_MAX = 60
CHARGED_WORK_MAX = 1_200_000
_FEW_ROWS = 12
_LARGE = 30.0
_RELATIVE, _ABSOLUTE = 1e-9, 1e-11


@lru_cache(maxsize=1024)
def every_pair_is_visited(shape: BlockShape) -> bool:
    rows, least = shape.rows, shape.least_rows
    places = ((rows + 1) * (rows + 2) - least * (least + 1)) // 2
    allowed = WORK_MAX * (20 if rows <= _FEW_ROWS else 1)
    tried = places * len(moves(shape.unit_rows))
    if rows > ROWS_MAX or tried * GRID_POINTS_MIN > allowed:
        return False
    grid = block_grid(shape)
    return tried * grid.size <= allowed and fits_in_doubles(grid, rows)


@lru_cache(maxsize=1024)
def every_charged_pair_is_visited(shape: BlockShape) -> bool:
    """For charges, which unlike gains are worked out once, of some more rows: no slower than a search over all counts. Tables are
    mixed with the uniform one, so that weights too small for doubles make no difference."""
    if every_pair_is_visited(shape):
        return True
    rows = shape.rows
    tried = (rows + 1) * (rows + 2) // 2 * len(moves(1))
    if shape.full or shape.unit_rows > 1 or rows > ROWS_MAX or tried * GRID_POINTS_MIN > CHARGED_WORK_MAX:
        return False
    return tried * block_grid(shape).size <= CHARGED_WORK_MAX


def visited_terms(
    shape: BlockShape, figures: Figures, gain: float | None = None, mixed: bool = True, mirror: bool = False
) -> BlockTerms:
    """`figures`, the largest over all counts, by the total before the move, and for one row by the counts. `mirror`: of two moves
    that a symmetric prior turns into each other one is visited."""
    grid = block_grid(shape)
    pairs = all_counts(shape.rows)
    pairs = pairs[pairs.sum(axis=1) >= shape.least_rows]
    drawn = tables(grid, pairs[:, 0], pairs[:, 1])
    if gain is not None:
        drawn = np.exp(gain * (drawn - drawn.max(axis=1, keepdims=True)))
        drawn /= drawn.sum(axis=1, keepdims=True)
    if mixed:
        drawn = (1 - UNIFORM_SHARE) * drawn + UNIFORM_SHARE / grid.size
    whole = pairs.astype(np.int64)
    place = {(s, f): i for i, (s, f) in enumerate(whole.tolist())}
    directions = moves(shape.unit_rows)
    columns = figures(drawn[:1], drawn[:1]).shape[1]
    size = shape.rows + 1
    by_total = np.zeros((size, len(directions), columns))
    by_pair = np.zeros((size, size, len(directions), columns)) if shape.unit_rows == 1 else None
    for i, d in enumerate(directions):
        twin = directions.index((d[1], d[0]))
        if mirror and shape.alpha == shape.beta and twin < i:
            by_total[:, i] = by_total[:, twin]
            if by_pair is not None:
                by_pair[:, :, i] = np.swapaxes(by_pair[:, :, twin], 0, 1)
            continue
        before = whole[_possible(whole, shape, d)]
        chosen = [(place[s, f], place[s + d[0], f + d[1]]) for s, f in before.tolist() if (s + d[0], f + d[1]) in place]
        if chosen:
            first, second = np.array(chosen, dtype=np.int64).T
            found = figures(drawn[first], drawn[second])
            np.maximum.at(by_total[:, i], whole[first].sum(axis=1), found)
            if by_pair is not None:
                by_pair[whole[first, 0], whole[first, 1], i] = found
    by_total = np.maximum.accumulate(by_total, axis=0)
    shared = None if shape.full else by_total
    return BlockTerms(by_total[-1], True, grid.size, shape.unit_rows, shared, shape.full, by_pair)


def _possible(counts: NDArray[np.int64], shape: BlockShape, d: Direction) -> NDArray[np.bool_]:
    """In a full block the others have a row each, and this person those removed."""
    held: NDArray[np.bool_] = counts.sum(axis=1) >= (least_before(shape, d) if shape.full else 0)
    return held


def least_before(shape: BlockShape, d: Direction) -> int:
    """Rows in a full block before d: one of every other person, those removed, and one that stays where none is removed or none
    is added, since this person has a row before and after."""
    stays = int(max(d) <= 0 or min(d) >= 0)
    return shape.least_rows - 1 + max(0, -d[0]) + max(0, -d[1]) + stays


def drawn_figures(p: Array, q: Array) -> Array:
    """All columns but those of the posterior alone."""
    loss = np.log(p / q)
    kl = (p * phi(-loss)).sum(axis=1)
    rows = np.zeros((len(p), COLUMNS))
    rows[:, KL] = kl
    rows[:, CURVE] = np.stack([_divergence(p, loss, kl, order) for order in ORDERS], axis=1)
    rows[:, PURE] = rows[:, RANGE] = loss.max(axis=1) * (1 + _RELATIVE)
    pure = rows[:, [PURE]]
    rows[:, :PURE] = np.minimum(rows[:, :PURE] * (1 + _RELATIVE) + _ABSOLUTE * pure, pure)
    return rows


def pure_figures(p: Array, q: Array) -> Array:
    """One column."""
    return np.asarray(np.log((p / q).max(axis=1))[:, None] * (1 + _RELATIVE))


def gap_figures(p: Array, q: Array) -> Array:
    """One column: how much further the probability of one point rises than that of another."""
    return np.asarray(np.ptp(p - q, axis=1)[:, None] * (1 + _RELATIVE))


def _divergence(p: Array, loss: Array, kl: Array, order: float) -> Array:
    power = (order - 1) * loss
    if power.max() < _LARGE:
        return np.asarray(np.log1p((p * phi(power)).sum(axis=1) + (order - 1) * kl) / (order - 1))
    top = power.max(axis=1)
    return np.asarray((top + np.log((p * np.exp(power - top[:, None])).sum(axis=1))) / (order - 1))
