"""Any statistic once a group: one statement, one pass over the rows, whatever the number of groups.

The place of a row's group is one more cell of it, and one more key of the statement. A group without rows is not among what
is found: it has the statistic of no rows. Rows that are in no group, because a condition does not hold, are read like the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.schema import Column
from app.core.statistics.groups import ExactGroups, GroupedRequest
from app.errors import InvalidModel
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.grouping.keyed_rows import Keys, level_place
from app.sources.row_sql import filter_sql

NO_GROUP = -1


class OncePerGroup:
    """`find` is the statistic of what a request is of, which may be by groups itself."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self._find = find

    def check(self, request: GroupedRequest, columns: Mapping[str, Column]) -> None:
        for each in request.by:
            column = columns.get(each.name)
            if column is None or column.type == "real":
                raise InvalidModel("by", "categorical, binary or integer columns of the dataset")
        self._find(request.of).check(request.of, columns)

    def cells(
        self,
        request: GroupedRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> Sequence[str]:
        """Those of the statistic, then the group's place, the last column fastest."""
        place = "0"
        for each in request.by:
            level = level_place(columns[each.name], rules[each.name], each.levels, dialect)
            place = f"({place} * {len(each.levels)} + {dialect.cast(level, 'INTEGER')})"
        held = [f"{rules[name].value} IS NOT NULL" for name in request.present]
        if request.where is not None:
            held.append(filter_sql(request.where, rules, dialect))
        if held:
            place = f"CASE WHEN {' AND '.join(held)} THEN {place} ELSE {NO_GROUP} END"
        group = dialect.cast(f"({place})", "INTEGER")
        return [*self._find(request.of).cells(request.of, columns, rules, dialect), group]

    def width(self, request: GroupedRequest) -> int:
        return int(self._find(request.of).width(request.of)) + 1

    def totals(self, request: GroupedRequest, table: str, keys: Keys = (), dialect: Dialect = DUCK) -> str:
        statistic = self._find(request.of)
        return str(statistic.totals(request.of, table, (*keys, f"v{statistic.width(request.of)}"), dialect))

    def exact(self, request: GroupedRequest, found: Sequence[tuple[Any, ...]]) -> ExactGroups:
        rows: dict[int, list[tuple[Any, ...]]] = {}
        for group, *rest in found:
            rows.setdefault(int(group), []).append(tuple(rest))
        statistic = self._find(request.of)
        return ExactGroups(
            tuple(
                statistic.exact(request.of, rows[group]) if group in rows else request.of.of_no_rows()
                for group in range(request.size)
            )
        )
