"""The cells of a file as typed values, by the steps of `cell_steps.py`: tables around the table of cells, a step each.

Nested like this the engine computes every step once a row, however often rules and statistics name it, and leaves out what nobody
asks for. The cells themselves stay in the table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.core.schema import Column, PrivacyUnit
from app.errors import InvalidRows, RowProblem
from app.sources.cell_rules import TEXT, CellNames, CellRule, expected_of, person_rule, rule_of, stored_types
from app.sources.cell_steps import PERSON_EXPECTED, CellSteps, cell_steps, derived_steps, person_steps
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.row_sql import derived_sql

PROBLEMS_MAX = 20


@dataclass(frozen=True, slots=True)
class FileCell:
    """Where a column stands in the table of cells, and as what."""

    cell: str
    engine_type: str = TEXT


def typed_rows(
    table: str,
    cells: Mapping[str, FileCell],
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    dialect: Dialect = DUCK,
) -> tuple[str, dict[str, CellRule]]:
    """SQL of the table with typed values, and a rule for every declared column and for the person.

    Raises InvalidRows about line 1 where a column is stored as something that cannot hold it.
    """
    steps: dict[str, tuple[CellNames, CellSteps]] = {}
    rules: dict[str, CellRule] = {}
    problems = []
    for place, name in enumerate(stored_names(columns, unit)):
        column, called = _declared(name, columns, unit), CellNames(str(place))
        found = (
            person_steps(cells[name].cell, cells[name].engine_type, called, dialect)
            if column is None
            else cell_steps(column, cells[name].cell, cells[name].engine_type, called, dialect)
        )
        if found is None:
            problems.append(RowProblem(1, name, stored_types(column)))
            continue
        steps[name] = called, found
        if column is None:
            rules[name] = person_rule(name, called, PERSON_EXPECTED, dialect)
        else:
            rules[name] = rule_of(column, called, expected_of(column), dialect)
    if problems:
        raise InvalidRows(problems[:PROBLEMS_MAX])
    typed = _nested(table, list(steps.values()), dialect)
    terms = {name: rule.term for name, rule in rules.items()}
    derived: list[tuple[CellNames, CellSteps]] = []
    for name, column in columns.items():
        if column.derived is not None:
            called = CellNames(f"d{len(derived)}")
            fine = " AND ".join(rules[each].valid for each in column.derived.columns)
            computed = derived_sql(column, terms, dialect)
            derived.append((called, derived_steps(column, computed, fine, called, dialect)))
            expected = f"a value of {column.derived.text}" + _bounds(column)
            rules[name] = rule_of(column, called, expected, dialect)
    return _nested(typed, derived, dialect) if derived else typed, rules


def stored_names(columns: Mapping[str, Column], unit: PrivacyUnit) -> list[str]:
    """The columns that a file must have: all but those computed from others."""
    names = [name for name, column in columns.items() if column.derived is None]
    return names if unit.column is None or unit.column in columns else [*names, unit.column]


def _bounds(column: Column) -> str:
    refused = column.numeric and column.outside == "refuse"
    return f" from {column.lower} to {column.upper}" if refused else ""


def _declared(name: str, columns: Mapping[str, Column], unit: PrivacyUnit) -> Column | None:
    """The column that names a person is never cut to its bounds: two people would become one."""
    column = columns.get(name)
    return column if column is None or name != unit.column else replace(column, outside="refuse")


def _nested(table: str, steps: Iterable[tuple[CellNames, CellSteps]], dialect: Dialect) -> str:
    steps = list(steps)
    layers = (
        [f"{each.found} AS {called.found}" for called, each in steps],
        [f"{each.gone} AS {called.gone}" for called, each in steps],
        [
            f"{sql} AS {name}"
            for called, each in steps
            for sql, name in ((each.value, called.value), (each.valid, called.valid), (each.beyond, called.beyond))
        ],
    )
    for layer in layers:
        table = dialect.step(layer, table)
    return table
