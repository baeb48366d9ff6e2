"""What a cell must be, and what it counts as, written in SQL over one column of the scan.

Three expressions per column:

`valid`  true exactly when the cell is allowed; NULL counts as false. Text is checked by its
         spelling first, because the engine's casts are generous ('1_000', '0x10', ' 1', 'nan').
`canonical`  one spelling per value, the same whether the value came from CSV or Parquet. Total:
         a cell that is not allowed has one too (NULL), so reading never fails after upload.
`number` the double the canonical spelling reads as, without writing and reading it: NULL or NaN for
         what is no number, and for columns that hold none.
"""

from dataclasses import dataclass

from app.core.schema import Column
from app.sources.engine import literal

INTEGER_PATTERN = "[+-]?[0-9]{1,18}"
REAL_PATTERN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# Printable, not blank at either end: '7' and '7 ' must not be two people.
PERSON_PATTERN = r"[^\p{C}\p{Z}](?:\P{C}*[^\p{C}\p{Z}])?"
PERSON_LENGTH_MAX = 256
PERSON_EXPECTED = f"an identifier of 1 to {PERSON_LENGTH_MAX} printable characters, no space at either end"

TEXT = "VARCHAR"
_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_WHOLE = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_NO_NUMBER = "NULL::DOUBLE"


@dataclass(frozen=True, slots=True)
class CellRule:
    """`valid`, `canonical` and `number` are SQL, `expected` is for the steward and names public facts only."""

    name: str
    valid: str
    canonical: str
    number: str
    expected: str


def expected_of(column: Column) -> str:
    if column.type == "binary":
        return "true, false, 1 or 0"
    if column.type == "categorical":
        return "one of the declared levels, spelled exactly"
    if column.type == "integer":
        return f"a whole number from {column.lower} to {column.upper}"
    return f"a finite number from {column.lower} to {column.upper}"


def text_rule(column: Column, cell: str) -> CellRule:
    """The rule for a CSV cell. `cell` is the SQL name of a text column."""
    if column.type == "binary":
        valid = f"{cell} IN ('true', 'false', '1', '0')"
        canonical, number = _bit(f"{cell} IN ('true', '1')")
    elif column.type == "categorical":
        valid, canonical, number = _level(column, cell), cell, _NO_NUMBER
    elif column.type == "integer":
        whole = f"TRY_CAST({cell} AS BIGINT)"
        spelled = f"regexp_full_match({cell}, {literal(INTEGER_PATTERN)})"
        valid = f"{spelled} AND {whole} BETWEEN {column.lower} AND {column.upper}"
        canonical, number = f"{whole}::VARCHAR", f"{whole}::DOUBLE"
    else:
        spelled = f"regexp_full_match({cell}, {literal(REAL_PATTERN)})"
        number = f"TRY_CAST({cell} AS DOUBLE)"
        valid = f"{spelled} AND {_finite(column, number)}"
        canonical = f"{number}::VARCHAR"
    return CellRule(column.name, valid, canonical, number, expected_of(column))


def typed_rule(column: Column, cell: str, engine_type: str) -> CellRule | None:
    """The rule for a Parquet cell; None when the stored type cannot hold such a column."""
    whole, decimal = engine_type in _WHOLE, engine_type.startswith("DECIMAL(")
    if column.type == "binary" and (whole or engine_type == "BOOLEAN"):
        one = cell if engine_type == "BOOLEAN" else f"{cell} = 1"
        valid = f"{cell} IS NOT NULL" if engine_type == "BOOLEAN" else f"{cell} IN (0, 1)"
        canonical, number = _bit(one)
    elif column.type == "categorical" and engine_type == TEXT:
        valid, canonical, number = _level(column, cell), cell, _NO_NUMBER
    elif column.type == "integer" and (whole or decimal):
        integral = f"{cell} = trunc({cell}) AND " if decimal else ""
        valid = f"{integral}{cell} BETWEEN {column.lower} AND {column.upper}"
        canonical, number = f"TRY_CAST({cell} AS HUGEINT)::VARCHAR", f"TRY_CAST({cell} AS HUGEINT)::DOUBLE"
    elif column.type == "real" and (whole or decimal or engine_type in _FLOATING):
        number = f"TRY_CAST({cell} AS DOUBLE)"
        valid, canonical = _finite(column, number), f"{number}::VARCHAR"
    else:
        return None
    return CellRule(column.name, valid, canonical, number, expected_of(column))


_KEPT_TYPES = {"binary": "BOOLEAN", "categorical": TEXT, "integer": "BIGINT", "real": "DOUBLE"}


def kept_cell(column: Column, rule: CellRule) -> str:
    """SQL of an allowed cell in the type it is kept in, the same from CSV and from Parquet; bounds of whole numbers are
    within 2⁵³, so the double is the number itself."""
    value = rule.canonical if column.type == "categorical" else rule.number
    return f"({value})::{_KEPT_TYPES[column.type]}"


def kept_rule(column: Column, cell: str) -> CellRule:
    """The rule for a cell kept so."""
    rule = typed_rule(column, cell, _KEPT_TYPES[column.type])
    assert rule is not None  # noqa: S101 - every type above can hold its column
    return rule


def stored_types(column: Column) -> str:
    """The Parquet types a column may have, for the steward."""
    return {
        "binary": "a BOOLEAN or integer column",
        "categorical": "a string column",
        "integer": "an integer or decimal column",
        "real": "a floating point, integer or decimal column",
    }[column.type]


def person_rule(name: str, cell: str, engine_type: str) -> CellRule | None:
    """The rule for a privacy-unit column that is not a declared column: any text or whole number."""
    if engine_type not in _WHOLE and engine_type not in (TEXT, "UUID"):
        return None
    text = cell if engine_type == TEXT else f"{cell}::VARCHAR"
    spelled = f"regexp_full_match({text}, {literal(PERSON_PATTERN)})"
    return CellRule(name, f"length({text}) <= {PERSON_LENGTH_MAX} AND {spelled}", text, _NO_NUMBER, PERSON_EXPECTED)


def _bit(true: str) -> tuple[str, str]:
    return f"CASE WHEN {true} THEN '1' ELSE '0' END", f"CASE WHEN {true} THEN 1 ELSE 0 END::DOUBLE"


def _level(column: Column, cell: str) -> str:
    return f"{cell} IN ({', '.join(map(literal, column.levels))})"


def _finite(column: Column, number: str) -> str:
    # Bounds are spelled as text and cast, so that they are doubles and not decimals.
    lower, upper = (f"{literal(repr(bound))}::DOUBLE" for bound in (column.lower, column.upper))
    return f"isfinite({number}) AND {number} BETWEEN {lower} AND {upper}"
