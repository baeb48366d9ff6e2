"""What a block costs when drawn by the score of `map`: weights ∝ exp(g·p_k(v)), p the posterior, mixed with γ of the uniform.

any n        log-weights of neighbours differ by g·(p_k(v) − p_k(v+d)) up to a constant, of range g·`gap`: the largest rise of a
             point plus the largest fall. A bounded range ρ is pure ρ and D_α ≤ min(ρ, α·ρ²/8), and ranges add over blocks.
             Rise and fall are found by branch and bound (`mixed_pure.py`), or bounded by the largest step Δ of b between
             neighbouring points where tables are log-concave: d/du p_k(v+ud) = p_k·(b_k − E b), and with u = Σ_{j<k} p_j a
             log-concave table has p_k·Σ_{j<k} (k−j)·p_j ≤ u·(u + p_k) ≤ 1 (the geometric one with the same p_k and u has its
             mass furthest out, crossing it once); so p_k·|b_k − E b| ≤ Δ, from one side or the other
one row      a person, more counts: for every move a search over all of them (`sharpened_search.py`), which finds what tables
             of many points owe: far less than their range
few counts   every pair of tables as they are drawn, mixture included (`visited.py`); gains are set by fewer of them than charges,
             and stay as they are
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import certified_terms, counts_before, up_to_mirror
from app.core.kinds.networks.blocks.block_grid import BlockGrid, BlockShape, block_grid
from app.core.kinds.networks.blocks.block_terms import (
    ADD,
    COLUMNS,
    DIRECTIONS,
    DISTANCE,
    PURE,
    RANGE,
    REMOVE,
    SWAP,
    BlockTerms,
    Direction,
    moves,
    range_figures,
)
from app.core.kinds.networks.blocks.drawn_cost import total_groups
from app.core.kinds.networks.blocks.mixed_pure import largest_fall
from app.core.kinds.networks.blocks.quick_figures import quick_figures
from app.core.kinds.networks.blocks.sharpened_search import sharpened_suprema
from app.core.kinds.networks.blocks.visited import (
    drawn_figures,
    every_pair_is_visited,
    gap_figures,
    pure_figures,
    visited_terms,
)

Array = NDArray[np.float64]

_RELATIVE = 1e-9
_DEAREST_FIRST = (*ADD, *SWAP, *REMOVE)


@lru_cache(maxsize=256)
def gap_terms(shape: BlockShape) -> BlockTerms:
    """One column: the range over points of p_k(v) − p_k(v+d), the largest over counts, for every move."""
    if every_pair_is_visited(shape):
        return visited_terms(shape, gap_figures, mixed=False)
    grid = block_grid(shape)
    apart, falls = certified_terms(shape), _falls(grid, shape)
    gaps = [
        min(falls[d] + falls[-d[0], -d[1]], 2 * float(apart.of(d)[DISTANCE])) * (1 + _RELATIVE)
        for d in moves(shape.unit_rows)
    ]
    return BlockTerms(np.array(gaps)[:, None], False, grid.size, shape.unit_rows, None, shape.full)


def _falls(grid: BlockGrid, shape: BlockShape) -> dict[Direction, float]:
    """The most one point's probability falls in every move."""
    bends = min(float(-np.diff(part, 2).max()) for part in (grid.success, grid.failure))
    concave = bends >= 0 and min(shape.alpha, shape.beta) >= 0.5
    falls = {}
    for d in moves(shape.unit_rows):
        b = grid.change(d)
        fall = float(np.abs(np.diff(b)).max()) if concave else 1.0
        if shape.unit_rows == 1 or not concave:
            fall = min(fall, largest_fall(grid, counts_before(grid, shape, d), b, 1 / shape.temperature))
        falls[d] = fall
    return falls


def sharpened_pure(shape: BlockShape, gain: float) -> BlockTerms:
    """One column, where every pair is visited: the pure cost of the tables drawn with this gain."""
    return visited_terms(shape, pure_figures, gain)


@lru_cache(maxsize=64)
def sharpened_terms(shape: BlockShape, gain: float) -> BlockTerms:
    """All columns, every pair visited: one by one where that is done for the gain too, quicker where there are more."""
    if every_pair_is_visited(shape):
        return visited_terms(shape, drawn_figures, gain)
    return visited_terms(shape, quick_figures, gain, mirror=True)


@lru_cache(maxsize=64)
def searched_terms(shape: BlockShape, gain: float, grouped: bool = False) -> BlockTerms:
    """All columns, for one row a person and any counts; none above what the range bounds. `grouped` by totals, or by successes
    in a block that every row falls in."""
    grid, gaps = block_grid(shape), gap_terms(shape)
    ends = total_groups(shape.rows) if grouped else None
    asked, mirrored = (_DEAREST_FIRST, {}) if shape.full else up_to_mirror(shape, _DEAREST_FIRST)
    found: dict[Direction, Array] = {}
    for d in asked:
        if shape.full and d not in SWAP:
            found[d] = np.zeros((1, PURE + 1))
            continue
        known = range_figures(gain * float(gaps.of(d)[0]) * (1 + _RELATIVE))[: PURE + 1]
        worth = np.max([np.zeros(PURE + 1), *(each.max(axis=0) for each in found.values())], axis=0)
        found[d] = sharpened_suprema(grid, shape, d, gain, known, worth, ends)
    rows = np.zeros((1 if ends is None else len(ends), len(DIRECTIONS), COLUMNS))
    for i, d in enumerate(DIRECTIONS):
        rows[:, i, : PURE + 1] = found[mirrored.get(d, d)]
    rows[..., RANGE] = rows[..., PURE]
    terms = BlockTerms(rows.max(axis=0), False, grid.size, every_row=shape.full)
    if ends is None:
        return terms
    if shape.full:
        return replace(terms, by_successes=rows[np.searchsorted(ends, np.arange(shape.rows + 1))])
    return replace(terms, by_group=rows)
