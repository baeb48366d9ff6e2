"""What a cell must be, and what it counts as, written in SQL over one column of the scan.

A cell becomes a typed value in four steps, each a column of a table around the one before (`typed_rows.py`), so that the engine
takes none of them twice:

`text`   without blanks around it; NULL where the file stores numbers and the column is one.
`found`  the value it spells, NULL if none. Text is checked by its spelling first, because the engine's casts are generous
         ('1_000', '0x10', ' 1', 'nan').
`gone`   true when there is no value: nothing in the cell, or a text that is declared to mean so.
`value`  what the cell counts as by the declared policies, in the type it is kept in. Total: a cell that is not allowed has
         one too, or NULL, so reading never fails after upload.

It is the same value whether the cell came from CSV or from Parquet. `valid` is true exactly when the cell is allowed, `beyond`
when it holds a value outside the bounds or levels; neither is ever NULL.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.core.schema import Column, Fill
from app.core.schema.spellings import BLANKS, FALSE, TRUE, Spelled, cases, spelled
from app.sources.engine import double, literal

REAL_PATTERN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_REAL = re.compile(REAL_PATTERN)
# Printable, not blank at either end: '7' and '7 ' must not be two people.
PERSON_PATTERN = r"[^\p{C}\p{Z}](?:\P{C}*[^\p{C}\p{Z}])?"
PERSON_LENGTH_MAX = 256
PERSON_EXPECTED = f"an identifier of 1 to {PERSON_LENGTH_MAX} printable characters"

TEXT = "VARCHAR"
_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_WHOLE = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_NOTHING = '"NULL"'
"""The engine's word for a Parquet column without any value."""
_NO_NUMBER = "NULL::DOUBLE"
KEPT_TYPES = {"binary": "BOOLEAN", "categorical": TEXT, "integer": "BIGINT", "real": "DOUBLE"}


@dataclass(frozen=True, slots=True)
class CellRule:
    """SQL over the scan, and `expected` for the steward, which names public facts only.

    `canonical` is one spelling per value; `number` the double it reads as, NULL for columns that hold none; `value` the typed
    value itself.
    """

    name: str
    valid: str
    canonical: str
    number: str
    expected: str
    value: str
    gone: str = "false"
    beyond: str = "false"


@dataclass(frozen=True, slots=True)
class CellSteps:
    """The SQL of each step, over the columns that the steps before it have made."""

    text: str
    found: str
    gone: str
    value: str
    valid: str
    beyond: str


@dataclass(frozen=True, slots=True)
class CellNames:
    """What the steps of one cell are called in the table."""

    place: str

    @property
    def text(self) -> str:
        return f"text{self.place}"

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
    number = "a whole number" if column.type == "integer" else "a finite number"
    return number if column.outside == "clip" else f"{number} from {column.lower} to {column.upper}"


def rule_of(column: Column, names: CellNames, expected: str) -> CellRule:
    """The rule for a cell whose steps are columns of the scan."""
    canonical, number = _readings(column, names.value)
    return CellRule(column.name, names.valid, canonical, number, expected, names.value, names.gone, names.beyond)


def kept_rule(column: Column, cell: str) -> CellRule:
    """The rule for a cell that was kept as a typed value: whatever it is, it was allowed."""
    canonical, number = _readings(column, cell)
    return CellRule(column.name, "true", canonical, number, expected_of(column), cell, f"{cell} IS NULL")


def _readings(column: Column, value: str) -> tuple[str, str]:
    """(canonical, number) of a typed value."""
    if column.type == "binary":
        return f"{value}::TINYINT::VARCHAR", f"{value}::TINYINT::DOUBLE"
    if column.type == "integer":
        return f"{value}::VARCHAR", f"{value}::DOUBLE"
    return f"{value}::VARCHAR", value if column.type == "real" else _NO_NUMBER


def cell_steps(column: Column, cell: str, engine_type: str, names: CellNames) -> CellSteps | None:
    """How the cell of a file becomes a value; None when the stored type cannot hold such a column."""
    spellings = spelled(column)
    if engine_type == _NOTHING:
        cell, engine_type = f"{cell}::VARCHAR", TEXT
    if column.numeric:
        return _number_steps(column, cell, engine_type, names, spellings)
    text = _text_of(column, cell, engine_type)
    if text is None:
        return None
    key = _folded(names.text, spellings.values) if spellings.folded else names.text
    found = f"{names.found} IS NOT NULL"
    gone = f"{names.found} IS NULL AND {_is_missing(names.text, spellings)}"
    other, refused = _filled(column, column.outside), not isinstance(column.outside, Fill)
    return CellSteps(
        text=text,
        found=_truth(key, spellings) if column.type == "binary" else _level(column, key, spellings),
        gone=gone,
        value=f"CASE WHEN {found} THEN {names.found} WHEN {names.gone} THEN {_filled(column, column.missing)} ELSE {other} END",
        valid=f"CASE WHEN {found} THEN true WHEN {names.gone} THEN {_allowed(column)} ELSE {_sql(not refused)} END",
        beyond=f"{names.found} IS NULL AND NOT {names.gone}",
    )


