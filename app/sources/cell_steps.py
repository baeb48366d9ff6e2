"""How the cell of a file becomes what it counts as, in SQL over one column of the scan.

A cell becomes a typed value in three steps, each a column of a table around the one before (`typed_rows.py`), so that the engine
takes none of them twice:

`found`  the value it spells, blanks around it apart; NULL if none. Text is checked by its spelling first, because the
         engine's casts are generous ('1_000', '0x10', 'nan').
`gone`   true when there is no value: nothing in the cell, or a text that is declared to mean so.
`value`  what the cell counts as by the declared policies, in the type it is kept in. Total: a cell that is not allowed has
         one too, or NULL, so reading never fails after upload.

Most cells have no blanks around them and need no folding, which takes the engine ten times as long as the rest: conditions
stand in CASE, whose branches it computes only for the rows that reach them.

It is the same value whether the cell came from CSV or from Parquet. `valid` is true exactly when the cell is allowed, `beyond`
when it holds a value outside the bounds or levels; neither is ever NULL.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.core.schema import Column, Fill
from app.core.schema.spellings import BLANKS, FALSE, TRUE, Spelled, cases, spelled
from app.sources.cell_rules import KEPT_TYPES, TEXT, CellNames
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK

REAL_PATTERN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
COMMA_PATTERN = r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*|[0-9]+(?:,[0-9]*)?|,[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""Points between thousands only where a comma follows: `1.234` might be either."""
PERSON_LENGTH_MAX = 256
PERSON_EXPECTED = f"an identifier of 1 to {PERSON_LENGTH_MAX} printable characters"

_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_WHOLE = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_DAY_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_NOTHING = '"NULL"'
"""The engine's word for a Parquet column without any value."""
_DATE_PATTERN = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?"
_ORDERED_PATTERN = r"[0-9]{{1,2}}{0}[0-9]{{1,2}}{0}[1-9][0-9]{{3}}(?: [0-9:.]+(?: ?[AaPp][Mm])?)?"
_ORDERS = {"day.month.year": (".", 2, 1), "day/month/year": ("/", 2, 1), "month/day/year": ("/", 1, 2)}
"""What stands between, and the places of month and day."""
_DAYS = "BETWEEN DATE '1000-01-01' AND DATE '9999-12-31'"


@dataclass(frozen=True, slots=True)
class CellSteps:
    """The SQL of each step, over the columns that the steps before it have made."""

    found: str
    gone: str
    value: str
    valid: str
    beyond: str


def cell_steps(
    column: Column, cell: str, engine_type: str, names: CellNames, dialect: Dialect = DUCK
) -> CellSteps | None:
    """How the cell of a file becomes a value; None when the stored type cannot hold such a column."""
    spellings = spelled(column)
    if engine_type == _NOTHING:
        cell, engine_type = dialect.stored_text(cell), TEXT
    if column.numeric:
        return _number_steps(column, cell, engine_type, names, spellings, dialect)
    if column.type == "date":
        return _date_steps(column, cell, engine_type, names, spellings, dialect)
    text = _text_of(column, cell, engine_type, dialect)
    if text is None:
        return None
    trimmed = dialect.bare(text, BLANKS)
    key = _folded(trimmed, spellings.values, dialect) if spellings.folded else trimmed
    spells = _truth if column.type == "binary" else _level
    other, refused = _filled(column, column.outside, dialect), not isinstance(column.outside, Fill)
    missing = _filled(column, column.missing, dialect)
    found = f"{names.found} IS NOT NULL"
    return CellSteps(
        found=(
            f"CASE WHEN {dialect.is_among(text, [*spellings.values])} THEN {spells(text, spellings, dialect)} "
            f"ELSE {spells(key, spellings, dialect)} END"
        ),
        gone=f"CASE WHEN {found} THEN false ELSE {_is_missing(text, spellings, dialect)} END",
        value=f"CASE WHEN {found} THEN {names.found} WHEN {names.gone} THEN {missing} ELSE {other} END",
        valid=f"CASE WHEN {found} THEN true WHEN {names.gone} THEN {_allowed(column)} ELSE {_sql(not refused)} END",
        beyond=f"{names.found} IS NULL AND NOT {names.gone}",
    )


