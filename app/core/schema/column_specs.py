"""How columns and the privacy unit are described by whoever declares a dataset."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator
from typing_extensions import TypeAliasType

from app.core.language.tree import TEXT_LENGTH_MAX
from app.core.schema.column import DateOrder, Decimal, is_date
from app.core.specs import Expects, Maybe, OneOf, Spec

COLUMNS_MAX = 1_000
LEVELS_MAX = 1_000
NAME_LENGTH_MAX = 128
SPELLINGS_MAX = 1_000
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


def _dated(text: str) -> str:
    if not is_date(text):
        raise ValueError("a date like 2024-03-31")
    return text


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


_Text = Annotated[str, Field(max_length=NAME_LENGTH_MAX), AfterValidator(_printable)]
_Texts = Annotated[list[_Text], Field(max_length=SPELLINGS_MAX)]
_Spellings = Annotated[
    _Texts, Expects(f"a list of at most {SPELLINGS_MAX} texts of at most {NAME_LENGTH_MAX} printable characters")
]
_LevelSpellings = Annotated[
    dict[_Printable, _Texts],
    Field(max_length=LEVELS_MAX),
    Expects("an object of levels with a list of spellings each"),
]


_LevelList = Annotated[
    list[_Printable],
    AfterValidator(_different),
    Field(min_length=2, max_length=LEVELS_MAX, json_schema_extra={"uniqueItems": True}),
]
_LevelMap = Annotated[dict[_Printable, _Texts], Field(min_length=2, max_length=LEVELS_MAX)]


_RowText = Annotated[
    str, Field(min_length=1, max_length=TEXT_LENGTH_MAX), Expects(f"an expression of 1 to {TEXT_LENGTH_MAX} characters")
]


class TruthFill(Spec):
    """A declared truth value."""

    value: bool = Field(description="What a cell without a value counts as.")


class NumberFill(Spec):
    """A declared number."""

    value: _RealBound = Field(description="What a cell without a value counts as; within the bounds.")


class DateFill(Spec):
    """A declared day."""

    value: Annotated[str, AfterValidator(_dated)] = Field(description="What a cell without a value counts as.")


class LevelFill(Spec):
    """A declared level."""

    level: _Printable = Field(description="What such a cell counts as; one of `levels`.")


_REFUSE_OR_GROUP = Literal["refuse", "group"]
_MISSING_WORDS = (
    "Of a cell without a value: `refuse` it at upload, count it as a declared one, or `group`: it stays without, and whoever "
    "uses the column asks who has one."
)


class ColumnBase(Spec):
    """What every column can say."""

    public: bool = Field(
        default=False,
        exclude_if=lambda public: not public,
        description=(
            "Known to everybody about everybody, and constant within a person: releases may be told apart by it, and who has "
            "which value is not protected."
        ),
    )
    missing_spellings: _Spellings = Field(
        default=[],
        exclude_if=lambda texts: not texts,
        description="Texts that stand for no value, in any case, beside an empty cell, NA, NaN and null.",
    )


class DerivedBase(ColumnBase):
    from_: Maybe[_RowText] = Field(
        default=None,
        alias="from",
        description="Computed from other columns of the row, such as `age >= 65`, instead of read from the file.",
    )


class BinaryColumn(DerivedBase):
    """Yes or no: 0 and 1, false and true, no and yes, in any case."""

    type: Literal["binary"] = Field(description="What the cells hold.")
    missing: Annotated[_REFUSE_OR_GROUP | TruthFill, Expects('refuse, group or {"value": true or false}')] = Field(
        default="refuse", exclude_if=lambda policy: policy == "refuse", description=_MISSING_WORDS
    )
    true: _Spellings = Field(
        default=[], exclude_if=lambda texts: not texts, description="Further texts that mean yes, in any case."
    )
    false: _Spellings = Field(
        default=[], exclude_if=lambda texts: not texts, description="Further texts that mean no, in any case."
    )


class CategoricalColumn(DerivedBase):
    """One of a few declared texts."""

    type: Literal["categorical"] = Field(description="What the cells hold.")
    levels: Annotated[
        _LevelList | _LevelMap,
        Expects(
            f"2 to {LEVELS_MAX} different texts of 1 to {NAME_LENGTH_MAX} printable characters, in a list or as an object with "
            "a list of spellings each"
        ),
    ] = Field(
        description=(
            "Every value a cell may have, and perhaps how else it is spelled in files. A regression compares the others with "
            "the first."
        )
    )
    spellings: _LevelSpellings = Field(
        default={},
        exclude_if=lambda texts: not texts,
        description="Further texts that mean a level: another way to declare them, in which levels keep their order for certain.",
    )
    fold_case: bool = Field(
        default=False, exclude_if=lambda folds: not folds, description="Upper and lower case of cells do not matter."
    )
    missing: Annotated[_REFUSE_OR_GROUP | LevelFill, Expects('refuse, group or {"level": a declared level}')] = Field(
        default="refuse", exclude_if=lambda policy: policy == "refuse", description=_MISSING_WORDS
    )
    outside: Annotated[
        Literal["refuse", "other"] | LevelFill, Expects('refuse, other or {"level": a declared level}')
    ] = Field(
        default="refuse",
        exclude_if=lambda policy: policy == "refuse",
        description="Of a text that is no level: refused at upload, or counted as one; `other` is the level of that name.",
    )


class _Bounded(DerivedBase):
    type: str
    lower: float
    upper: float
    missing: Annotated[_REFUSE_OR_GROUP | NumberFill, Expects('refuse, group or {"value": a number}')] = Field(
        default="refuse", exclude_if=lambda policy: policy == "refuse", description=_MISSING_WORDS
    )
    outside: Literal["clip", "refuse"] = Field(
        default="clip",
        exclude_if=lambda policy: policy == "clip",
        description="Of a number beyond the bounds: it counts as the bound, or is refused at upload.",
    )
    decimal: Decimal = Field(
        default="point",
        exclude_if=lambda mark: mark == "point",
        description="How a text writes numbers: `2.5`, or with `comma` `2,5` and `1.234,50`, and no other way.",
    )

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


class DateColumn(ColumnBase):
    """Days, as ISO 8601 writes them. No model is of a date: year, month, weekday and days between two are derived from it."""

    type: Literal["date"] = Field(description="What the cells hold.")
    missing: Annotated[_REFUSE_OR_GROUP | DateFill, Expects('refuse, group or {"value": a date}')] = Field(
        default="refuse", exclude_if=lambda policy: policy == "refuse", description=_MISSING_WORDS
    )
    written: DateOrder = Field(
        default="year-month-day",
        exclude_if=lambda order: order == "year-month-day",
        description="How a text writes days: `2024-03-31`, or as said and no other way, with one digit or two.",
    )


COLUMN_TYPES: dict[str, type[Spec]] = {
    "binary": BinaryColumn,
    "categorical": CategoricalColumn,
    "real": RealColumn,
    "integer": IntegerColumn,
    "date": DateColumn,
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


class PrivacyUnitSpec(Spec):
    """A person is a value of `column` and owns at most `max_rows` rows."""

    column: ColumnName = Field(description="The column that names the person; it need not be in the schema.")
    max_rows: int = Field(
        ge=1, le=ROWS_PER_PERSON_MAX, description="Rows one person may own; further ones are left out."
    )
