"""Public schema of a dataset: columns with bounds or levels, and the privacy unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationInfo, field_validator
from typing_extensions import TypeAliasType

from app.core.specs import Expects, OneOf, Spec, read_spec
from app.errors import InvalidSchema

ColumnType = Literal["binary", "categorical", "real", "integer"]

COLUMNS_MAX = 1_000
LEVELS_MAX = 1_000
NAME_LENGTH_MAX = 128
ROWS_PER_PERSON_MAX = 1_000
INTEGER_BOUND_MAX = 2**53
REAL_BOUND_MAX = 1e300


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError
    return text


def _trimmed(name: str) -> str:
    if name != name.strip():
        raise ValueError("column names without spaces at either end")
    return name


def _different(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise ValueError("different names")
    return names


def _whole(value: object) -> object:
    """JSON has one kind of number: 2.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Printable = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX), AfterValidator(_printable)]
ColumnName = Annotated[
    _Printable,
    Expects(f"column names of 1 to {NAME_LENGTH_MAX} printable characters"),
    AfterValidator(_trimmed),
]
ColumnNames = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX)]],
    AfterValidator(_different),
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
]
"""One or more different names; whether they are columns is for the reader to say."""
_WholeBound = Annotated[
    int,
    Field(ge=-INTEGER_BOUND_MAX, le=INTEGER_BOUND_MAX),
    BeforeValidator(_whole),
    Expects(f"a whole number of size at most {INTEGER_BOUND_MAX}"),
]
_RealBound = Annotated[
    float,
    Field(ge=-REAL_BOUND_MAX, le=REAL_BOUND_MAX),
    Expects(f"a finite number of size at most {REAL_BOUND_MAX:g}"),
]


class BinaryColumn(Spec):
    """Yes or no: 0 and 1, false and true."""

    type: Literal["binary"] = Field(description="What the cells hold.")


class CategoricalColumn(Spec):
    """One of a few declared texts."""

    type: Literal["categorical"] = Field(description="What the cells hold.")
    levels: Annotated[
        list[_Printable],
        AfterValidator(_different),
        Field(
            min_length=2,
            max_length=LEVELS_MAX,
            json_schema_extra={"uniqueItems": True},
            description="Every text a cell may hold. A regression compares the others with the first.",
        ),
        Expects(f"2 to {LEVELS_MAX} different texts of 1 to {NAME_LENGTH_MAX} printable characters"),
    ]


class _Bounded(Spec):
    type: str
    lower: float
    upper: float

    @field_validator("upper")
    @classmethod
    def _above(cls, upper: float, others: ValidationInfo) -> float:
        if not others.data.get("lower", float("-inf")) < upper:
            raise ValueError("a number above `lower`")
        return upper


class RealColumn(_Bounded):
    """Numbers between two declared bounds."""

    type: Literal["real"] = Field(description="What the cells hold.")
    lower: _RealBound = Field(description="No cell counts as less.")
    upper: _RealBound = Field(description="No cell counts as more.")


class IntegerColumn(_Bounded):
    """Whole numbers between two declared bounds."""

    type: Literal["integer"] = Field(description="What the cells hold.")
    lower: _WholeBound = Field(description="No cell counts as less.")
    upper: _WholeBound = Field(description="No cell counts as more.")


COLUMN_TYPES: dict[str, type[Spec]] = {
    "binary": BinaryColumn,
    "categorical": CategoricalColumn,
    "real": RealColumn,
    "integer": IntegerColumn,
}
ColumnSpec = TypeAliasType("ColumnSpec", Annotated[Spec, OneOf("type", COLUMN_TYPES)])


def _told_apart(columns: dict[str, Spec]) -> dict[str, Spec]:
    folded: set[str] = set()
    for name in columns:
        if name.lower() in folded:
            raise ValueError("names that differ by more than upper and lower case")
        folded.add(name.lower())
    return columns


Columns = Annotated[
    dict[ColumnName, ColumnSpec],
    Field(min_length=1, max_length=COLUMNS_MAX, description="Public columns with declared bounds or levels."),
    AfterValidator(_told_apart),
]
_COLUMNS: TypeAdapter[dict[str, Spec]] = TypeAdapter(Columns)


class PrivacyUnitSpec(Spec):
    """A person is a value of `column` and owns at most `max_rows` rows."""

    column: ColumnName = Field(description="The column that names the person; it need not be in the schema.")
    max_rows: int = Field(
        ge=1, le=ROWS_PER_PERSON_MAX, description="Rows one person may own; further ones are left out."
    )


_UNIT = TypeAdapter(PrivacyUnitSpec)


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
    """Raises InvalidSchema."""
    found = read_spec(_COLUMNS, spec, "columns", InvalidSchema)
    return {name: _column(name, column) for name, column in found.items()}


def _column(name: str, spec: Spec) -> Column:
    if isinstance(spec, CategoricalColumn):
        return Column(name, spec.type, levels=tuple(spec.levels))
    if isinstance(spec, RealColumn | IntegerColumn):
        return Column(name, spec.type, lower=spec.lower, upper=spec.upper)
    return Column(name, "binary")


def parse_unit(spec: Mapping[str, Any] | None, columns: Mapping[str, Column]) -> PrivacyUnit:
    """Raises InvalidSchema."""
    if spec is None:
        return PrivacyUnit()
    unit = read_spec(_UNIT, spec, "privacy_unit", InvalidSchema)
    clash = [name for name in columns if name.lower() == unit.column.lower() and name != unit.column]
    if clash:
        raise InvalidSchema("privacy_unit.column", f"the spelling of the column {clash[0]!r}")
    return PrivacyUnit(column=unit.column, max_rows=unit.max_rows)
