"""Two configurations share all rows: what that rules out where counts are too many to visit.

The rows of a node whose only parent has two levels fall in two configurations of x and n − x rows, x those at the level that its
row leaves. So the variable of such a parent says not only that its value changes but which level is left and in which group of
numbers x lies: each child's row then leaves a configuration in that group and enters one in the group that mirrors it, and where
the parent has no parents itself its own swap is one from x. The rest is as without (`cost.py:largest_figures`), so that what is
found can only be less.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.drawn_cost import total_groups
from app.core.kinds.networks.blocks.joint_maximum import Factor
from app.core.kinds.networks.factors import changed_or_not
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.one_row import NodeTerms

Array = NDArray[np.float64]

ROWS_MAX = 20_000
"""Beyond, a person's costs at the root are so small that nothing is gained: a child's swap, which needs no change of its
parent, is nearly as dear as leaving one configuration and entering another."""


def sole_parents(model: NetworkModel) -> dict[int, int]:
    """{node: its parent} where that is the only one and has two levels."""
    nodes = model.network.nodes
    own = {i: model.network.parents(i) for i in range(len(nodes))}
    return {i: parents[0] for i, parents in own.items() if len(parents) == 1 and len(nodes[parents[0]].levels) == 2}


def grouped_factors(model: NetworkModel, terms: Sequence[object], rows: int) -> list[Factor] | None:
    """None where no node's figures are known by groups."""
    known = [term for term in terms if isinstance(term, NodeTerms)]
    told = {i: parent for i, parent in sole_parents(model).items() if _groups(terms[i]) is not None}
    if len(known) != len(terms) or not told:
        return None
    ends = total_groups(rows)
    count = {parent: 2 * len(ends) for parent in told.values()}
    return [_factor(model, i, known, count, ends, told) for i in range(len(known))]


def _groups(term: object) -> object:
    return term.groups if isinstance(term, NodeTerms) else None


def _factor(
    model: NetworkModel,
    i: int,
    terms: Sequence[NodeTerms],
    count: dict[int, int],
    ends: NDArray[np.int64],
    told: dict[int, int],
) -> Factor:
    """Axes as in `cost.py`; the value of a grouped variable is 1 + 2·group + side, and a row leaves that side."""
    variables = tuple(sorted((i, *model.network.parents(i))))
    table = changed_or_not(len(variables), variables.index(i), terms[i])
    for axis, variable in enumerate(variables):
        values = np.minimum(np.arange(1 + count.get(variable, 1)), 1)
        table = np.take(table, values, axis=axis)
    if i in told:
        _lower_moves(np.moveaxis(table, variables.index(told[i]), 0), terms[i])
    if i in count and len(variables) == 1 and terms[i].swapped is not None:
        table[1:] = np.minimum(table[1:], _swaps(terms[i], ends))
    return Factor(variables, table)


def _lower_moves(by_parent: Array, term: NodeTerms) -> None:
    """[value of the parent, own value, column], in place."""
    if term.groups is None:
        return
    fitting = np.repeat(term.groups.leaving + term.groups.entering[::-1], 2, axis=0)
    by_parent[1:] = np.minimum(by_parent[1:], fitting[:, None])


def _swaps(term: NodeTerms, ends: NDArray[np.int64]) -> Array:
    """[group and side, column]: the largest over the numbers of a group."""
    starts = np.concatenate([[0], ends[:-1] + 1])
    sides = np.zeros((2, 0, 0)) if term.swapped is None else term.swapped
    by_group = np.stack([np.maximum.reduceat(side, starts, axis=0) for side in sides], axis=1)
    return np.asarray(by_group.reshape(-1, by_group.shape[-1]))
