"""What one draw from a network's posterior costs, at the level of a whole record.

Neighbours replace one person's record. With c_i whether the value of node i changes, node i's part is

  a parent changed      the old observation is removed along its whole path in one configuration and the new one added along
                        its path in another; both at the same level where c_i = 0
  no parent, c_i = 1    the shared part of both paths keeps its counts, a swap at the fork, removed and added below it
  nothing changed       nothing

Blocks are independent given the data, so divergences of a pair of datasets add over blocks exactly; the cost of a node
is the largest sum over pairs of levels, and the cost of a record the largest sum over nodes over all c, found by
`joint_maximum` (PRIVACY §4 adds the nodes' largest, which is more: a child swaps only while its parents stay).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import (
    ADD,
    COLUMNS,
    CURVE,
    DISTANCE,
    KL,
    PURE,
    RANGE,
    REMOVE,
    SWAP,
    BlockTerms,
    block_terms,
    range_terms,
)
from app.core.kinds.networks.blocks.block_grid import BlockShape
from app.core.kinds.networks.blocks.joint_maximum import Factor, joint_maximum
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import FAILURE, LEAF, SUCCESS, Split, deepest
from app.core.privacy.cost import ORDERS, Cost

Array = NDArray[np.float64]
Rows = list[Array]

DETAILED_SHAPES_MAX = 48
"""Different blocks whose costs are certified one by one, a tenth of a second each; any more are charged by their range."""
_SIDES = (SUCCESS, FAILURE)
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """Largest sums of figures along paths: `moved` to another configuration at the same level, `moved_changed` at any
    two levels, `changed` within one configuration."""

    moved: Array
    moved_changed: Array
    changed: Array


@dataclass(frozen=True, slots=True)
class RecordCost:
    """One draw. `cost` is charged; `attribute` is the figure for one changed attribute, shown under that name only.

    `range_pure` bounds how far a log-likelihood ratio of two records can vary, `distance` how far in total variation all
    touched blocks together can move; `touched` blocks at most differ between neighbours. `exact`: every pair of counts was
    visited and every set of changed nodes.
    """

    cost: Cost
    attribute: Cost
    kl_sup: float
    range_pure: float
    distance: float
    touched: int
    exact: bool
    grid_points: int


@lru_cache(maxsize=256)
def record_cost(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> RecordCost:
    """Cached by the public numbers it is a function of. Without the slack of a sampler.

    Several rows a person: k times the range of one record bounds the range of all of them together, whether they are
    replaced, added or removed, so the pure cost is k·r and the curve min(k·r, α·(k·r)²/8); nothing finer is claimed.
    """
    rows = people * unit_rows
    known = terms_of_shapes(block_shapes(model, rows, unit_rows, temperature))
    terms = [
        node_terms(
            model.node_splits(i), [known[shape] for shape in node_shapes(model, i, rows, unit_rows, temperature)]
        )
        for i in range(len(model.network.nodes))
    ]
    largest = joint_maximum([_factor(model, i, terms[i]) for i in range(len(terms))])
    figures = largest.values * (1 + _ROUNDING)
    single = np.max([_one_attribute(model, i, terms) for i in range(len(terms))], axis=0) * (1 + _ROUNDING)
    touched = 2 * unit_rows * sum(deepest(model.node_splits(i)) for i in range(len(terms)))
    return RecordCost(
        cost=_cost(figures, unit_rows),
        attribute=_cost(single, unit_rows),
        kl_sup=_kl(figures, unit_rows),
        range_pure=float(figures[RANGE]) * unit_rows,
        distance=float(figures[DISTANCE]) * unit_rows,
        touched=touched,
        exact=unit_rows == 1 and largest.exact and all(block.exact for block in known.values()),
        grid_points=max(block.grid_points for block in known.values()),
    )


@lru_cache(maxsize=256)
def range_units(model: NetworkModel) -> int:
    """The pure cost of one draw from many rows in units of τ·ln((1−ω)/ω): a removal and an addition count 1, a swap 2.

    2⌈log₂k⌉ for a node of k levels under parents as a tree, 2(k−1) as a chain.
    """
    factors = []
    for i in range(len(model.network.nodes)):
        moves = 2.0 * deepest(model.node_splits(i))
        factors.append(_factor(model, i, NodeTerms(*(np.full(1, moves) for _ in range(3)))))
    return round(float(joint_maximum(factors).values[0]))


def block_shapes(model: NetworkModel, rows: int, unit_rows: int, temperature: float) -> list[BlockShape]:
    """The different shapes among all blocks, which are far fewer than the blocks; those of most nodes first."""
    found: dict[BlockShape, int] = {}
    for i in range(len(model.network.nodes)):
        for shape in node_shapes(model, i, rows, unit_rows, temperature):
            found[shape] = found.get(shape, 0) + 1
    return sorted(found, key=lambda shape: -found[shape])


def terms_of_shapes(shapes: list[BlockShape]) -> dict[BlockShape, BlockTerms]:
    return {
        shape: block_terms(shape) if place < DETAILED_SHAPES_MAX else range_terms(shape)
        for place, shape in enumerate(shapes)
    }


def node_shapes(model: NetworkModel, i: int, rows: int, unit_rows: int, temperature: float) -> list[BlockShape]:
    """Of every split of node i. All rows fall in the first split of a node without parents, if their number is public."""
    full = unit_rows == 1 and not model.network.nodes[i].parents
    return [
        BlockShape(*model.split_prior(i, split), model.trim, rows, temperature, full and at == 0)
        for at, split in enumerate(model.node_splits(i))
    ]


def node_terms(splits: Sequence[Split], blocks: Sequence[BlockTerms]) -> NodeTerms:
    """From the leaves up: the best continuation below either side of every split."""
    none = np.zeros(COLUMNS)
    remove, add, both, changed = ([none] * len(splits) for _ in range(4))

    def below(found: Rows, at: int, side: int) -> Array:
        child = splits[at].below[side]
        return none if child == LEAF else found[child]

    for at in range(len(splits) - 1, -1, -1):
        block = blocks[at]
        lost, gained = [block.of(REMOVE[side]) for side in _SIDES], [block.of(ADD[side]) for side in _SIDES]
        remove[at] = np.maximum(*(lost[side] + below(remove, at, side) for side in _SIDES))
        add[at] = np.maximum(*(gained[side] + below(add, at, side) for side in _SIDES))
        both[at] = np.maximum(*(lost[side] + gained[side] + below(both, at, side) for side in _SIDES))
        swaps = (block.of(SWAP[side]) + below(remove, at, side) + below(add, at, 1 - side) for side in _SIDES)
        inside = (below(changed, at, side) for side in _SIDES)
        changed[at] = np.maximum.reduce([*swaps, *inside])
    return NodeTerms(moved=both[0], moved_changed=remove[0] + add[0], changed=changed[0])


def _factor(model: NetworkModel, i: int, terms: NodeTerms) -> Factor:
    """Axes: the node and its parents in increasing order, 1 where the value changes."""
    own = model.network.parents(i)
    variables = tuple(sorted((i, *own)))
    table = np.empty((2,) * len(variables) + terms.moved.shape)
    mine = variables.index(i)
    np.moveaxis(table, mine, 0)[0] = terms.moved
    np.moveaxis(table, mine, 0)[1] = terms.moved_changed
    still = [0] * len(variables)
    table[tuple(still)] = 0.0
    still[mine] = 1
    table[tuple(still)] = terms.changed
    return Factor(variables, table)


def _one_attribute(model: NetworkModel, i: int, terms: list[NodeTerms]) -> Array:
    """Only node i's value changes: its children's observations move to another configuration."""
    children = (child for child in range(len(terms)) if i in model.network.parents(child))
    return terms[i].changed + sum((terms[child].moved for child in children), np.zeros(COLUMNS))


def _cost(figures: Array, unit_rows: int) -> Cost:
    if unit_rows == 1:
        return Cost(float(figures[PURE]), tuple(figures[CURVE].tolist()))
    reach = float(figures[RANGE]) * unit_rows
    return Cost(reach, tuple(min(reach, order * reach**2 / 8) for order in ORDERS))


def _kl(figures: Array, unit_rows: int) -> float:
    reach = float(figures[RANGE]) * unit_rows
    return min(reach, reach**2 / 8) if unit_rows > 1 else float(figures[KL])
