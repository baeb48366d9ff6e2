"""The cells of a file as typed values, by the rules of `cell_rules.py`: tables around the table of cells, a step each.

Nested like this the engine computes every step once a row, however often rules and statistics name it, and leaves out what nobody
asks for. The cells themselves stay in the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.core.schema import Column, PrivacyUnit
from app.errors import InvalidRows, RowProblem
from app.sources.cell_rules import (
    PERSON_EXPECTED,
    TEXT,
    CellNames,
    CellRule,
    CellSteps,
    cell_steps,
    expected_of,
    person_steps,
    rule_of,
    stored_types,
)

PROBLEMS_MAX = 20


@dataclass(frozen=True, slots=True)
class FileCell:
    """Where a column stands in the table of cells, and as what."""

    cell: str
    engine_type: str = TEXT


def typed_rows(
    table: str, cells: Mapping[str, FileCell], columns: Mapping[str, Column], unit: PrivacyUnit
) -> tuple[str, dict[str, CellRule]]:
    """SQL of the table with typed values, and a rule for every declared column and for the person.

    Raises InvalidRows about line 1 where a column is stored as something that cannot hold it.
    """
    steps: dict[str, tuple[CellNames, CellSteps]] = {}
    rules: dict[str, CellRule] = {}
    problems = []
    names = [*columns] if unit.column is None or unit.column in columns else [*columns, unit.column]
    for place, name in enumerate(names):
        column, called = _declared(name, columns, unit), CellNames(str(place))
        found = (
            person_steps(cells[name].cell, cells[name].engine_type, called)
            if column is None
            else cell_steps(column, cells[name].cell, cells[name].engine_type, called)
        )
        if found is None:
            problems.append(RowProblem(1, name, stored_types(column)))
            continue
        steps[name] = called, found
        rules[name] = _person_rule(name, called) if column is None else rule_of(column, called, expected_of(column))
    if problems:
        raise InvalidRows(problems[:PROBLEMS_MAX])
    return _nested(table, list(steps.values())), rules


def _declared(name: str, columns: Mapping[str, Column], unit: PrivacyUnit) -> Column | None:
    """The column that names a person is never cut to its bounds: two people would become one."""
    column = columns.get(name)
    return column if column is None or name != unit.column else replace(column, outside="refuse")


def _person_rule(name: str, called: CellNames) -> CellRule:
    return CellRule(name, called.valid, called.value, "NULL::DOUBLE", PERSON_EXPECTED, called.value, called.gone)


def _nested(table: str, steps: Iterable[tuple[CellNames, CellSteps]]) -> str:
    steps = list(steps)
    layers = (
        [f"{each.text} AS {called.text}" for called, each in steps],
        [f"{each.found} AS {called.found}" for called, each in steps],
        [f"{each.gone} AS {called.gone}" for called, each in steps],
        [
            f"{sql} AS {name}"
            for called, each in steps
            for sql, name in ((each.value, called.value), (each.valid, called.valid), (each.beyond, called.beyond))
        ],
    )
    for layer in layers:
        table = f"(SELECT *, {', '.join(layer)} FROM {table})"  # noqa: S608 - declared names only, quoted
    return table
