"""How many people each combination of public columns has: public, as n is, and counted once, when rows are checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.schema import Column, PrivacyUnit
from app.core.statistics.groups import GroupColumn, group_column
from app.errors import InvalidRows, RowProblem
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.files.csv_lines import ROW
from app.sources.grouping.keyed_rows import level_place
from app.sources.scans import Scan

COMBINATIONS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Strata:
    """Places of levels, column by column, with the people who have them; combinations that nobody has are left out."""

    columns: tuple[GroupColumn, ...]
    people: tuple[tuple[tuple[int, ...], int], ...]

    def as_json(self) -> dict[str, Any]:
        """As stored: names of columns, their levels by name, and people."""
        return {
            "columns": [column.name for column in self.columns],
            "people": [
                [[column.levels[place] for column, place in zip(self.columns, places, strict=True)], people]
                for places, people in self.people
            ],
        }


def count_strata(
    run: Callable[[str], Sequence[tuple[Any, ...]]],
    scan: Scan,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    dialect: Dialect = DUCK,
) -> Strata | None:
    """None without public columns that have levels. Of rows that were found good: a public column is one fact about a person.

    Raises InvalidRows for more combinations than are kept.
    """
    public = _public(columns)
    if not public:
        return None
    places = [level_place(columns[each.name], scan.rules[each.name], each.levels, dialect) for each in public]
    names = ", ".join(f"p{i}" for i in range(len(places)))
    cells = ", ".join(f"{place} AS p{i}" for i, place in enumerate(places))
    rows = f"SELECT {cells} FROM {scan.table}"  # noqa: S608 - declared names only
    if unit.column is not None:
        rows = f"SELECT DISTINCT {cells}, {scan.rules[unit.column].canonical} AS person FROM {scan.table}"  # noqa: S608
    found = run(
        f"SELECT {names}, count(*) FROM ({rows}) GROUP BY {names} ORDER BY {names} LIMIT {COMBINATIONS_MAX + 1}"  # noqa: S608
    )
    if len(found) > COMBINATIONS_MAX:
        expected = f"at most {COMBINATIONS_MAX} different combinations of public columns: declare fewer of them public"
        raise InvalidRows([RowProblem(scan.first_line, ROW, expected)])
    return Strata(public, tuple((tuple(int(place) for place in places), int(people)) for *places, people in found))


def _public(columns: Mapping[str, Column]) -> tuple[GroupColumn, ...]:
    found = [group_column(name, columns) for name in sorted(columns) if columns[name].public]
    return tuple(each for each in found if each is not None)
