"""What a cell of a scan must be, and what it counts as, in SQL over the scan. How it comes to that is in `cell_steps.py`."""

from dataclasses import dataclass

from app.core.schema import Column
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK

TEXT = "VARCHAR"
KEPT_TYPES = {"binary": "BOOLEAN", "categorical": TEXT, "integer": "BIGINT", "real": "DOUBLE", "date": "DATE"}
_NOTHING = "NULL"


@dataclass(frozen=True, slots=True)
class CellRule:
    """SQL over the scan, and `expected` for the steward, which names public facts only.

    `valid` is true exactly when the cell is allowed. `value` is what it counts as, in the type it is kept in, and `term` the
    same as row expressions use it, numbers as doubles; `canonical` is one spelling per value; `number` the double it reads as,
    NULL for columns that hold none; `found` what the cell says before any policy. `gone` when it has no value of its own,
    `beyond` when that is outside the bounds or levels.
    """

    name: str
    valid: str
    canonical: str
    number: str
    expected: str
    value: str
    term: str
    gone: str = "false"
    beyond: str = "false"
    found: str = "NULL"
    derived: bool = False


@dataclass(frozen=True, slots=True)
class CellNames:
    """What the steps of one cell are called in the table."""

    place: str

    @property
    def found(self) -> str:
        return f"found{self.place}"

    @property
    def gone(self) -> str:
        return f"gone{self.place}"

    @property
    def value(self) -> str:
        return f"value{self.place}"

    @property
    def valid(self) -> str:
        return f"valid{self.place}"

    @property
    def beyond(self) -> str:
        return f"beyond{self.place}"


def expected_of(column: Column) -> str:
    if column.type == "binary":
        further = ", ".join(text for _, texts in column.spellings for text in texts)
        return "true, false, yes, no, 1 or 0" + (f", or one of {further}" if further else "")
    if column.type == "categorical":
        loose = "a declared spelling of one" if column.spellings or column.fold_case else "spelled exactly"
        return f"one of the declared levels, {loose}"
    if column.type == "date":
        return f"a date like {example_of_date(column)}"
    number = "a whole number" if column.type == "integer" else "a finite number"
    return number if column.outside == "clip" else f"{number} from {column.lower} to {column.upper}"


def example_of_date(column: Column) -> str:
    return {"day.month.year": "31.03.2024", "day/month/year": "31/03/2024", "month/day/year": "03/31/2024"}.get(
        column.written, "2024-03-31"
    )


def rule_of(column: Column, names: CellNames, expected: str, dialect: Dialect = DUCK) -> CellRule:
    """The rule for a cell whose steps are columns of the scan."""
    canonical, number = _readings(column, names.value, dialect)
    return CellRule(
        column.name,
        names.valid,
        canonical,
        number,
        expected,
        names.value,
        _term(column, names.value, dialect),
        names.gone,
        names.beyond,
        names.found,
        column.derived is not None,
    )


def kept_rule(column: Column, cell: str, dialect: Dialect = DUCK) -> CellRule:
    """The rule for a cell that was kept as a typed value: whatever it is, it was allowed."""
    canonical, number = _readings(column, cell, dialect)
    term = _term(column, cell, dialect)
    return CellRule(column.name, "true", canonical, number, expected_of(column), cell, term, f"{cell} IS NULL")


def _readings(column: Column, value: str, dialect: Dialect) -> tuple[str, str]:
    """(canonical, number) of a typed value."""
    canonical = dialect.spelling(value, KEPT_TYPES[column.type])
    if column.type == "binary":
        return canonical, dialect.cast(dialect.cast(value, "TINYINT"), "DOUBLE")
    if column.type == "integer":
        return canonical, dialect.cast(value, "DOUBLE")
    return canonical, value if column.type == "real" else dialect.cast(_NOTHING, "DOUBLE")


def _term(column: Column, value: str, dialect: Dialect) -> str:
    return dialect.cast(value, "DOUBLE") if column.type == "integer" else value


def person_rule(name: str, names: CellNames, expected: str, dialect: Dialect = DUCK) -> CellRule:
    """Of a privacy-unit column that is not a declared column."""
    nothing = dialect.cast(_NOTHING, "DOUBLE")
    return CellRule(name, names.valid, names.value, nothing, expected, names.value, names.value, names.gone)


def stored_types(column: Column | None) -> str:
    """The Parquet types a column may have, for the steward."""
    if column is None:
        return "a string or integer column"
    return {
        "binary": "a BOOLEAN, number or string column",
        "categorical": "a string or integer column",
        "integer": "a number, decimal or string column",
        "real": "a number, decimal or string column",
        "date": "a date, timestamp or string column",
    }[column.type]
