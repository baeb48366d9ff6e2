"""Random networks and samples of them, and the joint law by listing every configuration."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import Network, Node, build_network

Array = NDArray[np.float64]


def random_network(rng: np.random.Generator, nodes: int, fan_in: int, levels: tuple[int, ...] = (2, 3, 4)) -> Network:
    made = []
    for i in range(nodes):
        parents = rng.choice(i, size=min(i, int(rng.integers(0, fan_in + 1))), replace=False) if i else []
        made.append(_node(i, int(rng.choice(levels)), [int(p) for p in parents]))
    return build_network(made)


def clinical_network(seed: int = 247) -> Network:
    """The shape of a monitoring network: 37 nodes, a dozen roots, 2 to 4 levels, up to 4 parents close by.

    The seed gives 500 probabilities, induced width 5 and one piece: with all leaves known every node matters.
    """
    rng = np.random.default_rng(seed)
    roots = {0, 1, 2, 3, 5, 8, 11, 14, 17, 20, 24, 28}
    made: list[Node] = []
    for i in range(37):
        levels = int(rng.choice([2, 3, 4], p=[0.5, 0.35, 0.15]))
        wanted = 0 if i in roots else int(rng.choice([1, 2, 3, 4], p=[0.35, 0.47, 0.1, 0.08]))
        near = np.arange(max(0, i - 9), i)
        parents = rng.choice(near, size=min(wanted, len(near)), replace=False)
        made.append(_node(i, levels, [int(p) for p in parents]))
    return build_network(made)


def _node(i: int, levels: int, parents: list[int]) -> Node:
    return Node(f"v{i}", tuple(f"l{k}" for k in range(levels)), tuple(f"v{p}" for p in parents), (1.0,) * levels)


def leaves(network: Network) -> list[str]:
    inner = {parent for node in network.nodes for parent in node.parents}
    return [node.name for node in network.nodes if node.name not in inner]


def draw_samples(network: Network, samples: int, rng: np.random.Generator) -> Array:
    """(samples, cells): every conditional law uniform on its simplex."""
    cells = np.empty((samples, network.cell_count))
    for i, node in enumerate(network.nodes):
        weights = rng.exponential(size=(samples, network.configurations(i), len(node.levels)))
        cells[:, network.cells(i)] = (weights / weights.sum(axis=2, keepdims=True)).reshape(samples, -1)
    return cells


def every_configuration(network: Network) -> NDArray[np.int64]:
    """(configurations, nodes) of level indices."""
    return np.array(list(product(*(range(len(node.levels)) for node in network.nodes))))


def joint_law(network: Network, cells: Array) -> Array:
    """(configurations, samples), each the product of one cell a node."""
    configurations = every_configuration(network)
    joint = np.ones((len(configurations), len(cells)))
    for i in range(len(network.nodes)):
        axes = (*network.parents(i), i)
        place = np.ravel_multi_index(tuple(configurations[:, v] for v in axes), network.shape(i))
        joint *= cells[:, network.cells(i)].T[place]
    return joint


def agreeing(network: Network, wanted: dict[str, list[str]]) -> NDArray[np.bool_]:
    """Which configurations have every named variable at one of its wanted levels."""
    configurations = every_configuration(network)
    kept = np.ones(len(configurations), dtype=bool)
    for name, levels in wanted.items():
        v = network.index(name)
        kept &= np.isin(configurations[:, v], [network.nodes[v].levels.index(level) for level in levels])
    return kept
