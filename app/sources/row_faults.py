"""What is wrong with the rows, told by column: how many cells, where first, what was expected, and which policy would take them.

For the steward who sent them, in the answer to the upload and nowhere else. Policies are suggested, bounds and levels never:
numbers that are chosen by looking at the rows are a function of the rows, and the guarantee does not count them.

Every bad cell has one fault, the first that applies: nothing there (`missing`), a number beyond the bounds (`outside`), a
fraction in a column of whole numbers (`fraction`), or something else (`spelling`). Counts and line numbers leave the engine,
cells do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.schema import Column
from app.errors import ColumnFault, RowProblem
from app.sources.cell_rules import CellRule, example_of_date
from app.sources.engine import Connection
from app.sources.files.csv_lines import ROW
from app.sources.scans import Scan
from app.sources.typed_rows import PROBLEMS_MAX

LINES_TOLD = 3
COLUMNS_TOLD = 50
_KINDS = ("missing", "outside", "fraction", "spelling")


@dataclass(frozen=True, slots=True)
class _Words:
    """What such cells are, after their number, and which policy would take them."""

    are: str
    advice: str | None


_MISSING = _Words("missing", "declare what a missing cell counts as with `missing`")
_OUTSIDE = _Words(
    "outside the declared bounds", "declare `outside: clip`; bounds come from public knowledge, not from rows"
)
_FRACTION = _Words("not whole", "declare the column as real")
_NO_NUMBER = _Words(
    "no number",
    "declare `decimal: comma` if that is how they are written, or texts that mean no value as `missing_spellings`",
)
_NO_LEVEL = _Words("none of the declared levels", "declare a spelling, or `outside: other`")
_NO_LEVEL_AS_WRITTEN = _Words(
    _NO_LEVEL.are, "declare a spelling, `fold_case` if only capitals differ, or `outside: other`"
)
_NO_BINARY = _Words("neither yes nor no", "declare spellings with `true` and `false`")
_NO_PERSON = _Words("no identifier of a person", None)
_NO_COMMA_NUMBER = _Words(
    _NO_NUMBER.are,
    "write a decimal comma, points between thousands only where it follows, or declare texts that mean no value as "
    "`missing_spellings`",
)
_NO_DATE = _Words("no dates", "declare how days are `written`, or texts that mean no value as `missing_spellings`")
_SPELLING = {
    "real": _NO_NUMBER,
    "integer": _NO_NUMBER,
    "categorical": _NO_LEVEL,
    "binary": _NO_BINARY,
    "date": _NO_DATE,
}


def faults_of(connection: Connection, scan: Scan) -> tuple[list[RowProblem], list[ColumnFault]]:
    """The first bad cells in line order, and all of them by column, ragged records first; at most COLUMNS_TOLD columns.

    The file is gone through once: what is kept of a bad record is its line and a number a cell.
    """
    places = {name: f"f{place}" for place, name in enumerate(scan.rules)}
    cells = ", ".join(f"{_fault_sql(scan, name)} AS {place}" for name, place in places.items())
    connection.execute(
        f"CREATE TEMP TABLE faults AS SELECT line, whole, {cells} FROM {_numbered(scan)} "  # noqa: S608 - declared names only
        f"WHERE NOT ({scan.allowed})"
    )
    faulty = connection.execute(f"SELECT {', '.join(f'count({place})' for place in places.values())} FROM faults")  # noqa: S608
    named = [name for name, count in zip(places, faulty.fetchone() or (), strict=True) if count]
    told = _ragged(connection, scan)
    for name in named[:COLUMNS_TOLD]:
        told += _faults_in(connection, scan, name, places[name])
    return _first_problems(connection, scan, list(places.values())), told


def _first_problems(connection: Connection, scan: Scan, places: Sequence[str]) -> list[RowProblem]:
    records = connection.execute(
        f"SELECT line, whole, [{', '.join(places)}] FROM faults ORDER BY line LIMIT {PROBLEMS_MAX}"  # noqa: S608
    ).fetchall()
    problems = []
    for line, whole, faults in records:
        if not whole:
            problems.append(RowProblem(line, ROW, scan.shape))
        problems += [
            RowProblem(line, rule.name, rule.expected)
            for rule, fault in zip(scan.rules.values(), faults, strict=True)
            if fault is not None
        ]
    return problems[:PROBLEMS_MAX]


def _ragged(connection: Connection, scan: Scan) -> list[ColumnFault]:
    ((rows, lines),) = connection.execute(
        f"SELECT count(*), min(line, {LINES_TOLD}) FROM faults WHERE NOT whole"  # noqa: S608
    ).fetchall()
    if not rows:
        return []
    return [ColumnFault(ROW, "shape", "not of the shape of the header", rows, tuple(lines), scan.shape)]


def _faults_in(connection: Connection, scan: Scan, name: str, place: str) -> list[ColumnFault]:
    rows = connection.execute(
        f"SELECT {place}, count(*), min(line, {LINES_TOLD}) FROM faults WHERE {place} IS NOT NULL "  # noqa: S608
        f"GROUP BY {place} ORDER BY {place}"
    ).fetchall()
    rule, column = scan.rules[name], scan.columns.get(name)
    return [_told(rule, column, _KINDS[kind], int(cells), lines) for kind, cells, lines in rows]


def _told(rule: CellRule, column: Column | None, kind: str, cells: int, lines: Sequence[int]) -> ColumnFault:
    words = _words(column, kind)
    example = None if column is None or column.derived is not None else _example(column)
    return ColumnFault(rule.name, kind, words.are, cells, tuple(lines), rule.expected, example, words.advice)


def _words(column: Column | None, kind: str) -> _Words:
    if column is None:
        return _NO_PERSON
    if kind == "spelling" and column.type == "categorical" and not column.fold_case:
        return _NO_LEVEL_AS_WRITTEN
    if kind == "spelling" and column.decimal == "comma":
        return _NO_COMMA_NUMBER
    return {"missing": _MISSING, "outside": _OUTSIDE, "fraction": _FRACTION}.get(kind) or _SPELLING[column.type]


def _example(column: Column) -> str:
    """From the schema, never from a row."""
    if column.type == "categorical":
        return column.levels[0]
    if column.type == "binary":
        return "1"
    if column.type == "date":
        return example_of_date(column)
    if column.type == "integer":
        return f"{column.lower:.0f}"
    return repr(column.lower).replace(".", "," if column.decimal == "comma" else ".")


def _fault_sql(scan: Scan, name: str) -> str:
    """SQL of the place in _KINDS of a cell; NULL if it is good, or of a record that is not whole."""
    rule, column = scan.rules[name], scan.columns.get(name)
    fine = f"NOT whole OR coalesce({rule.valid}, false)"
    if column is None or not column.numeric:
        return f"CASE WHEN {fine} THEN NULL WHEN {rule.gone} THEN 0 ELSE 3 END::TINYINT"
    fraction = (
        f"isfinite({rule.found}) AND {rule.found} <> trunc({rule.found})" if column.type == "integer" else "false"
    )
    faults = f"WHEN {rule.gone} THEN 0 WHEN {rule.beyond} THEN 1 WHEN {fraction} THEN 2 ELSE 3"
    return f"CASE WHEN {fine} THEN NULL {faults} END::TINYINT"


def _numbered(scan: Scan) -> str:
    return f"(SELECT row_number() OVER () + {scan.first_line - 1} AS line, * FROM {scan.table})"  # noqa: S608