def _number_steps(
    column: Column, cell: str, engine_type: str, names: CellNames, spellings: Spelled, dialect: Dialect
) -> CellSteps | None:
    number = _number_of(column, cell, engine_type, dialect)
    if number is None or column.lower is None or column.upper is None:
        return None
    x, lower, upper = names.found, dialect.number(float(column.lower)), dialect.number(float(column.upper))
    whole = f" AND {x} = trunc({x})" if column.type == "integer" else ""
    fine = dialect.is_finite(x) + whole
    inside = f"{x} BETWEEN {lower} AND {upper}"
    clipped = dialect.cast(f"least(greatest({x}, {lower}), {upper})", KEPT_TYPES[column.type])
    refused = f" AND {inside}" if column.outside == "refuse" else ""
    # infinities are refused; one that comes later counts as its bound
    readable = f"NOT {dialect.is_nan(x)}{whole}"
    return CellSteps(
        found=number,
        gone=_no_number(column, cell, engine_type, names, spellings, dialect),
        value=f"CASE WHEN {names.gone} THEN {_filled(column, column.missing, dialect)} WHEN {readable} THEN {clipped} END",
        valid=f"coalesce(CASE WHEN {names.gone} THEN {_allowed(column)} ELSE {fine}{refused} END, false)",
        beyond=f"coalesce(NOT {names.gone} AND {fine} AND NOT {inside}, false)",
    )


def _number_of(column: Column, cell: str, engine_type: str, dialect: Dialect) -> str | None:
    if engine_type == TEXT and column.decimal == "comma":
        return _spelled(cell, COMMA_PATTERN, _pointed(dialect), dialect)
    if engine_type == TEXT:
        return _spelled(cell, REAL_PATTERN, dialect.read_number, dialect)
    if engine_type.startswith("DECIMAL("):
        return dialect.read_number(dialect.stored_text(cell))  # the double nearest the decimal, as in a file of text
    return dialect.cast(cell, "DOUBLE") if engine_type in _WHOLE | _FLOATING else None


def _pointed(dialect: Dialect) -> Callable[[str], str]:
    return lambda text: dialect.read_number(f"replace(replace({text}, '.', ''), ',', '.')")


def _no_number(
    column: Column, cell: str, engine_type: str, names: CellNames, spellings: Spelled, dialect: Dialect
) -> str:
    """Codes such as -9 are missing however they are written."""
    pattern = COMMA_PATTERN if column.decimal == "comma" else REAL_PATTERN
    codes = [
        float(text.replace(".", "").replace(",", ".")) if column.decimal == "comma" else float(text)
        for text in spellings.missing
        if re.fullmatch(pattern, text)
    ]
    coded = dialect.is_code(names.found, codes) if codes else "false"
    if engine_type == TEXT:
        return f"CASE WHEN {names.found} IS NOT NULL THEN {coded} ELSE {_is_missing(cell, spellings, dialect)} END"
    nothing = f"{cell} IS NULL" + (f" OR {dialect.is_nan(cell)}" if engine_type in _FLOATING else "")
    return f"CASE WHEN {nothing} THEN true ELSE {coded} END"


def _date_steps(
    column: Column, cell: str, engine_type: str, names: CellNames, spellings: Spelled, dialect: Dialect
) -> CellSteps | None:
    """The day as it is written: a time of day and a zone behind it are left out."""
    if engine_type == TEXT:
        day = _day_of_text(column, cell, dialect)
        missing = _is_missing(cell, spellings, dialect)
    elif engine_type in _DAY_TYPES:
        day, missing = dialect.day_of(cell), f"{cell} IS NULL"
    else:
        return None
    x, fine = names.found, f"coalesce({names.found} {_DAYS}, false)"
    return CellSteps(
        found=day,
        gone=f"CASE WHEN {x} IS NOT NULL THEN false ELSE {missing} END",
        value=f"CASE WHEN {names.gone} THEN {_filled(column, column.missing, dialect)} WHEN {fine} THEN {x} END",
        valid=f"CASE WHEN {names.gone} THEN {_allowed(column)} ELSE {fine} END",
        beyond="false",
    )


def _day_of_text(column: Column, cell: str, dialect: Dialect) -> str:
    if column.written not in _ORDERS:
        return _spelled(cell, _DATE_PATTERN, lambda text: dialect.read_day(f"left({text}, 10)"), dialect)
    mark, month, day = _ORDERS[column.written]

    def iso(text: str) -> str:
        year = f"left(split_part({text}, '{mark}', 3), 4)"
        rest = (f"lpad(split_part({text}, '{mark}', {place}), 2, '0')" for place in (month, day))
        return dialect.read_day(" || '-' || ".join([year, *rest]))

    return _spelled(cell, _ORDERED_PATTERN.format(re.escape(mark)), iso, dialect)


