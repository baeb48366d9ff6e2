"""How one row can move the counts of one node: the largest sums of figures along the paths of its old and its new level.

Where figures are known for every pair of counts (`BlockTerms.by_pair`), what cannot stand together is left out: a split with
(s, f) has s observations in all below its one side and f below the other, and a row cannot leave a configuration that holds all
rows and enter another that does too. R, A and C are the largest sums of a row removed, added and changed below a split of t:

    R[t] = max over s + f = t of  F(−1, 0 | s, f) + R left[s]  and  F(0, −1 | s, f) + R right[f];   A likewise
    C[t] = max over s + f = t of  F(−1, 1 | s, f) + R left[s] + A right[f],  its mirror image,  C left[s]  and  C right[f]
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
    """Where counts are few: [t, column] of a row removed from a configuration of just t, and added to one; and, of a node
    without parents, [side of the first split that is left, observations on it, column], and changes within a side."""
    groups: "GroupedRows | None" = None


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Where counts are many: [group of the configuration's total, column] of a row removed and of one added."""

    leaving: Array
    entering: Array


def node_terms(splits: Sequence[Split], blocks: Sequence[BlockTerms]) -> NodeTerms:
    """From the leaves up: the best continuation below either side of every split."""
    none = np.zeros(blocks[0].rows.shape[1])
    remove, add, both, changed = ([none] * len(splits) for _ in range(4))

    def below(found: Rows, at: int, side: int) -> Array:
        child = splits[at].below[side]
        return none if child == LEAF else found[child]

    for at in range(len(splits) - 1, -1, -1):
        lost, gained, swap = ([blocks[at].of(d) for d in kind] for kind in (REMOVE, ADD, SWAP))
        remove[at] = np.maximum(*(lost[side] + below(remove, at, side) for side in _SIDES))
        add[at] = np.maximum(*(gained[side] + below(add, at, side) for side in _SIDES))
        both[at] = np.maximum(*(lost[side] + gained[side] + below(both, at, side) for side in _SIDES))
        swaps = (swap[side] + below(remove, at, side) + below(add, at, 1 - side) for side in _SIDES)
        inside = (below(changed, at, side) for side in _SIDES)
        changed[at] = np.maximum.reduce([*swaps, *inside])
    terms = NodeTerms(moved=both[0], moved_changed=remove[0] + add[0], changed=changed[0])
    terms = _told(terms, splits, blocks[0], remove, add)
    pairs = [block.by_pair for block in blocks if block.by_pair is not None]
    return _fitting(splits, pairs, blocks[0].every_row, terms) if len(pairs) == len(blocks) else terms


def _told(terms: NodeTerms, splits: Sequence[Split], first: BlockTerms, remove: Rows, add: Rows) -> NodeTerms:
    """With what is known of the first split by groups of totals, or by successes where every row falls in it."""
    if first.by_group is not None:
        by_side: list[list[Array]] = []
        for kind, found in ((REMOVE, remove), (ADD, add)):
            children = [splits[0].below[side] for side in _SIDES]
            rest = [0.0 if child == LEAF else found[child] for child in children]
            by_side.append([first.by_group[:, DIRECTIONS.index(kind[side])] + rest[side] for side in _SIDES])
        terms = replace(terms, groups=GroupedRows(*(np.maximum(*sides) for sides in by_side)))
    if first.by_successes is not None and len(splits) == 1:
        swaps = [first.by_successes[:, DIRECTIONS.index(d)] for d in SWAP]
        terms = replace(terms, swapped=np.stack([swaps[0], swaps[1][::-1]]))
    return terms


def _fitting(splits: Sequence[Split], pairs: Sequence[Array], root: bool, terms: NodeTerms) -> NodeTerms:
    """With only counts that can stand together; `root`: every row falls in the first split."""
    rows = len(pairs[0]) - 1
    none = np.zeros((rows + 1, pairs[0].shape[-1]))
    remove, add, changed = ([none] * len(splits) for _ in range(3))

    def below(found: Rows, at: int, side: int) -> Array:
        child = splits[at].below[side]
        return none if child == LEAF else found[child]

    swapped = np.zeros((2, *none.shape))
    for at in range(len(splits) - 1, -1, -1):
        remove[at], add[at], changed[at] = (np.zeros_like(none) for _ in range(3))
        for total in [rows] if root and at == 0 else range(rows + 1):
            s = np.arange(total + 1)
            counts = s, total - s
            figures = pairs[at][counts]
            for side in _SIDES:
                here, there = counts[side], counts[1 - side]
                held = here > 0
                lost, gained, swap = (figures[:, DIRECTIONS.index(kind[side])] for kind in (REMOVE, ADD, SWAP))
                gone = (lost + below(remove, at, side)[here])[held]
                swaps = swap + below(remove, at, side)[here] + below(add, at, 1 - side)[there]
                swaps[~held] = 0.0
                remove[at][total] = np.maximum(remove[at][total], gone.max(axis=0, initial=0.0))
                if total < rows:
                    come = (gained + below(add, at, side)[here]).max(axis=0)
                    add[at][total] = np.maximum(add[at][total], come)
                inside = np.maximum(swaps, below(changed, at, side)[here]).max(axis=0)
                changed[at][total] = np.maximum(changed[at][total], inside)
                if root and at == 0:
                    swapped[side][here] = swaps
    if root:
        inside = np.maximum(*(below(changed, 0, side).max(axis=0) for side in _SIDES))
        whole = changed[0].max(axis=0)
        return NodeTerms(whole, whole, whole, swapped=swapped, inside=inside if len(splits) > 1 else None)
    moved = (np.maximum.accumulate(remove[0], axis=0) + np.maximum.accumulate(add[0], axis=0)[::-1]).max(axis=0)
    return NodeTerms(
        np.minimum(terms.moved, moved), moved, changed[0].max(axis=0), remove[0], add[0], groups=terms.groups
    )
