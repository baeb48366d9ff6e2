"""Rows of a network: each takes a point of the belief, and its nodes are drawn in order, parents first."""

import numpy as np

from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.synthetic import Array, Codes, RowLaw, Sketch

CELLS_AT_ONCE = 2**18
"""Probabilities gathered at a time: two megabytes, whatever the levels and rows."""


def _draw(model: NetworkModel, sketch: Sketch) -> list[Array | Codes]:
    network = model.network
    made: list[Codes] = []
    for i, node in enumerate(network.nodes):
        shape = network.shape(i)
        given = np.zeros(sketch.rows, np.int64)
        for parent, levels in zip(network.parents(i), shape, strict=False):
            given = given * levels + made[parent]
        first = network.cells(i).start + given * shape[-1]
        made.append(_levels(sketch, first, shape[-1], sketch.uniforms(f"node {node.name}")))
    return [*made]


def _levels(sketch: Sketch, first: Codes, levels: int, uniform: Array) -> Codes:
    """The level of every row whose probabilities stand from `first` on. What they sum to but for rounding is the whole."""
    found = np.empty(sketch.rows, np.int64)
    step = max(1, CELLS_AT_ONCE // levels)
    for start in range(0, sketch.rows, step):
        part = slice(start, start + step)
        rows = sketch.part(start, start + step)
        below = np.cumsum([rows.parameter(first[part] + level) for level in range(levels)], axis=0)
        found[part] = (below[:-1] <= uniform[part] * below[-1]).sum(axis=0)
    return found


NETWORK_ROWS = RowLaw(
    names=lambda model: tuple(node.name for node in model.network.nodes),
    work=lambda model: sum(len(node.levels) for node in model.network.nodes),
    width=lambda model: model.network.cell_count,
    weights=lambda model, known: (1.0,),
    draw=_draw,
)
