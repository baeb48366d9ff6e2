"""The sum of one transformed column on its lattice."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.schema import Column
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.grouping.keyed_rows import Keys, aggregated

_WHOLE_MAX = 2**53


class LatticeSum:
    def check(self, request: StatisticRequest, columns: Mapping[str, Column]) -> None:
        column = columns.get(request.column)
        if column is None or column.type == "categorical":
            raise InvalidModel("model.column", "a binary, integer or real column of the dataset")

    def cells(
        self,
        request: StatisticRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> Sequence[str]:
        rule, kind = rules[request.column], columns[request.column].type
        whole = {"binary": dialect.cast(rule.value, "TINYINT"), "integer": rule.value}.get(kind)
        if whole is not None and _is_whole(request):
            return [_whole_steps(whole, request)]
        return [steps_of(rule.number, request, dialect)]

    def width(self, request: StatisticRequest) -> int:
        return 1

    def totals(self, request: StatisticRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
        return aggregated(["coalesce(sum(v0), 0)", "count(*)"], table, keys)

    def exact(self, request: StatisticRequest, found: Sequence[tuple[Any, ...]]) -> ExactStatistic:
        total, rows = found[0]
        return ExactStatistic(total=int(total), rows=int(rows))


def _is_whole(request: StatisticRequest) -> bool:
    """Whether steps of the lattice are the whole numbers themselves, each of which a double holds."""
    ends = request.lower, request.upper
    return (
        request.transform == "identity"
        and request.step == 1.0
        and all(end.is_integer() and abs(end) < _WHOLE_MAX for end in map(float, ends))
    )


def _whole_steps(value: str, request: StatisticRequest) -> str:
    """The same as `steps_of` for whole numbers on a lattice of them, without a double: half the time."""
    lower, upper = int(request.lower), int(request.upper)
    between = f"CASE WHEN {value} > {lower} THEN {value} - {lower} ELSE 0 END"
    return f"CASE WHEN {value} < {upper} THEN {between} WHEN {value} IS NULL THEN 0 ELSE {request.steps} END"


def steps_of(number: str, request: StatisticRequest, dialect: Dialect = DUCK) -> str:
    """SQL of ⌊(clip(T(x)) − lower)/step + ½⌋, a whole number from 0 to `steps`; what is no number counts as 0.

    One record at a time in doubles, so no order of rows can change it; only the whole numbers are added up. Clipped by cases and
    not by `least` and `greatest`, which take the engine twice as long: a value between the bounds is compared twice and no more.
    """
    x = number
    anchor = dialect.number(request.anchor)
    value = {
        "identity": x,
        "absolute": f"abs({x} - {anchor})",
        "square": f"({dialect.over_number(dialect.square(f'({x} - {anchor})'), 2.0)})",
        "power": f"pow(greatest({x}, 0), {anchor})",
        "log_ratio": f"ln(greatest({x} / {anchor}, 1e-300))",
    }[request.transform]
    lower, upper = dialect.number(request.lower), dialect.number(request.upper)
    # The engine sorts NaN above every number, and equal to itself.
    clipped = (
        f"CASE WHEN {value} < {upper} THEN CASE WHEN {value} > {lower} THEN {value} ELSE {lower} END "
        f"WHEN {x} IS NULL OR {x} = {dialect.number(math.nan)} THEN {lower} ELSE {upper} END"
    )
    steps = dialect.over_number(f"({clipped} - {lower})", request.step)
    places = dialect.cast(f"floor({steps} + {dialect.number(0.5)})", "BIGINT")
    return f"least({places}, {request.steps})"
