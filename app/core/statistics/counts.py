"""What a network asks of the rows, and the exact counts that come back."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.statistics.sums import RowRequest

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Rows by (configuration of the columns `parents`, level of the column `name`), last parent fastest."""

    name: str
    parents: tuple[str, ...]
    shape: tuple[int, ...]
    """Numbers of levels: of each parent, then the node's own."""


@dataclass(frozen=True, slots=True)
class CountsRequest(RowRequest["ExactCounts"]):
    """How many rows fall in every (node, configuration, level) cell, nodes one after another.

    `levels` names the levels of every column in the order they are counted in. Every row counts once in every node: a
    missing or unknown value has been given a level before counting.
    """

    nodes: tuple[NodeCounts, ...]
    levels: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.levels)

    @property
    def operations(self) -> int:
        """A level for every column, a cell for every node from its own level and its parents'."""
        return len(self.levels) + sum(2 + len(node.parents) for node in self.nodes)

    def of_no_rows(self) -> "ExactCounts":
        return ExactCounts(np.zeros(sum(math.prod(node.shape) for node in self.nodes), dtype=np.int64), 0)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactCounts:
    """Private: whole numbers in the order of the network's cells, and how many rows there were. Does not print them."""

    cells: Counts
    rows: int

    def __repr__(self) -> str:
        return "ExactCounts(private)"
