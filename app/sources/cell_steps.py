"""How the cell of a file becomes what it counts as, in SQL over one column of the scan.

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
from app.sources.cell_rules import KEPT_TYPES, TEXT, CellNames
from app.sources.engine import double, literal

REAL_PATTERN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_REAL = re.compile(REAL_PATTERN)
# Printable, not blank at either end: '7' and '7 ' must not be two people.
PERSON_PATTERN = r"[^\p{C}\p{Z}](?:\P{C}*[^\p{C}\p{Z}])?"
PERSON_LENGTH_MAX = 256
PERSON_EXPECTED = f"an identifier of 1 to {PERSON_LENGTH_MAX} printable characters"

_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_WHOLE = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_DAY_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_NOTHING = '"NULL"'
"""The engine's word for a Parquet column without any value."""
_DATE_PATTERN = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?"
_DAYS = "BETWEEN DATE '1000-01-01' AND DATE '9999-12-31'"


@dataclass(frozen=True, slots=True)
class CellSteps:
    """The SQL of each step, over the columns that the steps before it have made."""

    text: str
    found: str
    gone: str
    value: str
    valid: str
    beyond: str


def cell_steps(column: Column, cell: str, engine_type: str, names: CellNames) -> CellSteps | None:
    """How the cell of a file becomes a value; None when the stored type cannot hold such a column."""
    spellings = spelled(column)
    if engine_type == _NOTHING:
        cell, engine_type = f"{cell}::VARCHAR", TEXT
    if column.numeric:
        return _number_steps(column, cell, engine_type, names, spellings)
    if column.type == "date":
        return _date_steps(column, cell, engine_type, names, spellings)
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


def _date_steps(column: Column, cell: str, engine_type: str, names: CellNames, spellings: Spelled) -> CellSteps | None:
    """The day as it is written: a time of day and a zone behind it are left out."""
    if engine_type == TEXT:
        spelled_so = f"regexp_full_match({names.text}, {literal(_DATE_PATTERN)})"
        day = f"CASE WHEN {spelled_so} THEN TRY_CAST(left({names.text}, 10) AS DATE) END"
        gone = _is_missing(names.text, spellings)
    elif engine_type in _DAY_TYPES:
        day, gone = f"TRY_CAST({cell} AS DATE)", f"{cell} IS NULL"
    else:
        return None
    x, fine = names.found, f"coalesce({names.found} {_DAYS}, false)"
    return CellSteps(
        text=f"trim({cell}, {literal(BLANKS)})" if engine_type == TEXT else "NULL",
        found=day,
        gone=gone,
        value=f"CASE WHEN {names.gone} THEN {_filled(column, column.missing)} WHEN {fine} THEN {x} END",
        valid=f"CASE WHEN {names.gone} THEN {_allowed(column)} ELSE {fine} END",
        beyond="false",
    )


def derived_steps(column: Column, expression: str, inputs_fine: str, names: CellNames) -> CellSteps:
    """Of a column that is computed: missing where its expression is NULL. Where an input is refused, that is told once."""
    gone, value, beyond = names.gone, names.found, "false"
    if column.lower is not None and column.upper is not None:
        lower, upper = double(float(column.lower)), double(float(column.upper))
        value = f"least(greatest({names.found}, {lower}), {upper})::{KEPT_TYPES[column.type]}"
        beyond = f"coalesce({names.found} NOT BETWEEN {lower} AND {upper}, false)"
    refused = f"NOT ({beyond})" if column.outside == "refuse" else "true"
    return CellSteps(
        text="NULL",
        found=expression,
        gone=f"{names.found} IS NULL",
        value=f"CASE WHEN {gone} THEN {_filled(column, column.missing)} ELSE {value} END",
        valid=f"CASE WHEN {gone} THEN {_allowed(column)} OR NOT ({inputs_fine}) ELSE {refused} END",
        beyond=beyond,
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
    if column.type == "date":
        return f"CAST({literal(str(policy.value))} AS DATE)"
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
