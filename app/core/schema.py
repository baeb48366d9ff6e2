"""Public schema of a dataset: columns with bounds or levels, and the privacy unit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from app.errors import InvalidSchema

ColumnType = Literal["binary", "categorical", "real", "integer"]
COLUMN_TYPES = ("binary", "categorical", "real", "integer")

COLUMNS_MAX = 1_000
LEVELS_MAX = 1_000
NAME_LENGTH_MAX = 128
ROWS_PER_PERSON_MAX = 1_000
INTEGER_BOUND_MAX = 2**53


@dataclass(frozen=True, slots=True)
class Column:
    """One public column. Bounds and levels are declared, never learned from rows."""

    name: str
    type: ColumnType
    levels: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None

    def as_json(self) -> dict[str, Any]:
        if self.type == "categorical":
            return {"type": self.type, "levels": list(self.levels)}
        if self.type == "binary":
            return {"type": self.type}
        return {"type": self.type, "lower": self.lower, "upper": self.upper}


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose data is protected: `max_rows` rows of one value of `column`; by default one row a person."""

    column: str | None = None
    max_rows: int = 1

    def as_json(self) -> dict[str, Any] | None:
        return None if self.column is None else {"column": self.column, "max_rows": self.max_rows}


def parse_columns(spec: Mapping[str, Any]) -> dict[str, Column]:
    if not isinstance(spec, Mapping) or not 1 <= len(spec) <= COLUMNS_MAX:
        raise InvalidSchema("columns", f"an object of 1 to {COLUMNS_MAX} columns")
    folded: set[str] = set()
    columns = {}
    for name, body in spec.items():
        _check_name("columns", name)
        if name.lower() in folded:
            raise InvalidSchema(f"columns.{name}", "names that differ by more than upper and lower case")
        folded.add(name.lower())
        columns[name] = _parse_column(name, body)
    return columns


def parse_unit(spec: Mapping[str, Any] | None, columns: Mapping[str, Column]) -> PrivacyUnit:
    if spec is None:
        return PrivacyUnit()
    if not isinstance(spec, Mapping) or set(spec) != {"column", "max_rows"}:
        raise InvalidSchema("privacy_unit", "null or an object with exactly `column` and `max_rows`")
    _check_name("privacy_unit.column", spec["column"])
    clash = [name for name in columns if name.lower() == spec["column"].lower() and name != spec["column"]]
    if clash:
        raise InvalidSchema("privacy_unit.column", f"the spelling of the column {clash[0]!r}")
    rows = spec["max_rows"]
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= ROWS_PER_PERSON_MAX:
        raise InvalidSchema("privacy_unit.max_rows", f"a whole number from 1 to {ROWS_PER_PERSON_MAX}")
    return PrivacyUnit(column=spec["column"], max_rows=rows)


def _check_name(field: str, name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise InvalidSchema(field, f"column names of 1 to {NAME_LENGTH_MAX} printable characters")
    if name != name.strip():
        raise InvalidSchema(field, "column names without spaces at either end")


def _parse_column(name: str, body: object) -> Column:
    where = f"columns.{name}"
    if not isinstance(body, Mapping) or body.get("type") not in COLUMN_TYPES:
        raise InvalidSchema(f"{where}.type", "one of " + ", ".join(COLUMN_TYPES))
    kind = cast(ColumnType, body["type"])
    allowed = {"binary": set(), "categorical": {"levels"}}.get(kind, {"lower", "upper"})
    if set(body) - {"type"} != allowed:
        wanted = " and ".join(sorted(allowed)) or "nothing else"
        raise InvalidSchema(where, f"a {kind} column to carry {wanted} beside its type")
    if kind == "binary":
        return Column(name, kind)
    if kind == "categorical":
        return Column(name, kind, levels=_parse_levels(where, body["levels"]))
    lower, upper = (_parse_bound(f"{where}.{side}", body[side], kind) for side in ("lower", "upper"))
    if not lower < upper:
        raise InvalidSchema(f"{where}.upper", "a number above `lower`")
    return Column(name, kind, lower=lower, upper=upper)


def _parse_levels(where: str, levels: object) -> tuple[str, ...]:
    expected = f"2 to {LEVELS_MAX} different texts of 1 to {NAME_LENGTH_MAX} printable characters"
    if not isinstance(levels, list | tuple) or not 2 <= len(levels) <= LEVELS_MAX:
        raise InvalidSchema(f"{where}.levels", expected)
    for level in levels:
        if not isinstance(level, str) or not 1 <= len(level) <= NAME_LENGTH_MAX or not level.isprintable():
            raise InvalidSchema(f"{where}.levels", expected)
    if len(set(levels)) != len(levels):
        raise InvalidSchema(f"{where}.levels", expected)
    return tuple(levels)


def _parse_bound(field: str, value: object, kind: ColumnType) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidSchema(field, "a finite number")
    if kind == "integer":
        if not abs(value) <= INTEGER_BOUND_MAX or value != int(value):
            raise InvalidSchema(field, f"a whole number of size at most {INTEGER_BOUND_MAX}")
        return int(value)
    if not abs(value) <= 1e300 or not math.isfinite(value):
        raise InvalidSchema(field, "a finite number of size at most 1e300")
    return float(value)
