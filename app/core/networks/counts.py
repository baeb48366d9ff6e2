"""What a network asks of the rows, and the exact counts that come back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.networks.structure import Network

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Rows by (configuration of the columns `parents`, level of the column `name`), last parent fastest."""

    name: str
    parents: tuple[str, ...]
    shape: tuple[int, ...]
    """Numbers of levels: of each parent, then the node's own."""


@dataclass(frozen=True, slots=True)
class CountsRequest:
    """How many rows fall in every (node, configuration, level) cell, nodes one after another.

    `levels` names the levels of every column in the order they are counted in. Every row counts once in every node: a
    missing or unknown value has been given a level before counting.
    """

    nodes: tuple[NodeCounts, ...]
    levels: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.levels)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactCounts:
    """Private: whole numbers in the order of the network's cells, and how many rows there were. Does not print them."""

    cells: Counts
    rows: int

    def __repr__(self) -> str:
        return "ExactCounts(private)"


def counts_request(network: Network) -> CountsRequest:
    nodes = tuple(NodeCounts(node.name, node.parents, network.shape(i)) for i, node in enumerate(network.nodes))
    return CountsRequest(nodes, tuple((node.name, node.levels) for node in network.nodes))


def clamped_counts(network: Network, counts: ExactCounts, rows_max: int) -> Counts:
    """Only counts the analysis covers reach a sampler, whatever a source returns: each from 0 to `rows_max`."""
    cells = np.asarray(counts.cells, dtype=np.int64)
    if cells.shape != (network.cell_count,):
        raise ValueError("one count a cell of the network")
    return np.clip(cells, 0, rows_max)


def count_records(network: Network, records: NDArray[np.int64]) -> ExactCounts:
    """From rows of level indices, one column a node in the network's order: for synthetic data."""
    cells = np.zeros(network.cell_count, dtype=np.int64)
    for i in range(len(network.nodes)):
        shape = network.shape(i)
        place = np.ravel_multi_index((*(records[:, p] for p in network.parents(i)), records[:, i]), shape)
        cells[network.cells(i)] = np.bincount(place, minlength=int(np.prod(shape)))
    return ExactCounts(cells, len(records))
