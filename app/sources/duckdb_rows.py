"""Strict validation at upload, inside the engine: only counts and line numbers come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.errors import (
    DataMissing,
    InvalidInput,
    InvalidRows,
    PayloadTooLarge,
    PosternError,
    RowProblem,
    Unavailable,
    UnsupportedFormat,
)
from app.sources.engine import Connection, EngineError, Limits, OutOfRoom, OutOfTime, open_engine
from app.sources.files.csv_lines import ROW, count_lines
from app.sources.files.formats import Format
from app.sources.grouping.strata_counts import Strata, count_strata
from app.sources.row_faults import faults_of
from app.sources.scans import Scan, open_scan
from app.sources.tables.row_checks import Run, count_cells, count_people, public_values, scattered
from app.sources.typed_rows import PROBLEMS_MAX
from app.sources.uploads import UploadStore


@dataclass(frozen=True, slots=True, repr=False)
class UploadReport:
    """What a file holds, for the steward alone.

    With a privacy unit the number of rows is private, and so is how many people
    have more than `max_rows` of them (`clipped_people`; the rest of their rows will
    not be counted). `people` is what the dataset declares as `n`.

    Cells that a policy gave a value, by column: without one of their own (`missing`), and beyond the bounds or levels
    (`outside`). Counts of private cells: they go into the answer to the upload, and are neither stored nor logged.
    """

    rows: int
    people: int
    clipped_people: int = 0
    ignored_columns: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    outside: Mapping[str, int] = field(default_factory=dict)
    strata: Strata | None = None
    """By public columns, where there are any: as public as n."""

    def __repr__(self) -> str:
        return "UploadReport(private)"


class Then(Protocol):
    """Something to do with good rows. Raises errors of ours only: those of the engine would be taken for bad rows."""

    @property
    def writes(self) -> Path: ...
    def run(self, connection: Connection, scan: Scan) -> None: ...


def validate(
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    n: int | None,
    *,
    uploads: UploadStore,
    limits: Limits | None = None,
    then: Then | None = None,
    other_columns: OtherColumns = "ignore",
    separator: str | None = None,
    unquoted: bool = False,
) -> UploadReport:
    """Check every cell of a file against the public schema. Blocking; call it in a thread.

    What comes `then`, of rows that were found good, may use the same engine: starting another takes longer than a small file.
    `unquoted` is CSV that was written anew without its quotes (`files/unquoted_cells.py`).

    Raises InvalidRows with the first problems in line order and all of them by column (never a value),
    UnsupportedFormat if the file cannot be read at all, PayloadTooLarge past a limit,
    InvalidInput about `n` if another number of people was declared.
    """
    limits = limits or Limits()
    try:
        report = _report(path, file_format, columns, unit, n, uploads, limits, then, other_columns, separator, unquoted)
    except (EngineError, UnicodeError, OSError) as error:
        refusal = in_our_words(error, file_format, limits)
    else:
        return report
    # Raised out here, where the engine's error is no longer its context: that one may quote rows.
    raise refusal


def _report(
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    n: int | None,
    uploads: UploadStore,
    limits: Limits,
    then: Then | None,
    other_columns: OtherColumns,
    separator: str | None,
    unquoted: bool,
) -> UploadReport:
    lines = _lines(path, file_format, limits, unquoted=unquoted)
    with open_engine(path, uploads, limits, writes=None if then is None else then.writes) as connection:
        form: dict[str, Any] = {"other_columns": other_columns, "separator": separator, "unquoted": unquoted}
        scan = open_scan(connection, path, file_format, columns, unit, **form)
        return report_of_scan(connection, scan, columns, unit, n, limits, lines, then)


def report_of_scan(
    connection: Connection,
    scan: Scan,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    n: int | None,
    limits: Limits,
    lines: int | None = None,
    then: Then | None = None,
) -> UploadReport:
    """`lines`: of text, with one header. Errors of the engine come through."""
    rows = _check_rows(connection, scan, limits)
    if lines is not None and rows != lines - 1:
        raise UnsupportedFormat("body", "CSV with one record a line")
    _check_public(connection, scan, columns, unit)
    people, clipped = count_people(_run(connection), scan, unit, rows)
    if n is not None and people != n:
        raise InvalidInput("n", f"the number of people in the rows, {people}, not {n}")
    strata = count_strata(_run(connection), scan, columns, unit)
    if then is not None:
        then.run(connection, scan)
    missing, outside = count_cells(_run(connection), scan, columns)
    return UploadReport(rows, people, clipped, scan.others, missing, outside, strata)


def _lines(path: Path, file_format: Format, limits: Limits, *, unquoted: bool) -> int | None:
    if file_format != "csv":
        return None
    lines = count_lines(path, unquoted=unquoted)
    if lines - 1 > limits.rows_max:
        raise PayloadTooLarge("body", f"at most {limits.rows_max} rows")
    return lines


def _check_rows(connection: Connection, scan: Scan, limits: Limits) -> int:
    counted = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE NOT ({scan.allowed})) FROM {scan.table}"  # noqa: S608
    ).fetchone()
    rows, refused = counted or (0, 0)
    if rows > limits.rows_max:
        raise PayloadTooLarge("body", f"at most {limits.rows_max} rows")
    if refused:
        problems, faults = faults_of(connection, scan)
        if not problems:
            raise UnsupportedFormat("body", "a file that reads the same twice")
        raise InvalidRows(problems, faults)
    if rows == 0:
        raise InvalidRows([RowProblem(scan.first_line, ROW, "at least one row")])
    return int(rows)


def _check_public(connection: Connection, scan: Scan, columns: Mapping[str, Column], unit: PrivacyUnit) -> None:
    """A public column is one fact about a person: strata are made of people, and rows must not scatter one over several."""
    values = public_values(scan, columns, unit)
    if unit.column is None or not values:
        return
    person = scan.rules[unit.column].canonical
    problems = []
    for name in scattered(_run(connection), scan, person, values):
        (first,) = connection.execute(
            f"SELECT min(line) FROM (SELECT line, value, first_value(value) OVER (PARTITION BY person ORDER BY line) AS told "  # noqa: S608
            f"FROM (SELECT row_number() OVER () + {scan.first_line - 1} AS line, {person} AS person, "
            f"{values[name]} AS value FROM {scan.table})) WHERE value IS DISTINCT FROM told"
        ).fetchall()[0]
        expected = "the value of this public column in the person's other rows"
        problems.append(RowProblem(int(first), name, expected))
    if problems:
        raise InvalidRows(sorted(problems, key=lambda problem: problem.line)[:PROBLEMS_MAX])


def _run(connection: Connection) -> Run:
    return lambda sql: connection.execute(sql).fetchall()


def in_our_words(error: Exception, file_format: Format, limits: Limits) -> PosternError:
    if isinstance(error, OutOfTime):
        return PayloadTooLarge("body", f"rows that can be checked in {limits.seconds:g} seconds")
    if isinstance(error, OutOfRoom):
        return Unavailable("the server has no room to check these rows", retry_after_s=60)
    if isinstance(error, FileNotFoundError):
        return DataMissing("the rows are not there any more")
    if isinstance(error, OSError):
        return Unavailable("the rows cannot be read now", retry_after_s=60)
    return UnsupportedFormat("body", "an intact Parquet file" if file_format == "parquet" else "CSV in UTF-8")
