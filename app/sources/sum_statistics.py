"""The sum of one transformed column on its lattice."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.schema import Column
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.engine import double
from app.sources.grouping.keyed_rows import Keys, aggregated


class LatticeSum:
    def check(self, request: StatisticRequest, columns: Mapping[str, Column]) -> None:
        column = columns.get(request.column)
        if column is None or column.type == "categorical":
            raise InvalidModel("model.column", "a binary, integer or real column of the dataset")

    def cells(
        self, request: StatisticRequest, columns: Mapping[str, Column], rules: Mapping[str, CellRule]
    ) -> Sequence[str]:
        return [steps_of(rules[request.column].number, request)]

    def width(self, request: StatisticRequest) -> int:
        return 1

    def totals(self, request: StatisticRequest, table: str, keys: Keys = ()) -> str:
        return aggregated(["coalesce(sum(v0), 0)", "count(*)"], table, keys)

    def exact(self, request: StatisticRequest, found: Sequence[tuple[Any, ...]]) -> ExactStatistic:
        total, rows = found[0]
        return ExactStatistic(total=int(total), rows=int(rows))


def steps_of(number: str, request: StatisticRequest) -> str:
    """SQL of ⌊(clip(T(x)) − lower)/step + ½⌋, a whole number from 0 to `steps`; what is no number counts as 0.

    One record at a time in doubles, so no order of rows can change it; only the whole numbers are added up.
    """
    x = f"nullif({number}, 'nan'::DOUBLE)"  # the engine sorts NaN above every number
    anchor = double(request.anchor)
    value = {
        "identity": x,
        "absolute": f"abs({x} - {anchor})",
        "square": f"(({x} - {anchor}) * ({x} - {anchor}) / 2)",
        "power": f"pow(greatest({x}, 0), {anchor})",
        "log_ratio": f"ln(greatest({x} / {anchor}, 1e-300))",
    }[request.transform]
    lower, upper = double(request.lower), double(request.upper)
    clipped = f"least(greatest({value}, {lower}), {upper})"
    places = f"floor(({clipped} - {lower}) / {double(request.step)} + 0.5)"
    return f"coalesce(least(greatest(TRY_CAST({places} AS BIGINT), 0), {request.steps}), 0)"
