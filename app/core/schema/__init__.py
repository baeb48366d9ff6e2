"""Public schema of a dataset: columns with bounds or levels, what becomes of cells that have neither, and the privacy unit."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from app.core.schema.column import Column, ColumnType, Fill, Missing, OtherColumns, Outside, PrivacyUnit
from app.core.schema.column_specs import (
    COLUMNS_MAX,
    INTEGER_BOUND_MAX,
    LEVELS_MAX,
    NAME_LENGTH_MAX,
    ROWS_PER_PERSON_MAX,
    BinaryColumn,
    CategoricalColumn,
    ColumnBase,
    ColumnName,
    ColumnNames,
    Columns,
    DateColumn,
    DateFill,
    DerivedBase,
    IntegerColumn,
    LevelFill,
    NumberFill,
    PrivacyUnitSpec,
    RealColumn,
    TruthFill,
)
from app.core.schema.derived import derived_column
from app.core.schema.rows.expression import RowExpression
from app.core.schema.rows.filters import RowFilter, parse_filter
from app.core.schema.spellings import FALSE, TRUE, spelled
from app.core.specs import Spec, read_spec
from app.errors import InvalidSchema

OTHER = "other"
_COLUMNS: TypeAdapter[dict[str, Spec]] = TypeAdapter(Columns)
_UNIT = TypeAdapter(PrivacyUnitSpec)


def parse_columns(spec: Mapping[str, Any], *, stored: bool = False) -> dict[str, Column]:
    """`stored`: as an earlier version may have taken it, so that releases of it go on answering. Raises InvalidSchema."""
    found = read_spec(_COLUMNS, spec, "columns", InvalidSchema)
    columns = {name: _column(name, column) for name, column in found.items()}
    in_files = {name: column for name, column in columns.items() if not _source_of(found[name])}
    for name, described in found.items():
        source = _source_of(described)
        if source:
            columns[name] = derived_column(columns[name], source, in_files)
    for column in columns.values():
        _check_policies(column)
        if stored and not _has_spellings(column):
            continue
        if _spelled_twice(column):
            spelled(column)
        if not stored:
            _refuse_inexact(column)
    return columns


def _refuse_inexact(column: Column) -> None:
    """Beyond it a number has the same double as its neighbour, and a bound would let that one in."""
    for field in ("lower", "upper"):
        bound = getattr(column, field)
        if column.type == "integer" and bound is not None and not abs(bound) < INTEGER_BOUND_MAX:
            expected = f"a whole number of size at most {INTEGER_BOUND_MAX - 1}: larger ones are not told from their neighbours"
            raise InvalidSchema(f"columns.{column.name}.{field}", expected)


def _has_spellings(column: Column) -> bool:
    return bool(column.spellings or column.fold_case or column.missing_spellings)


def _spelled_twice(column: Column) -> bool:
    """Whether texts could mean two things at all: a thousand columns of a thousand plain levels are read quickly."""
    return _has_spellings(column) or any(level[0] == " " or level[-1] == " " for level in column.levels)


def _source_of(spec: Spec) -> str | None:
    return spec.from_ if isinstance(spec, DerivedBase) else None


def _column(name: str, spec: Spec) -> Column:
    assert isinstance(spec, ColumnBase)  # noqa: S101 - every type of column is one
    shared: dict[str, Any] = {
        "public": spec.public,
        "missing": _policy(getattr(spec, "missing", "refuse")),
        "missing_spellings": tuple(spec.missing_spellings),
    }
    if isinstance(spec, CategoricalColumn):
        return Column(
            name,
            spec.type,
            levels=tuple(spec.levels),
            outside=Fill(OTHER) if spec.outside == OTHER else _policy(spec.outside),
            spellings=_level_spellings(name, spec),
            fold_case=spec.fold_case,
            **shared,
        )
    if isinstance(spec, RealColumn | IntegerColumn):
        shared |= {"outside": spec.outside, "decimal": spec.decimal}
        return Column(name, spec.type, lower=spec.lower, upper=spec.upper, **shared)
    if isinstance(spec, DateColumn):
        return Column(name, spec.type, written=spec.written, **shared)
    assert isinstance(spec, BinaryColumn)  # noqa: S101 - the last of the types
    truths = ((value, tuple(texts)) for value, texts in ((TRUE, spec.true), (FALSE, spec.false)) if texts)
    return Column(name, spec.type, spellings=tuple(truths), **shared)


def _level_spellings(name: str, spec: CategoricalColumn) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(spec.levels, dict) and spec.spellings:
        raise InvalidSchema(f"columns.{name}.spellings", "nothing where `levels` have their spellings with them")
    further = spec.levels if isinstance(spec.levels, dict) else spec.spellings
    for level in further:
        if level not in spec.levels:
            raise InvalidSchema(f"columns.{name}.spellings", "spellings of declared levels")
    return tuple((level, tuple(further[level])) for level in spec.levels if further.get(level))


def _policy(spec: Any) -> Any:
    if isinstance(spec, TruthFill | NumberFill | DateFill):
        return Fill(spec.value)
    return Fill(spec.level) if isinstance(spec, LevelFill) else spec


def _check_policies(column: Column) -> None:
    """What one field cannot tell by itself."""
    where = f"columns.{column.name}"
    for field, policy in (("missing", column.missing), ("outside", column.outside)):
        if isinstance(policy, Fill) and not _holds(column, policy):
            raise InvalidSchema(f"{where}.{field}", _fill_expected(column))
    if column.public and column.missing == "group":
        raise InvalidSchema(f"{where}.missing", "refuse or a declared value: everybody knows a public column")


def _holds(column: Column, fill: Fill) -> bool:
    if column.type == "categorical":
        return fill.value in column.levels
    if column.type == "date":
        return True
    if column.type == "binary" or column.lower is None or column.upper is None:
        return isinstance(fill.value, bool)
    inside = column.lower <= float(fill.value) <= column.upper
    return inside and (column.type == "real" or float(fill.value).is_integer())


def _fill_expected(column: Column) -> str:
    if column.type == "categorical":
        return "one of `levels`"
    return f"a {'whole ' if column.type == 'integer' else ''}number from {column.lower} to {column.upper}"


def parse_unit(spec: Mapping[str, Any] | None, columns: Mapping[str, Column]) -> PrivacyUnit:
    """Raises InvalidSchema."""
    if spec is None:
        return PrivacyUnit()
    unit = read_spec(_UNIT, spec, "privacy_unit", InvalidSchema)
    clash = [name for name in columns if name.lower() == unit.column.lower() and name != unit.column]
    if clash:
        raise InvalidSchema("privacy_unit.column", f"the spelling of the column {clash[0]!r}")
    named = columns.get(unit.column)
    filled = named is not None and (named.missing != "refuse" or isinstance(named.outside, Fill))
    if named is not None and (filled or named.public or named.derived is not None):
        expected = "a column of the file that is not public and has no declared value for other cells"
        raise InvalidSchema("privacy_unit.column", expected)
    return PrivacyUnit(column=unit.column, max_rows=unit.max_rows)


__all__ = [
    "COLUMNS_MAX",
    "INTEGER_BOUND_MAX",
    "LEVELS_MAX",
    "NAME_LENGTH_MAX",
    "ROWS_PER_PERSON_MAX",
    "Column",
    "ColumnName",
    "ColumnNames",
    "ColumnType",
    "Columns",
    "Fill",
    "Missing",
    "OtherColumns",
    "Outside",
    "PrivacyUnit",
    "PrivacyUnitSpec",
    "RowExpression",
    "RowFilter",
    "parse_columns",
    "parse_filter",
    "parse_unit",
]
