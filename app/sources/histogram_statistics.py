"""How many rows fall in each bin of one column's lattice.

One row of counts comes back, a conditional count a bin: the statement and the size of its answer do not depend on the rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.core.schema import Column
from app.core.statistics.histograms import ExactHistogram, HistogramRequest
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.grouping.keyed_rows import Keys, aggregated
from app.sources.sum_statistics import LatticeSum


class BinCounts:
    """Cells and what is allowed are those of the sum."""

    def check(self, request: HistogramRequest, columns: Mapping[str, Column]) -> None:
        LatticeSum().check(request.of, columns)

    def cells(
        self,
        request: HistogramRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> Sequence[str]:
        return LatticeSum().cells(request.of, columns, rules, dialect)

    def width(self, request: HistogramRequest) -> int:
        return 1

    def totals(self, request: HistogramRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
        ends = (*request.firsts[1:], request.of.steps + 1)
        counts = [
            f"count(*) FILTER (WHERE v0 >= {first} AND v0 < {end})"
            for first, end in zip(request.firsts, ends, strict=True)
        ]
        return aggregated(counts, table, keys)

    def exact(self, request: HistogramRequest, found: Sequence[tuple[Any, ...]]) -> ExactHistogram:
        return ExactHistogram(np.array(found[0], dtype=np.int64))
