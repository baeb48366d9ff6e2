"""The largest cost over all neighbouring datasets of a small network, one by one: what no sum of blocks' suprema can miss.

Others bring any multiset of rows, people − 1 to k·(people − 1) of them, and the person 1 to k before and 1 to k after. Blocks are
independent given the data, so figures of a pair of datasets are sums over the blocks whose counts differ; in each of them only
the counts before and after matter, and every such pair of tables is worked out once. Sets of rows with the same counts in every
block are the same.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_terms import PURE
from app.core.kinds.networks.blocks.visited import drawn_figures
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import path

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Shapes = Callable[[int], list[BlockShape]]
"""Of every split of a node."""

RECORDS_MAX, ROWS_MAX = 16, 60
WORK_MAX = 250_000
"""Pairs of datasets times blocks up to which they are visited; for `map`'s score, which gains most, `SHARPENED` times that."""
SHARPENED = 6
TABLES_WORK_MAX = 1_500_000
"""Pairs of tables times points."""
_CHUNK = 100_000
_SUMS = 2_000_000


def few_neighbours(model: NetworkModel, people: int, unit_rows: int, work_max: int = WORK_MAX) -> bool:
    """Whether all pairs can be visited, from public sizes alone."""
    network = model.network
    if people * unit_rows > ROWS_MAX:
        return False
    records = 1
    for node in network.nodes:
        records *= len(node.levels)
        if records > RECORDS_MAX:
            return False
    blocks = sum(network.configurations(i) * len(model.node_splits(i)) for i in range(len(network.nodes)))
    persons = sum(_multisets(records, size) for size in range(1, unit_rows + 1))
    others = sum(_multisets(records, size) for size in range(people - 1, unit_rows * (people - 1) + 1))
    return persons**2 * others * blocks <= work_max


def enumerated_figures(
    model: NetworkModel, people: int, unit_rows: int, shapes: Shapes, gain: float | None = None
) -> Array | None:
    """[KL, D_α …, D_∞] of the posterior as drawn, or of `map`'s score with that gain; None where pairs are too many."""
    if not few_neighbours(model, people, unit_rows, WORK_MAX if gain is None else WORK_MAX * SHARPENED):
        return None
    others, persons = _datasets(model, people, unit_rows)
    old, new = (side.ravel() for side in np.indices((len(persons), len(persons))))
    old, new = old[old != new], new[old != new]
    blocks = [
        shape
        for i in range(len(model.network.nodes))
        for _ in range(model.network.configurations(i))
        for shape in shapes(i)
    ]
    if any(_kinds(shape, others[:, at], persons[:, at]) > TABLES_WORK_MAX for at, shape in enumerate(blocks)):
        return None
    best: Array = np.zeros(PURE + 1)
    for part in np.array_split(others, max(1, len(others) * len(old) * PURE // _SUMS)):
        total = np.zeros((len(part) * len(old), PURE + 1))
        for at, shape in enumerate(blocks):
            before, after = (part[:, None, at] + persons[None, side, at] for side in (old, new))
            total += _between(shape, before.reshape(-1, 2), after.reshape(-1, 2), gain)
        best = np.maximum(best, total.max(axis=0, initial=0.0))
    return best


def _kinds(shape: BlockShape, others: Whole, persons: Whole) -> int:
    """At most so many pairs of tables times points."""
    held, own = len(np.unique(others, axis=0)), len(np.unique(persons, axis=0))
    return held * own * (own - 1) * block_grid(shape).size


def _multisets(kinds: int, size: int) -> int:
    return comb(kinds + size - 1, size)


@lru_cache(maxsize=16)
def _datasets(model: NetworkModel, people: int, unit_rows: int) -> tuple[Whole, Whole]:
    """[set of rows, block, side]: all counts that others can bring, and that one person can."""
    records = _observations(model)
    others = _totals(records, people - 1, unit_rows * (people - 1))
    return others, _totals(records, 1, unit_rows)


def _observations(model: NetworkModel) -> Whole:
    """[record, block, side]: 1 where a record is a success or a failure. Blocks by node, configuration and split."""
    network = model.network
    found = []
    for record in product(*(range(len(node.levels)) for node in network.nodes)):
        parts = []
        for i in range(len(network.nodes)):
            splits = model.node_splits(i)
            part = np.zeros((network.configurations(i), len(splits), 2), dtype=np.int64)
            place = 0
            for parent, levels in zip(network.parents(i), network.shape(i)[:-1], strict=True):
                place = place * levels + record[parent]
            for split, side in path(splits, record[i]):
                part[place, split, side] = 1
            parts.append(part.reshape(-1, 2))
        found.append(np.concatenate(parts))
    return np.stack(found)


def _totals(records: Whole, least: int, most: int) -> Whole:
    sets = [
        records[list(chosen)].sum(axis=0)
        for size in range(least, most + 1)
        for chosen in combinations_with_replacement(range(len(records)), size)
    ]
    return np.unique(np.stack(sets), axis=0)


def _between(shape: BlockShape, before: Whole, after: Whole, gain: float | None) -> Array:
    """Figures of every pair of counts, each kind of pair worked out once."""
    size = shape.rows + 1
    codes = ((before[:, 0] * size + before[:, 1]) * size + after[:, 0]) * size + after[:, 1]
    kinds, where = np.unique(codes, return_inverse=True)
    pairs = np.stack(np.unravel_index(kinds, (size,) * 4), axis=1)
    moved = np.flatnonzero((pairs[:, :2] != pairs[:, 2:]).any(axis=1))
    figures = np.zeros((len(pairs), PURE + 1))
    for part in np.array_split(moved, max(1, len(moved) * block_grid(shape).size // _CHUNK)):
        if len(part):
            p, q = (_drawn(shape, pairs[part, side : side + 2], gain) for side in (0, 2))
            figures[part] = drawn_figures(p, q)[:, : PURE + 1]
    return np.asarray(figures[where.ravel()])


def _drawn(shape: BlockShape, counts: Whole, gain: float | None) -> Array:
    grid = block_grid(shape)
    drawn = tables(grid, counts[:, 0].astype(np.float64), counts[:, 1].astype(np.float64))
    if gain is not None:
        drawn = np.exp(gain * (drawn - drawn.max(axis=1, keepdims=True)))
        drawn /= drawn.sum(axis=1, keepdims=True)
    return np.asarray((1 - UNIFORM_SHARE) * drawn + UNIFORM_SHARE / grid.size)
