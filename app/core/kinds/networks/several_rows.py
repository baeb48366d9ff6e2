"""How a person's rows can move the counts of one node, several rows at once: the largest sum of figures over its blocks.

A person has 1 to k rows before and 1 to k after. Every row is an observation in the splits on its level's path under its
configuration, so a split that m rows leave and m' rows enter has m = a + b and m' = a' + b' of them on its two sides, moves by
d = (a' − a, b' − b), and passes (a, a') and (b, b') on to the splits below. Figures of different blocks add, whence

    within[m, m'] = max over a, a' of  F(a' − a, b' − b) + within below[a, a'] + within below[b, b']

F(d) being the supremum over all counts that can stand before d. A row that leaves and enters the same level moves nothing.

k rows for k others, paired in any way: M pairs change configuration, at most S of the others change level. A configuration that
l of the M rows leave and e enter, s of those that stay changing level, costs within[l + s, e + s]; l + e ≤ M, since a row that
changes configuration does not come back to it. `moving[M, S]` is the largest sum over all ways to part Σ l = Σ e = M, Σ s ≤ S
among the configurations: rows all together and rows spread, neither of which is always the worst. Different numbers of rows
before and after: `uneven[m, m']`, parted in any way.

Where figures are known by the number of observations in a block (a first axis t), blocks of one node share the rows there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_terms import BlockTerms, moves
from app.core.kinds.networks.splits import LEAF, Split

Array = NDArray[np.float64]

UNIT_ROWS_PLACED_MAX = 5
"""Rows a person up to which every placement is visited; more are charged by the range of all of them together."""
SHARED_ROWS_MAX = 16
"""Rows in all up to which placements of several rows tell totals apart, where a gain is tried; charges up to more of them."""
CHARGED_ROWS_MAX = 45


@dataclass(frozen=True, slots=True)
class PlacedTerms:
    """`moving[M, S]`, S up to k − M; `uneven[m, m']` for 1 ≤ m ≠ m' ≤ k."""

    moving: Array
    uneven: Array


def placed_rows(
    splits: Sequence[Split],
    blocks: Sequence[BlockTerms],
    unit_rows: int,
    configurations: int,
    shared_rows_max: int = SHARED_ROWS_MAX,
) -> PlacedTerms:
    within = _within(splits, blocks, unit_rows, shared_rows_max)
    columns = within.shape[-1]
    moving = np.zeros((unit_rows + 1, unit_rows + 1, columns))
    for changing in range(unit_rows + 1):
        parted = _parted(within, changing, unit_rows - changing, configurations)
        for still in range(unit_rows - changing + 1):
            moving[changing, still] = parted[-1, changing, changing, : still + 1].max(axis=0)
    spread = within
    for _ in range(configurations - 1):
        spread = _joined(spread, within)
    return PlacedTerms(moving, spread[-1])


def _shared(first: Array, second: Array) -> Array:
    """[t, …]: the largest sum of two figures whose totals are together at most t."""
    best = first + second[:1]
    for total in range(1, len(second)):
        best[total:] = np.maximum(best[total:], first[: len(first) - total] + second[total])
    return best


def _common_totals(blocks: Sequence[BlockTerms]) -> int:
    """How long the first axis is: 1 unless all blocks that rows may miss are known by their totals."""
    lengths = {len(block.by_total) for block in blocks if block.by_total is not None}
    told = all(block.by_total is not None or block.every_row for block in blocks)
    return lengths.pop() if told and len(lengths) == 1 else 1


def _by_totals(block: BlockTerms, length: int) -> Array:
    """[t, move, column]."""
    found = block.rows[None] if block.by_total is None or length == 1 else block.by_total
    return np.broadcast_to(found, (length, *block.rows.shape))


def _within(splits: Sequence[Split], blocks: Sequence[BlockTerms], unit_rows: int, shared_rows_max: int) -> Array:
    """[t, m, m', column] of one configuration, from the leaves up."""
    size, columns = unit_rows + 1, blocks[0].rows.shape[1]
    length = _common_totals(blocks)
    length = length if length - 1 <= shared_rows_max else 1
    nothing = np.zeros((length, size, size, columns))
    found: list[Array] = [nothing] * len(splits)
    for at in range(len(splits) - 1, -1, -1):
        children = splits[at].below
        left, right = (nothing if child == LEAF else found[child] for child in children)
        best = np.zeros((length, size, size, columns))
        table = _by_place(_by_totals(blocks[at], length), unit_rows)
        for a, b in _parts(unit_rows):
            for a_new, b_new in _parts(unit_rows):
                moved = table[:, a_new - a + unit_rows, b_new - b + unit_rows]
                below = (_shared if LEAF not in children else np.add)(left[:, a, a_new], right[:, b, b_new])
                best[:, a + b, a_new + b_new] = np.maximum(best[:, a + b, a_new + b_new], moved + below)
        found[at] = best
    return found[0]


def _parts(unit_rows: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(unit_rows + 1) for b in range(unit_rows + 1 - a)]


def _by_place(rows: Array, unit_rows: int) -> Array:
    """Figures of d at [t, Δs + k, Δf + k]; nothing moved costs nothing."""
    table = np.zeros((len(rows), 2 * unit_rows + 1, 2 * unit_rows + 1, rows.shape[-1]))
    for i, d in enumerate(moves(unit_rows)):
        table[:, d[0] + unit_rows, d[1] + unit_rows] = rows[:, i]
    return table


def _parted(within: Array, changing: int, still: int, configurations: int) -> Array:
    """[t, Σ l, Σ e, Σ s, column] over so many configurations."""
    options = [
        (leave, enter, stay)
        for leave in range(changing + 1)
        for enter in range(changing + 1 - leave)
        for stay in range(still + 1)
    ]
    length = len(within)
    best = np.zeros((length, changing + 1, changing + 1, still + 1, within.shape[-1]))
    for _ in range(configurations):
        known, best = best, np.zeros_like(best)
        for leave, enter, stay in options:
            rest = known[:, : changing + 1 - leave, : changing + 1 - enter, : still + 1 - stay]
            for total in range(length):
                part = best[total:, leave:, enter:, stay:]
                np.maximum(part, rest[: length - total] + within[total, leave + stay, enter + stay], out=part)
    return best


def _joined(first: Array, second: Array) -> Array:
    best = np.zeros_like(first)
    length, size = first.shape[:2]
    for m in range(size):
        for m_new in range(size):
            for total in range(length):
                part = best[total:, m:, m_new:]
                rest = first[: length - total, : size - m, : size - m_new]
                np.maximum(part, rest + second[total, m, m_new], out=part)
    return best