def _number_steps(
    column: Column, cell: str, engine_type: str, names: CellNames, spellings: Spelled
) -> CellSteps | None:
    number = _number_of(cell, engine_type, names)
    if number is None or column.lower is None or column.upper is None:
        return None
    x, lower, upper = names.found, double(float(column.lower)), double(float(column.upper))
    fine = f"isfinite({x})" + (f" AND {x} = trunc({x})" if column.type == "integer" else "")
    inside = f"{x} BETWEEN {lower} AND {upper}"
    clipped = f"least(greatest({x}, {lower}), {upper})::{KEPT_TYPES[column.type]}"
    gone = _no_number(cell, engine_type, names, spellings)
    refused = f" AND {inside}" if column.outside == "refuse" else ""
    return CellSteps(
        text=f"trim({cell}, {literal(BLANKS)})" if engine_type == TEXT else "NULL",
        found=number,
        gone=gone,
        value=f"CASE WHEN {names.gone} THEN {_filled(column, column.missing)} WHEN {fine} THEN {clipped} END",
        valid=f"coalesce(CASE WHEN {names.gone} THEN {_allowed(column)} ELSE {fine}{refused} END, false)",
        beyond=f"coalesce(NOT {names.gone} AND {fine} AND NOT {inside}, false)",
    )


def _no_number(cell: str, engine_type: str, names: CellNames, spellings: Spelled) -> str:
    """Codes such as -9 are missing however they are written."""
    if engine_type == TEXT:
        gone = _is_missing(names.text, spellings)
    else:
        gone = f"{cell} IS NULL" + (f" OR isnan({cell})" if engine_type in _FLOATING else "")
    codes = [double(float(text)) for text in spellings.missing if _REAL.fullmatch(text)]
    return gone + (f" OR coalesce({names.found} IN ({', '.join(codes)}), false)" if codes else "")


def _number_of(cell: str, engine_type: str, names: CellNames) -> str | None:
    if engine_type == TEXT:
        spelled_so = f"regexp_full_match({names.text}, {literal(REAL_PATTERN)})"
        return f"CASE WHEN {spelled_so} THEN TRY_CAST({names.text} AS DOUBLE) END"
    if engine_type.startswith("DECIMAL("):
        return f"TRY_CAST({cell}::VARCHAR AS DOUBLE)"  # the double nearest the decimal, as in a file of text
    return f"{cell}::DOUBLE" if engine_type in _WHOLE | _FLOATING else None


def _text_of(column: Column, cell: str, engine_type: str) -> str | None:
    """The text that a file of text would have held."""
    if engine_type == TEXT or engine_type.startswith("ENUM("):
        return f"trim({cell}::VARCHAR, {literal(BLANKS)})"
    if engine_type in _WHOLE or engine_type == "BOOLEAN":
        return f"{cell}::VARCHAR"
    if column.type == "binary" and engine_type in _FLOATING:
        return f"CASE WHEN isnan({cell}) THEN NULL WHEN {cell} = 1 THEN '1' WHEN {cell} = 0 THEN '0' ELSE {cell}::VARCHAR END"
    return None


def _is_missing(text: str, spellings: Spelled) -> str:
    return f"({text} IS NULL OR {_among(_folded(text, spellings.missing), spellings.missing)})"


def _among(text: str, texts: Iterable[str]) -> str:
    """Without IN, which the engine turns into a join, and a thousand columns into a thousand."""
    return f"list_contains([{', '.join(map(literal, texts))}], {text})"


def _folded(text: str, keys: Iterable[str]) -> str:
    capitals, small = cases(keys)
    return f"translate({text}, {literal(capitals)}, {literal(small)})" if capitals else text


def _truth(key: str, spellings: Spelled) -> str:
    yes, no = (
        _among(key, [text for text, value in spellings.values.items() if value == truth]) for truth in (TRUE, FALSE)
    )
    return f"CASE WHEN {yes} THEN true WHEN {no} THEN false END"


def _level(column: Column, key: str, spellings: Spelled) -> str:
    """An enumeration finds a spelling by hashing, however many there are."""
    texts, levels = list(spellings.values), list(spellings.values.values())
    entry = f"TRY_CAST({key} AS ENUM({', '.join(map(literal, texts))}))"
    if texts == levels:
        return f"{entry}::VARCHAR"
    return f"([{', '.join(map(literal, levels))}])[enum_code({entry})::INTEGER + 1]"


def _filled(column: Column, policy: object) -> str:
    """SQL of what is declared to stand in, in the type the column is kept in."""
    if not isinstance(policy, Fill):
        return f"NULL::{KEPT_TYPES[column.type]}"
    if column.type == "categorical":
        return literal(str(policy.value))
    return (
        _sql(bool(policy.value))
        if column.type == "binary"
        else f"{double(float(policy.value))}::{KEPT_TYPES[column.type]}"
    )


def _allowed(column: Column) -> str:
    return _sql(column.missing != "refuse")


def _sql(truth: bool) -> str:
    return "true" if truth else "false"


def person_steps(cell: str, engine_type: str, names: CellNames) -> CellSteps | None:
    """Of a privacy-unit column that is not a declared column: any text or whole number."""
    if engine_type not in _WHOLE and engine_type not in (TEXT, "UUID"):
        return None
    text = names.text
    named = spelled(Column("person", "categorical"))
    fits = f"length({text}) <= {PERSON_LENGTH_MAX} AND regexp_full_match({text}, {literal(PERSON_PATTERN)})"
    return CellSteps(
        text=f"trim({cell}::VARCHAR, {literal(BLANKS)})",
        found=text,
        gone=_is_missing(text, named),
        value=names.found,
        valid=f"coalesce(NOT {names.gone} AND {fits}, false)",
        beyond="false",
    )


def stored_types(column: Column | None) -> str:
    """The Parquet types a column may have, for the steward."""
    if column is None:
        return "a string or integer column"
    return {
        "binary": "a BOOLEAN, number or string column",
        "categorical": "a string or integer column",
        "integer": "a number, decimal or string column",
        "real": "a number, decimal or string column",
    }[column.type]
