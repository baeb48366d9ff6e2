"""Private-PGM (`mbi`, McKenna, Sheldon and Miklau 2019) on noisy tables: the graphical model nearest to all of them.

`mbi` and its `jax` are not among this project's packages: install them by hand where this comparison is wanted. Mirror descent
with the number of people known, as its authors recommend.
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
ROUNDS = 1_000


def available() -> bool:
    return find_spec("mbi") is not None


def conditional_tables(network: Network, noisy: Array, sd: float, people: int) -> Array:
    """Conditional probabilities, cell by cell, of the model fitted to noisy counts by (node, configuration, level)."""
    import mbi

    names = [node.name for node in network.nodes]
    domain = mbi.Domain(names, [len(node.levels) for node in network.nodes])
    measurements = [
        mbi.LinearMeasurement(noisy[network.cells(i)], (*node.parents, node.name), sd)
        for i, node in enumerate(network.nodes)
    ]
    fitted = mbi.estimation.MirrorDescent().estimate(domain, measurements, known_total=people, iters=ROUNDS)
    found = np.empty(network.cell_count)
    for i, node in enumerate(network.nodes):
        family = fitted.project((*node.parents, node.name))
        table = np.asarray(family.transpose((*node.parents, node.name)).datavector(), dtype=np.float64)
        table = np.maximum(table.reshape(-1, len(node.levels)), 1e-9)
        found[network.cells(i)] = (table / table.sum(axis=1, keepdims=True)).ravel()
    return found
