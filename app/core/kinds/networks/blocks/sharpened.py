"""What a block costs when drawn by the score of `map`: weights ∝ exp(g·p_k(v)), p the posterior, mixed with γ of the uniform.

  any n        log-weights of neighbours differ by g·(p_k(v) − p_k(v+d)) up to a constant, of range g·`gap`: the largest rise of a
               point plus the largest fall. A bounded range ρ is pure ρ and D_α ≤ min(ρ, α·ρ²/8), and ranges add over blocks.
               Rise and fall are found by branch and bound (`mixed_pure.py`), or bounded by the largest step Δ of b between
               neighbouring points where tables are log-concave: d/du p_k(v+ud) = p_k·(b_k − E b), and with u = Σ_{j<k} p_j a
               log-concave table has p_k·Σ_{j<k} (k−j)·p_j ≤ u·(u + p_k) ≤ 1 (the geometric one with the same p_k and u has its
               mass furthest out, crossing it once); so p_k·|b_k − E b| ≤ Δ, from one side or the other
  few counts   every pair of tables as they are drawn, mixture included

With ℓ = log P/Q and φ(x) = eˣ − 1 − x: KL = E_P φ(−ℓ), (α−1)·D_α = log(1 + E_P φ((α−1)ℓ) + (α−1)·KL), which loses no digits.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import (
    COLUMNS,
    CURVE,
    DISTANCE,
    KL,
    PURE,
    RANGE,
    BlockTerms,
    Direction,
    block_terms,
    counts_before,
    moves,
)
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import all_counts
from app.core.kinds.networks.blocks.mixed_pure import largest_fall
from app.core.numerics.remainder import phi
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

SHARPENED_WORK_MAX = 100_000
"""Tables times points up to which every pair is visited."""
_LARGE = 30.0
_RELATIVE, _ABSOLUTE = 1e-9, 1e-11


def every_pair_is_visited(shape: BlockShape) -> bool:
    rows, least = shape.rows, shape.least_rows
    places = ((rows + 1) * (rows + 2) - least * (least + 1)) // 2
    return places * block_grid(shape).size * len(moves(shape.unit_rows)) <= SHARPENED_WORK_MAX * len(moves(1))


@lru_cache(maxsize=256)
def gap_terms(shape: BlockShape) -> BlockTerms:
    """One column: the range over points of p_k(v) − p_k(v+d), the largest over counts, for every move."""
    if every_pair_is_visited(shape):
        return _visited(shape, None, _gaps)
    grid = block_grid(shape)
    apart, falls = block_terms(shape), _falls(grid, shape)
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
    return _visited(shape, gain, _losses)


@lru_cache(maxsize=256)
def sharpened_terms(shape: BlockShape, gain: float) -> BlockTerms:
    """All columns, where every pair is visited."""
    return _visited(shape, gain, _figures)


def _visited(shape: BlockShape, gain: float | None, figures: Callable[[Array, Array], Array]) -> BlockTerms:
    """`figures` of all tables before and after every move, by the total before: the posterior's, or those drawn with a gain."""
    grid = block_grid(shape)
    pairs = all_counts(shape.rows)
    pairs = pairs[pairs.sum(axis=1) >= shape.least_rows]
    drawn = tables(grid, pairs[:, 0], pairs[:, 1])
    if gain is not None:
        drawn = np.exp(gain * (drawn - drawn.max(axis=1, keepdims=True)))
        drawn = (1 - UNIFORM_SHARE) * drawn / drawn.sum(axis=1, keepdims=True) + UNIFORM_SHARE / grid.size
    place = {(s, f): i for i, (s, f) in enumerate(pairs.astype(np.int64).tolist())}
    directions = moves(shape.unit_rows)
    best = np.zeros((shape.rows + 1, len(directions), figures(drawn[:1], drawn[:1]).shape[1]))
    by_success = np.zeros_like(best)
    for i, d in enumerate(directions):
        after = [
            (s + f, at, place[s + d[0], f + d[1]]) for (s, f), at in place.items() if (s + d[0], f + d[1]) in place
        ]
        if after:
            totals, first, second = np.array(after, dtype=np.int64).T
            found = figures(drawn[first], drawn[second])
            np.maximum.at(best[:, i], totals, found)
            np.maximum.at(by_success[:, i], pairs[first, 0].astype(np.int64), found)
    if shape.full and shape.unit_rows == 1:
        return BlockTerms(by_success.max(axis=0), True, grid.size, 1, None, True, by_success)
    best = np.maximum.accumulate(best, axis=0)
    return BlockTerms(best[-1], True, grid.size, shape.unit_rows, None if shape.full else best, shape.full)


def _gaps(p: Array, q: Array) -> Array:
    return np.asarray(np.ptp(p - q, axis=1)[:, None] * (1 + _RELATIVE))


def _losses(p: Array, q: Array) -> Array:
    return np.asarray(np.log((p / q).max(axis=1))[:, None] * (1 + _RELATIVE))


def _figures(p: Array, q: Array) -> Array:
    loss = np.log(p / q)
    kl = (p * phi(-loss)).sum(axis=1)
    rows = np.zeros((len(p), COLUMNS))
    rows[:, KL] = kl
    rows[:, CURVE] = np.stack([_divergence(p, loss, kl, order) for order in ORDERS], axis=1)
    rows[:, PURE] = rows[:, RANGE] = loss.max(axis=1) * (1 + _RELATIVE)
    pure = rows[:, [PURE]]
    rows[:, :PURE] = np.minimum(rows[:, :PURE] * (1 + _RELATIVE) + _ABSOLUTE * pure, pure)
    return rows


def _divergence(p: Array, loss: Array, kl: Array, order: float) -> Array:
    power = (order - 1) * loss
    if power.max() < _LARGE:
        return np.asarray(np.log1p((p * phi(power)).sum(axis=1) + (order - 1) * kl) / (order - 1))
    top = power.max(axis=1)
    return np.asarray((top + np.log((p * np.exp(power - top[:, None])).sum(axis=1))) / (order - 1))
