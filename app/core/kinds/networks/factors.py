"""Tables of what one node's part costs, by which of the values it depends on change: what `joint_maximum` adds up."""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.joint_maximum import WIDTH_MAX, Factor
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.one_row import NodeTerms
from app.core.kinds.networks.several_rows import PlacedTerms
from app.core.kinds.networks.shared_sides import SharedSides

Array = NDArray[np.float64]


def node_factor(model: NetworkModel, i: int, terms: NodeTerms | PlacedTerms, sides: SharedSides) -> Factor:
    """Axes: the node and its parents in increasing order, 1 where the value changes, or in how many pairs of rows."""
    own = model.network.parents(i)
    variables = tuple(sorted((i, *own)))
    if isinstance(terms, PlacedTerms):
        return _placed_factor(variables, variables.index(i), terms)
    if i in sides.nodes:
        return Factor(variables, sides.root_table(i))
    mine = variables.index(i)
    if not sides.nodes.keys() & set(own):
        return Factor(variables, changed_or_not(len(variables), mine, terms))
    table = np.empty((*(sides.values(v) for v in variables), *terms.moved.shape))
    for values in np.ndindex(*table.shape[:-1]):
        parents = {v: value for v, value in zip(variables, values, strict=True) if v != i and value}
        if parents:
            table[values] = sides.moved(terms, parents, bool(values[mine]), len(own) == 1)
        else:
            table[values] = terms.changed if values[mine] else 0.0
    return Factor(variables, table)


def changed_or_not(variables: int, mine: int, terms: NodeTerms) -> Array:
    table = np.empty((2,) * variables + terms.moved.shape)
    np.moveaxis(table, mine, 0)[0] = terms.moved
    np.moveaxis(table, mine, 0)[1] = terms.moved_changed
    still = [0] * variables
    table[tuple(still)] = 0.0
    still[mine] = 1
    table[tuple(still)] = terms.changed
    return table


def _placed_factor(variables: tuple[int, ...], mine: int, terms: PlacedTerms) -> Factor:
    """From max to Σ of the parents' changed pairs have another configuration; of the others as many change as node i does."""
    size = len(terms.moving)
    if len(variables) * math.log2(size) > WIDTH_MAX:
        return Factor((), terms.moving.reshape(-1, terms.moving.shape[-1]).max(axis=0))
    table = np.empty((size,) * len(variables) + terms.moving.shape[-1:])
    for changed in np.ndindex(*table.shape[:-1]):
        others = [pairs for place, pairs in enumerate(changed) if place != mine]
        least, most = max(others, default=0), min(sum(others), size - 1)
        rows = [terms.moving[moving, min(changed[mine], size - 1 - moving)] for moving in range(least, most + 1)]
        table[changed] = np.max(rows, axis=0)
    return Factor(variables, table)
