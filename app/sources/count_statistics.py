"""How many rows fall in every (node, configuration, level) cell of tables: those of a network, or one by itself.

Every cell has a number: nodes one after another, within a node mixed radix with the node's own level fastest. A row becomes
the list of its cells, one a node, and one more that every row has; the engine takes the lists apart and counts equal numbers.
So the file is read once, no table of rows is kept, and memory holds one counter a cell.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.core.schema import Column
from app.core.statistics.counts import CountsRequest, ExactCounts, NodeCounts
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.grouping.keyed_rows import BINARY, Keys, aggregated, level_place


class LevelCounts:
    """A cell that is missing or not allowed counts as the first level of its column: every row counts in every node."""

    def check(self, request: CountsRequest, columns: Mapping[str, Column]) -> None:
        for name, levels in request.levels:
            column = columns.get(name)
            if column is None or column.type == "real":
                raise InvalidModel("model", "categorical, binary or integer columns of the dataset")
            if column.type == "binary" and not set(levels) <= set(BINARY):
                raise InvalidModel("model", "false and true as the levels of binary columns")
        sizes = {name: len(levels) for name, levels in request.levels}
        for node in request.nodes:
            if node.shape != tuple(sizes.get(name) for name in (*node.parents, node.name)):
                raise InvalidModel("model", "nodes whose tables have the levels of their columns")

    def cells(
        self,
        request: CountsRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> Sequence[str]:
        """The place of each column's level."""
        return [level_place(columns[name], rules[name], levels, dialect) for name, levels in request.levels]

    def width(self, request: CountsRequest) -> int:
        return len(request.levels)

    def totals(self, request: CountsRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
        places = {name: f"v{place}" for place, name in enumerate(request.columns)}
        numbers, start = [], 0
        for node in request.nodes:
            numbers.append(f"{start} + {_number_in_node(node, places, dialect)}")
            start += math.prod(node.shape)
        listed = f"{dialect.each_of([*numbers, f'{start}'])} AS cell"
        cells = f"(SELECT {', '.join([*keys, listed])} FROM {table})"  # noqa: S608 - whole numbers
        return aggregated(["count(*)"], cells, (*keys, "cell"))

    def exact(self, request: CountsRequest, found: Sequence[tuple[Any, ...]]) -> ExactCounts:
        size = sum(math.prod(node.shape) for node in request.nodes)
        counts = np.zeros(size + 1, dtype=np.int64)
        for cell, count in found:
            counts[cell] = count
        return ExactCounts(counts[:size], int(counts[size]))


def _number_in_node(node: NodeCounts, places: Mapping[str, str], dialect: Dialect) -> str:
    """Σ place·stride, last parent before the node's own level."""
    terms = []
    for axis, name in enumerate((*node.parents, node.name)):
        terms.append(f"{math.prod(node.shape[axis + 1 :])} * {dialect.cast(places[name], 'INTEGER')}")
    return " + ".join(terms)
