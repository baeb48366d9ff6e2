"""The statistic of a network: how many rows fall in every cell of its tables, held to what the analysis covers."""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import Network
from app.core.statistics.counts import Counts, CountsRequest, ExactCounts, NodeCounts
from app.core.statistics.groups import ExactGroups


def counts_request(network: Network) -> CountsRequest:
    nodes = tuple(NodeCounts(node.name, node.parents, network.shape(i)) for i, node in enumerate(network.nodes))
    return CountsRequest(nodes, tuple((node.name, node.levels) for node in network.nodes))


def counts_of(statistic: ExactCounts | ExactGroups) -> ExactCounts:
    """Those of the rows that meet a private condition come as the one group there is."""
    found: ExactCounts = statistic.parts[0] if isinstance(statistic, ExactGroups) else statistic
    return found


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
