"""What one draw from a network's posterior costs, at the level of a whole record.

Neighbours replace one person's record. With c_i whether the value of node i changes, node i's part is

  a parent changed      the old observation is removed along its whole path in one configuration and the new one added along
                        its path in another; both at the same level where c_i = 0
  no parent, c_i = 1    the shared part of both paths keeps its counts, a swap at the fork, removed and added below it
  nothing changed       nothing

Blocks are independent given the data, so divergences of a pair of datasets add over blocks exactly; the cost of a node
is the largest sum over pairs of levels, and the cost of a record the largest sum over nodes over all c, found by
`joint_maximum` (PRIVACY §4 adds the nodes' largest, which is more: a child swaps only while its parents stay).

Several rows a person: if as many rows come as go, pair them up in any way, and c_i says in how many pairs node i differs; what
each node's rows can do then is in `several_rows.py`. If their numbers differ, the largest of every node are added.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import family_figures, range_terms
from app.core.kinds.networks.blocks.block_grid import BlockShape
from app.core.kinds.networks.blocks.block_terms import (
    CURVE,
    KL,
    PURE,
    RANGE,
    BlockTerms,
    range_figures,
)
from app.core.kinds.networks.blocks.drawn_cost import block_terms, bracketing_terms
from app.core.kinds.networks.blocks.joint_maximum import joint_maximum
from app.core.kinds.networks.enumerated import enumerated_figures, few_neighbours
from app.core.kinds.networks.factors import node_factor
from app.core.kinds.networks.grouped_totals import grouped_factors
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.one_row import NodeTerms, node_terms
from app.core.kinds.networks.several_rows import (
    CHARGED_ROWS_MAX,
    SHARED_ROWS_MAX,
    UNIT_ROWS_PLACED_MAX,
    PlacedTerms,
    placed_rows,
)
from app.core.kinds.networks.shapes import (
    certified_shapes,
    detailed_shapes,
    grouped_shapes,
    largest_grid,
    node_shapes,
    touched_blocks,
)
from app.core.kinds.networks.shared_sides import FINE_GROUPS, GROUPS, NO_SIDES, shared_sides
from app.core.kinds.networks.splits import deepest
from app.core.privacy.cost import Cost

Array = NDArray[np.float64]

_ROUNDING = 1e-12


Terms = NodeTerms | PlacedTerms


@dataclass(frozen=True, slots=True)
class RecordCost:
    """One draw. `cost` is charged; `attribute` is the figure for one changed attribute, shown under that name only.

    `range_pure` bounds how far a log-likelihood ratio of two records can vary; `touched` blocks at most differ between
    neighbours. `exact`: every pair of counts was visited and every set of changed nodes.
    """

    cost: Cost
    attribute: Cost
    kl_sup: float
    range_pure: float
    touched: int
    exact: bool
    grid_points: int


@lru_cache(maxsize=256)
def record_cost(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> RecordCost:
    """Cached by the public numbers it is a function of. Without the slack of a sampler."""
    rows = people * unit_rows
    terms: Sequence[Terms]
    if unit_rows > UNIT_ROWS_PLACED_MAX:
        exact_blocks = False
        terms = [_ranged_node(model, i, people, unit_rows, temperature) for i in range(len(model.network.nodes))]
    else:
        told = grouped_shapes(model, rows, unit_rows, temperature)
        known = terms_of_shapes(
            detailed_shapes(model, people, unit_rows, temperature), lambda shape: block_terms(shape, shape in told)
        )
        exact_blocks = all(block.exact for block in known.values())
        terms = all_node_terms(model, rows, unit_rows, temperature, known.__getitem__, CHARGED_ROWS_MAX)
    figures, single, exact = joined_figures(model, terms, rows)
    figures = lowered(
        figures,
        enumerated_figures(model, people, unit_rows, lambda i: node_shapes(model, i, rows, unit_rows, temperature)),
    )
    return RecordCost(
        cost=_cost(figures),
        attribute=_cost(single),
        kl_sup=float(figures[KL]),
        range_pure=float(figures[RANGE]),
        touched=touched_blocks(model, unit_rows),
        exact=exact and exact_blocks,
        grid_points=largest_grid(model, people, unit_rows, temperature),
    )


@lru_cache(maxsize=256)
def record_brackets(model: NetworkModel, people: int, unit_rows: int, temperature: float) -> tuple[Cost, Cost]:
    """(no less, no more) than `record_cost` charges, much sooner: whether a setting fits is mostly plain from these."""
    if unit_rows > UNIT_ROWS_PLACED_MAX or few_neighbours(model, people, unit_rows):
        charged = record_cost(model, people, unit_rows, temperature).cost
        return charged, charged
    rows = people * unit_rows
    told = grouped_shapes(model, rows, unit_rows, temperature)
    shapes = detailed_shapes(model, people, unit_rows, temperature)
    sides = []
    for side in (0, 1):
        known = terms_of_shapes(shapes, partial(_bracket, told, side))
        terms = all_node_terms(model, rows, unit_rows, temperature, known.__getitem__, CHARGED_ROWS_MAX)
        sides.append(_cost(joined_figures(model, terms, rows)[0]))
    return sides[0], sides[1]


def _bracket(told: Set[BlockShape], side: int, shape: BlockShape) -> BlockTerms:
    return bracketing_terms(shape, shape in told)[side]


def joined_figures(model: NetworkModel, terms: Sequence[Terms], rows: int) -> tuple[Array, Array, bool]:
    """As `charged_figures`, lowered by what two configurations that share all rows rule out."""
    figures, single, exact = charged_figures(model, terms)
    grouped = grouped_factors(model, terms, rows)
    if grouped is not None:
        figures = np.minimum(figures, joint_maximum(grouped).values * (1 + _ROUNDING))
    return figures, single, exact


def _cost(figures: Array) -> Cost:
    return Cost(float(figures[PURE]), tuple(figures[CURVE].tolist()))


def all_node_terms(
    model: NetworkModel,
    rows: int,
    unit_rows: int,
    temperature: float,
    figures_of: Callable[[BlockShape], BlockTerms],
    shared_rows_max: int = SHARED_ROWS_MAX,
) -> list[Terms]:
    """Of every node, from the figures of its blocks, whatever they are figures of; nodes alike are worked out once."""
    found: dict[object, Terms] = {}
    terms = []
    for i in range(len(model.network.nodes)):
        shapes = node_shapes(model, i, rows, unit_rows, temperature)
        splits, configurations = model.node_splits(i), min(model.network.configurations(i), 2 * unit_rows)
        key = splits, tuple(shapes), configurations
        if key not in found:
            blocks = [figures_of(shape) for shape in shapes]
            if unit_rows == 1:
                found[key] = node_terms(splits, blocks)
            else:
                found[key] = placed_rows(splits, blocks, unit_rows, configurations, shared_rows_max)
        terms.append(found[key])
    return terms


def charged_figures(model: NetworkModel, terms: Sequence[Terms]) -> tuple[Array, Array, bool]:
    """The smaller of two bounds that tell fewer and more numbers of rows apart: joined tables have to stay small."""
    found = largest_figures(model, terms), largest_figures(model, terms, FINE_GROUPS)
    return np.minimum(found[0][0], found[1][0]), found[0][1], found[0][2] or found[1][2]


def largest_figures(
    model: NetworkModel, terms: Sequence[Terms], groups: Mapping[int, int] = GROUPS
) -> tuple[Array, Array, bool]:
    """(of a whole record, of one attribute of it, whether every set of changed nodes was visited)."""
    sides = shared_sides(model, terms, groups)
    factors = [node_factor(model, i, terms[i], sides) for i in range(len(terms))]
    largest = joint_maximum(factors)
    figures = np.maximum(largest.values, _uneven(terms))
    single = np.max([_one_attribute(model, i, terms) for i in range(len(terms))], axis=0)
    return figures * (1 + _ROUNDING), single * (1 + _ROUNDING), largest.exact


def lowered(figures: Array, enumerated: Array | None) -> Array:
    """By what all neighbours cost one by one, where that is known."""
    if enumerated is None:
        return figures
    found = figures.copy()
    found[: PURE + 1] = np.minimum(figures[: PURE + 1], enumerated * (1 + _ROUNDING))
    return found


def _uneven(terms: Sequence[Terms]) -> Array:
    """More rows after than before, or fewer: every node by itself."""
    placed = [term.uneven for term in terms if isinstance(term, PlacedTerms)]
    if not placed:
        return np.zeros(1)
    total = np.sum(placed, axis=0)
    pairs = [(m, n) for m in range(1, len(total)) for n in range(1, len(total)) if m != n]
    return np.asarray(np.max([total[pair] for pair in pairs], axis=0))


def _ranged_node(model: NetworkModel, i: int, people: int, unit_rows: int, temperature: float) -> NodeTerms:
    """So many rows that their placements are not visited: k times the range of one record's part bounds the range of all of
    them together. The first split of a node without parents is the one-parameter family, which knows about k rows."""
    odds = temperature * math.log((1 - model.trim) / model.trim)
    reach = 2 * unit_rows * odds * (1 + _ROUNDING)
    deep = deepest(model.node_splits(i))
    if model.network.nodes[i].parents:
        row = range_figures(reach * deep)
    else:
        first = node_shapes(model, i, people * unit_rows, unit_rows, temperature)[0]
        row = np.minimum(family_figures(first), range_figures(reach)) + range_figures(reach * (deep - 1))
    return NodeTerms(row, row, row)


@lru_cache(maxsize=256)
def range_units(model: NetworkModel) -> int:
    """The pure cost of one draw from many rows in units of τ·ln((1−ω)/ω): a removal and an addition count 1, a swap 2.

    2⌈log₂k⌉ for a node of k levels under parents as a tree, 2(k−1) as a chain.
    """
    factors = []
    for i in range(len(model.network.nodes)):
        moves = 2.0 * deepest(model.node_splits(i))
        factors.append(
            node_factor(model, i, NodeTerms(np.full(1, moves), np.full(1, moves), np.full(1, moves)), NO_SIDES)
        )
    return round(float(joint_maximum(factors).values[0]))


def terms_of_shapes(
    shapes: list[BlockShape], certified_by: Callable[[BlockShape], BlockTerms] = block_terms
) -> dict[BlockShape, BlockTerms]:
    certified = certified_shapes(shapes)
    return {
        shape: certified_by(shape) if place < certified else range_terms(shape) for place, shape in enumerate(shapes)
    }


def _one_attribute(model: NetworkModel, i: int, terms: Sequence[Terms]) -> Array:
    """Only node i's value changes: its children's observations move to another configuration."""
    children = [child for child in range(len(terms)) if i in model.network.parents(child)]
    moved = (_moved(terms[child]) for child in children)
    own = terms[i]
    changed = own.moving[0, -1] if isinstance(own, PlacedTerms) else own.changed
    return changed + sum(moved, np.zeros_like(changed))


def _moved(terms: Terms) -> Array:
    return np.asarray(terms.moving[:, 0].max(axis=0)) if isinstance(terms, PlacedTerms) else terms.moved