def derived_steps(
    column: Column, expression: str, inputs_fine: str, names: CellNames, dialect: Dialect = DUCK
) -> CellSteps:
    """Of a column that is computed: missing where its expression is NULL. Where an input is refused, that is told once."""
    gone, value, beyond = names.gone, names.found, "false"
    if column.lower is not None and column.upper is not None:
        lower, upper = dialect.number(float(column.lower)), dialect.number(float(column.upper))
        value = dialect.cast(f"least(greatest({names.found}, {lower}), {upper})", KEPT_TYPES[column.type])
        beyond = f"coalesce({names.found} NOT BETWEEN {lower} AND {upper}, false)"
    refused = f"NOT ({beyond})" if column.outside == "refuse" else "true"
    return CellSteps(
        found=expression,
        gone=f"{names.found} IS NULL",
        value=f"CASE WHEN {gone} THEN {_filled(column, column.missing, dialect)} ELSE {value} END",
        valid=f"CASE WHEN {gone} THEN {_allowed(column)} OR NOT ({inputs_fine}) ELSE {refused} END",
        beyond=beyond,
    )


def _text_of(column: Column, cell: str, engine_type: str, dialect: Dialect) -> str | None:
    """The text that a file of text would have held."""
    if engine_type == TEXT or engine_type.startswith("ENUM("):
        return dialect.stored_text(cell)
    if engine_type in _WHOLE or engine_type == "BOOLEAN":
        return dialect.stored_text(cell)
    if column.type == "binary" and engine_type in _FLOATING:
        other = dialect.spelling(cell, engine_type)
        nothing = dialect.is_nan(cell)
        return f"CASE WHEN {nothing} THEN NULL WHEN {cell} = 1 THEN '1' WHEN {cell} = 0 THEN '0' ELSE {other} END"
    return None


def _spelled(cell: str, pattern: str, reading: Callable[[str], str], dialect: Dialect) -> str:
    """The reading of a text that matches, with and then without blanks around it."""
    texts = (cell, dialect.bare(cell, BLANKS))
    cases = " ".join(f"WHEN {dialect.matches(text, pattern)} THEN {reading(text)}" for text in texts)
    return f"CASE {cases} END"


def _is_missing(text: str, spellings: Spelled, dialect: Dialect) -> str:
    bare = _folded(dialect.bare(text, BLANKS), spellings.missing, dialect)
    return f"({text} IS NULL OR {dialect.is_among(bare, spellings.missing)})"


def _folded(text: str, keys: Iterable[str], dialect: Dialect) -> str:
    capitals, small = cases(keys)
    return f"translate({text}, {dialect.text(capitals)}, {dialect.text(small)})" if capitals else text


def _truth(key: str, spellings: Spelled, dialect: Dialect) -> str:
    texts = sorted(spellings.values, key=lambda text: spellings.values[text] == FALSE)
    yes = sum(value == TRUE for value in spellings.values.values())
    return f"{dialect.place(key, texts)} < {yes}"


def _level(key: str, spellings: Spelled, dialect: Dialect) -> str:
    return dialect.renamed(key, spellings.values)


def _filled(column: Column, policy: object, dialect: Dialect) -> str:
    """SQL of what is declared to stand in, in the type the column is kept in."""
    kept = KEPT_TYPES[column.type]
    if not isinstance(policy, Fill):
        return dialect.cast("NULL", kept)
    if column.type == "categorical":
        return dialect.text(str(policy.value))
    if column.type == "date":
        return dialect.date(str(policy.value))
    if column.type == "binary":
        return _sql(bool(policy.value))
    return dialect.cast(dialect.number(float(policy.value)), kept)


def _allowed(column: Column) -> str:
    return _sql(column.missing != "refuse")


def _sql(truth: bool) -> str:
    return "true" if truth else "false"


def person_steps(cell: str, engine_type: str, names: CellNames, dialect: Dialect = DUCK) -> CellSteps | None:
    """Of a privacy-unit column that is not a declared column: any text or whole number."""
    if engine_type not in _WHOLE and engine_type not in (TEXT, "UUID"):
        return None
    person = names.found
    fits = f"length({person}) <= {PERSON_LENGTH_MAX} AND {dialect.is_person(person)}"
    return CellSteps(
        found=dialect.bare(dialect.stored_text(cell), BLANKS),
        gone=_is_missing(person, spelled(Column("person", "categorical")), dialect),
        value=person,
        valid=f"coalesce(NOT {names.gone} AND {fits}, false)",
        beyond="false",
    )
