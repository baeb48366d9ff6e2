"""How one row can move the counts of one node: the largest sums of figures along the paths of its old and its new level.

Where figures are known by the number of observations in a block (a first axis t, `BlockTerms.by_total`), blocks of one node
share the rows there are: a row cannot leave a configuration that holds them all and enter another that does too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_terms import ADD, DIRECTIONS, REMOVE, SWAP, BlockTerms
from app.core.kinds.networks.splits import FAILURE, LEAF, SUCCESS, Split

Array = NDArray[np.float64]
Rows = list[Array]

_SIDES = (SUCCESS, FAILURE)


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """Largest sums of figures along paths of one row: `moved` to another configuration at the same level, `moved_changed` at any
    two levels, `changed` within one configuration."""

    moved: Array
    moved_changed: Array
    changed: Array
    leaving: Array | None = None
    entering: Array | None = None
    swapped: Array | None = None
    inside: Array | None = None
    """Where counts are few: [t, column] of a row removed from a configuration of at most t, and added to one; and, of a node
    without parents, [side of the first split that is left, observations on it, column], and changes within a side."""


def node_terms(splits: Sequence[Split], blocks: Sequence[BlockTerms]) -> NodeTerms:
    """From the leaves up: the best continuation below either side of every split.

    All figures have a first axis t, the observations there may be; what is removed and what is added share them.
    """
    length = common_totals(blocks)
    none = np.zeros((length, blocks[0].rows.shape[1]))
    remove, add, both, changed = ([none] * len(splits) for _ in range(4))

    def below(found: Rows, at: int, side: int) -> Array:
        child = splits[at].below[side]
        return none if child == LEAF else found[child]

    for at in range(len(splits) - 1, -1, -1):
        figures = by_totals(blocks[at], length)
        lost, gained, swap = ([figures[:, DIRECTIONS.index(d)] for d in kind] for kind in (REMOVE, ADD, SWAP))
        remove[at] = np.maximum(*(lost[side] + below(remove, at, side) for side in _SIDES))
        add[at] = np.maximum(*(gained[side] + below(add, at, side) for side in _SIDES))
        both[at] = np.maximum(*(lost[side] + gained[side][::-1] + below(both, at, side) for side in _SIDES))
        swaps = (swap[side] + shared(below(remove, at, side), below(add, at, 1 - side)) for side in _SIDES)
        inside = (below(changed, at, side) for side in _SIDES)
        changed[at] = np.maximum.reduce([*swaps, *inside])
    moved_changed = (remove[0] + add[0][::-1]).max(axis=0)
    first = blocks[0].by_success
    if first is None or length not in (1, len(first)) or (len(splits) > 1 and length == 1):
        told = NodeTerms(moved=both[0].max(axis=0), moved_changed=moved_changed, changed=changed[0][-1])
        return replace(told, leaving=remove[0], entering=add[0]) if length > 1 else told
    swapped = np.stack([first[:, DIRECTIONS.index(SWAP[SUCCESS])], first[::-1, DIRECTIONS.index(SWAP[FAILURE])]])
    for side in _SIDES:
        swapped[side] += below(remove, 0, side) + below(add, 0, 1 - side)[::-1]
    inside = np.maximum(*(below(changed, 0, side)[-1] for side in _SIDES))
    whole = np.maximum(swapped[:, 1:].max(axis=(0, 1)), inside)
    return NodeTerms(whole, whole, whole, swapped=swapped, inside=inside if len(splits) > 1 else None)


def shared(first: Array, second: Array) -> Array:
    """[t, …]: the largest sum of two figures whose totals are together at most t."""
    best = first + second[:1]
    for total in range(1, len(second)):
        best[total:] = np.maximum(best[total:], first[: len(first) - total] + second[total])
    return best


def common_totals(blocks: Sequence[BlockTerms]) -> int:
    """How long the first axis is: 1 unless all blocks that rows may miss are known by their totals."""
    lengths = {len(block.by_total) for block in blocks if block.by_total is not None}
    told = all(block.by_total is not None or block.every_row for block in blocks)
    return lengths.pop() if told and len(lengths) == 1 else 1


def by_totals(block: BlockTerms, length: int) -> Array:
    """[t, move, column]."""
    found = block.rows[None] if block.by_total is None or length == 1 else block.by_total
    return np.broadcast_to(found, (length, *block.rows.shape))
