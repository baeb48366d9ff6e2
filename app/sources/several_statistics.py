"""Several statistics of the same rows. Sums under the same keys are one statement: a hundred groups of three families are read
as one is. What needs a statement of its own, like the tables of a network, has one more over the same table of cells.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.schema import Column
from app.core.statistics import ExactSeveral, GroupedRequest, RowRequest, SeveralRequest, StatisticRequest
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.grouping.keyed_rows import aggregated

Found = Sequence[tuple[Any, ...]]


@dataclass(slots=True)
class Statement:
    """`parts` are the places of those it answers. Of sums its rows are keys, then the number of rows, then a sum each."""

    cells: list[str]
    keys: int = 0
    parts: list[int] = field(default_factory=list)
    sums: bool = False

    def sql(self, request: RowRequest[Any], statistic: Any, table: str, dialect: Dialect = DUCK) -> str:
        """`request` and `statistic` are those of the one part, where it is not of sums."""
        if not self.sums:
            return str(statistic.totals(request, table, (), dialect))
        keys = [f"v{place}" for place in range(self.keys)]
        totals = [f"coalesce(sum(v{place}), 0)" for place in range(self.keys, len(self.cells))]
        return aggregated(["count(*)", *totals], table, keys)

    def rows_of(self, part: int, found: Found) -> Found:
        """As the part's own statement would have found them."""
        if not self.sums:
            return found
        place = self.keys + 1 + self.parts.index(part)
        return [(*row[: self.keys], row[place], row[self.keys]) for row in found]


class SideBySide:
    """`find` is the statistic of a part."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self._find = find

    def check(self, request: SeveralRequest, columns: Mapping[str, Column]) -> None:
        for part in request.parts:
            self._find(part).check(part, columns)

    def statements(
        self,
        request: SeveralRequest,
        columns: Mapping[str, Column],
        rules: Mapping[str, CellRule],
        dialect: Dialect = DUCK,
    ) -> list[Statement]:
        found: dict[Any, Statement] = {}
        for place, part in enumerate(request.parts):
            cells = [*self._find(part).cells(part, columns, rules, dialect)]
            if not _is_sum(part):
                found[place] = Statement(cells, parts=[place])
                continue
            value, *keys = cells
            keys.reverse()  # the outermost group comes first in what a statement finds
            shared = found.setdefault(tuple(keys), Statement(keys, len(keys), sums=True))
            shared.cells.append(value)
            shared.parts.append(place)
        return [*found.values()]

    def exact(self, request: SeveralRequest, statements: Sequence[Statement], found: Sequence[Found]) -> ExactSeveral:
        answers: dict[int, Any] = {}
        for statement, rows in zip(statements, found, strict=True):
            for place in statement.parts:
                part = request.parts[place]
                answers[place] = self._find(part).exact(part, statement.rows_of(place, rows))
        return ExactSeveral(tuple(answers[place] for place in range(len(request.parts))))

    def run(
        self,
        request: SeveralRequest,
        statements: Sequence[Statement],
        tables: Sequence[str],
        execute: Callable[[str], Found],
        dialect: Dialect = DUCK,
    ) -> ExactSeveral:
        found = []
        for statement, table in zip(statements, tables, strict=True):
            part = request.parts[statement.parts[0]]
            found.append(execute(statement.sql(part, self._find(part), table, dialect)))
        return self.exact(request, statements, found)


def _is_sum(request: RowRequest[Any]) -> bool:
    return isinstance(request, StatisticRequest) or (isinstance(request, GroupedRequest) and _is_sum(request.of))


def shifted(statements: Sequence[Statement]) -> tuple[list[str], list[list[int]]]:
    """(all different cells, for each statement where its own stand among them): what is shared is computed once."""
    cells: dict[str, int] = {}
    places = [[cells.setdefault(cell, len(cells)) for cell in statement.cells] for statement in statements]
    return [*cells], places


def renamed(table: str, places: Sequence[int]) -> str:
    """The table with its columns v… called v0, v1, … in the order of `places`."""
    shown = ", ".join(f"v{place} AS v{own}" for own, place in enumerate(places))
    return f"(SELECT {shown} FROM {table})"  # noqa: S608 - whole numbers
