"""One public column as mathematics and sources see it, and whose data is protected.

Everything here is declared, never learned from rows, and public: what a cell that is missing or outside counts as is part of
what a neighbour is, so it is fixed before anybody looks at a row.
"""

import datetime
import re
from dataclasses import dataclass
from typing import Any, Literal

from app.core.schema.rows.expression import RowExpression

ColumnType = Literal["binary", "categorical", "real", "integer", "date"]
Decimal = Literal["point", "comma"]
DateOrder = Literal["year-month-day", "day.month.year", "day/month/year", "month/day/year"]
_ISO = re.compile(r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Fill:
    """The declared value, level or ISO date that a cell without one of its own counts as."""

    value: float | bool | str


Missing = Literal["refuse", "group"] | Fill
"""`group`: the cell has no value, and whoever uses the column asks who has one."""
Outside = Literal["refuse", "clip"] | Fill
OtherColumns = Literal["ignore", "refuse"]
"""Of columns in a file that nobody declared."""


@dataclass(frozen=True, slots=True)
class Column:
    """One public column. Bounds and levels are declared, never learned from rows.

    A `public` one is known to everybody about everybody and the same in every neighbour, and constant within a person: it can
    tell strata apart. `missing` says what becomes of a cell without a value; `outside` of a number beyond the bounds, or of
    a text that is no level. `spellings` are further texts that a level has in files, or `true` and `false` of a binary
    column; `missing_spellings` further texts that stand for no value. `decimal` and `written` are how texts write numbers
    and days.

    A column that is `derived` is in no file: it is computed from the others, row by row, once their policies were applied. A
    date is only there to derive others from.
    """

    name: str
    type: ColumnType
    levels: tuple[str, ...] = ()
    lower: float | None = None
    upper: float | None = None
    public: bool = False
    missing: Missing = "refuse"
    outside: Outside = "refuse"
    spellings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fold_case: bool = False
    missing_spellings: tuple[str, ...] = ()
    decimal: Decimal = "point"
    written: DateOrder = "year-month-day"
    derived: RowExpression | None = None

    @property
    def numeric(self) -> bool:
        return self.type in ("real", "integer")

    def as_json(self) -> dict[str, Any]:
        """What was declared; what is as it would be anyway is left out, so that older records read the same."""
        shown: dict[str, Any] = {"type": self.type}
        if self.type == "categorical":
            shown["levels"] = list(self.levels)
        elif self.numeric:
            shown |= {"lower": self.lower, "upper": self.upper}
        if self.derived is not None:
            shown["from"] = self.derived.text
        if self.public:
            shown["public"] = True
        if self.missing != "refuse":
            shown["missing"] = self._policy_json(self.missing)
        if self.outside != ("clip" if self.numeric else "refuse"):
            shown["outside"] = self._policy_json(self.outside)
        return shown | self._spelling_json()

    def _policy_json(self, policy: str | Fill) -> Any:
        if not isinstance(policy, Fill):
            return policy
        return {"level" if self.type == "categorical" else "value": policy.value}

    def _spelling_json(self) -> dict[str, Any]:
        """Levels stay a list beside their spellings: an object does not keep its order wherever it is stored."""
        further = {value: list(texts) for value, texts in self.spellings}
        shown: dict[str, Any] = further if self.type == "binary" else {"spellings": further} if further else {}
        if self.fold_case:
            shown["fold_case"] = True
        if self.missing_spellings:
            shown["missing_spellings"] = list(self.missing_spellings)
        if self.decimal != "point":
            shown["decimal"] = self.decimal
        if self.written != "year-month-day":
            shown["written"] = self.written
        return shown


def is_date(text: str) -> bool:
    """A day of the calendar from the year 1000 on, as ISO 8601 writes it."""
    try:
        return _ISO.fullmatch(text) is not None and bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose data is protected: `max_rows` rows of one value of `column`; by default one row a person."""

    column: str | None = None
    max_rows: int = 1

    def as_json(self) -> dict[str, Any] | None:
        return None if self.column is None else {"column": self.column, "max_rows": self.max_rows}
