"""A schema to be filled in: the names and types of a file, and every bound and list of levels left open.

Nothing is guessed from cells. A bound taken from the largest value, or a level that one person alone has, is that person's
secret in a public place, and no noise that is added later takes it back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.schema import COLUMNS_MAX, NAME_LENGTH_MAX
from app.sources.files.names_and_types import StoredColumn

WHY = (
    "Bounds and levels are public: they decide how much noise protects a person, and anyone may read them. Fill them in from "
    "what is known without this file (a questionnaire, a code book, what is possible at all), never from its rows: numbers "
    "chosen by looking are functions of the rows, and the guarantee does not count them. Generous bounds cost some accuracy; "
    "those taken from the data cost the guarantee."
)
_BOUND = "the {} that is possible at all, from public knowledge"
_LEVELS = "every text that is possible, from a code book or questionnaire"
_TYPE = "binary, categorical, integer, real or date: a file of text does not say"
_OTHER = "binary, categorical, integer, real or date; or leave the column out: stored as {}"
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_UNSIGNED = frozenset({"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})


@dataclass(frozen=True, slots=True)
class SchemaDraft:
    """`columns` with null wherever something is to be filled in, `fill_in` says what and why, field by field; `left_out` are
    columns that cannot be declared as they are named, by place."""

    columns: dict[str, dict[str, Any]]
    fill_in: list[dict[str, str]]
    left_out: list[dict[str, Any]] = field(default_factory=list)
    why: str = WHY


def draft_schema(found: Sequence[StoredColumn]) -> SchemaDraft:
    columns: dict[str, dict[str, Any]] = {}
    fill_in: list[dict[str, str]] = []
    left_out: list[dict[str, Any]] = []
    taken: set[str] = set()
    for place, (given, stored) in enumerate(found, start=1):
        name = given.strip()
        wrong = _wrong_name(name, taken, len(columns))
        if wrong is not None:
            left_out.append({"place": place, "why": wrong})
            continue
        taken.add(name.lower())
        columns[name], open_fields = _column(stored)
        fill_in += [{"field": f"columns.{name}.{each}", "expected": told} for each, told in open_fields.items()]
    return SchemaDraft(columns, fill_in, left_out)


def _wrong_name(name: str, taken: set[str], count: int) -> str | None:
    if not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        return f"names have 1 to {NAME_LENGTH_MAX} printable characters"
    if name.lower() in taken:
        return "another column has this name, or one that differs by upper and lower case only"
    return f"a schema has at most {COLUMNS_MAX} columns" if count >= COLUMNS_MAX else None


def _column(stored: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    """What is known of it, and what is to be filled in."""
    if stored is None:
        return {"type": None}, {"type": _TYPE}
    if stored == "BOOLEAN":
        return {"type": "binary"}, {}
    bounds = {"lower": _BOUND.format("least"), "upper": _BOUND.format("most")}
    if stored in _WHOLE | _UNSIGNED:
        return {"type": "integer", "lower": None, "upper": None}, bounds
    if stored in ("FLOAT", "DOUBLE") or stored.startswith("DECIMAL("):
        return {"type": "real", "lower": None, "upper": None}, bounds
    if stored in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return {"type": "date"}, {}
    if stored == "VARCHAR" or stored.startswith("ENUM("):
        return {"type": "categorical", "levels": None}, {"levels": _LEVELS}
    # The types of columns that hold columns name those, and some types their values: only the first word is told.
    return {"type": None}, {"type": _OTHER.format(stored.partition("(")[0].lower())}
