"""Exact integer statistics of a file that was validated when it came in.

Total: a cell that is not allowed counts as a value its statistic names, no row is refused for its
values, and nothing here looks at how many rows there ought to be. The result does not depend on
the order of rows, on chunks or threads, nor on whether the file is CSV or Parquet.

To add a statistic: a file with a class like `LatticeSum`, and a line in `STATISTICS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from app.core.schema import Column, PrivacyUnit
from app.core.statistics import (
    CountsRequest,
    ExactSeveral,
    GroupedRequest,
    HistogramRequest,
    MomentsRequest,
    RowRequest,
    SeveralRequest,
    StatisticRequest,
)
from app.errors import DataMissing, InvalidRows, PosternError, Unavailable
from app.sources.cell_rules import CellRule
from app.sources.count_statistics import LevelCounts
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.engine import Connection, EngineError, Limits, open_engine
from app.sources.files.formats import Format
from app.sources.grouping.group_statistics import OncePerGroup
from app.sources.grouping.keyed_rows import Keys
from app.sources.histogram_statistics import BinCounts
from app.sources.kept_rows import kept_scan
from app.sources.moment_statistics import ProductMoments
from app.sources.row_choice import counted_rows
from app.sources.scans import Scan, open_scan
from app.sources.several_statistics import SideBySide, renamed, shifted
from app.sources.sum_statistics import LatticeSum
from app.sources.uploads import UploadStore

HASH_KEY_BYTES_MIN = 16

Exact = TypeVar("Exact")


class TooManyRows(Exception):
    """A file has grown beyond the limit its steward declared."""


class RowStatistic(Protocol):
    """One aggregate over the rows that count. Requests are of the type it is registered for."""

    def check(self, request: Any, columns: Mapping[str, Column]) -> None:
        """InvalidModel for columns it cannot be of; nothing has been read then."""

    def cells(
        self, request: Any, columns: Mapping[str, Column], rules: Mapping[str, CellRule], dialect: Dialect
    ) -> Sequence[str]:
        """SQL over the scan of what each row brings; total, and never NULL."""

    def width(self, request: Any) -> int:
        """How many cells there are of it."""

    def totals(self, request: Any, table: str, keys: Keys, dialect: Dialect) -> str:
        """The statement over a table with those cells as v0, v1, …; by keys, where there are any, which come first."""

    def exact(self, request: Any, found: Sequence[tuple[Any, ...]]) -> Any:
        """What the statement found, without keys, as the type the request asks for."""


STATISTICS: dict[type[RowRequest[Any]], RowStatistic] = {
    StatisticRequest: LatticeSum(),
    CountsRequest: LevelCounts(),
    HistogramRequest: BinCounts(),
    MomentsRequest: ProductMoments(),
    GroupedRequest: OncePerGroup(lambda request: STATISTICS[type(request)]),
}

SEVERAL = SideBySide(lambda request: STATISTICS[type(request)])
"""Of a `SeveralRequest`, whose parts are any of these."""


def compute(
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    request: RowRequest[Exact],
    hash_key: bytes,
    *,
    uploads: UploadStore,
    limits: Limits | None = None,
    rows_max: int | None = None,
) -> Exact:
    """The statistic over the rows that count (`counted_rows`), and their number. Blocking.

    Of a `kept` file every row counts: they were chosen when it was written. A file with more than `rows_max` rows is not
    read beyond the first of them too many.

    Raises InvalidModel for columns the statistic cannot be of, before anything is read; DataMissing
    if the file or its columns are gone, Unavailable if it cannot be read now. The last two may
    depend on the data: what was charged stays charged.
    """
    check_request(request, columns, hash_key)
    if not path.is_file():
        raise DataMissing("the rows are not there any more")
    failure: PosternError
    try:
        with open_engine(path, uploads, limits or Limits()) as connection:
            if file_format == "kept":
                scan, unit = kept_scan(path, columns), PrivacyUnit()
            else:
                scan = open_scan(connection, path, file_format, columns, unit, forgiving=True)
                refuse_more(connection, scan, rows_max)
            return statistic_of_scan(connection, scan, unit, columns, request, hash_key)
    except TooManyRows:
        failure = DataMissing("the file has more rows than its declared rows_max")
    except InvalidRows:
        failure = DataMissing("the rows no longer have the declared columns")
    except (OSError, EngineError, UnicodeError):
        failure = Unavailable("the rows could not be read", retry_after_s=60)
    # Raised out here, where the engine's error is no longer its context: that one may quote rows.
    raise failure


class CountedRows(Protocol):
    """The rows of one engine that count, as often as a statement asks for them, always the same."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def scan(self) -> Scan: ...

    def tables(self, cells: Sequence[str], statements: int) -> str:
        """SQL of a table with a column v0, v1, … for each of `cells`, which so many statements are of."""

    def run(self, sql: str) -> Sequence[tuple[Any, ...]]: ...


@dataclass(frozen=True, slots=True)
class _DuckRows:
    connection: Connection
    scan: Scan
    unit: PrivacyUnit
    hash_key: bytes = field(repr=False)
    dialect: Dialect = DUCK

    def tables(self, cells: Sequence[str], statements: int) -> str:
        """Where rows are a text to be parsed and more than one statement needs them, their cells are kept for the others: rows
        are read once, and all parts are of the same ones."""
        table = counted_rows(self.connection, self.scan, self.unit, self.hash_key, cells)
        if statements > 1 and self.unit.column is None and not self.scan.kept:
            self.connection.execute(f"CREATE TEMP TABLE counted AS SELECT * FROM {table}")  # noqa: S608 - declared names only
            return "counted"
        return table

    def run(self, sql: str) -> Sequence[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()


def check_request(request: RowRequest[Any], columns: Mapping[str, Column], hash_key: bytes) -> None:
    """InvalidModel for columns the statistic cannot be of; nothing has been read then."""
    if isinstance(request, SeveralRequest):
        SEVERAL.check(request, columns)
    else:
        STATISTICS[type(request)].check(request, columns)
    if len(hash_key) < HASH_KEY_BYTES_MIN:
        raise ValueError(f"hash_key needs at least {HASH_KEY_BYTES_MIN} bytes")


def exact_of(rows: CountedRows, columns: Mapping[str, Column], request: RowRequest[Exact]) -> Exact:
    if isinstance(request, SeveralRequest):
        # what a request of several is answered with is known by its class, which a type variable cannot say
        return cast(Exact, _side_by_side(rows, columns, request))
    statistic = STATISTICS[type(request)]
    table = rows.tables(statistic.cells(request, columns, rows.scan.rules, rows.dialect), 1)
    exact: Exact = statistic.exact(request, rows.run(statistic.totals(request, table, (), rows.dialect)))
    return exact


def _side_by_side(rows: CountedRows, columns: Mapping[str, Column], request: SeveralRequest) -> ExactSeveral:
    statements = SEVERAL.statements(request, columns, rows.scan.rules, rows.dialect)
    cells, places = shifted(statements)
    table = rows.tables(cells, len(statements))
    tables = [renamed(table, own) for own in places]
    return SEVERAL.run(request, statements, tables, rows.run, rows.dialect)


def statistic_of_scan(
    connection: Connection,
    scan: Scan,
    unit: PrivacyUnit,
    columns: Mapping[str, Column],
    request: RowRequest[Exact],
    hash_key: bytes,
) -> Exact:
    """By the engine inside. Its errors come through."""
    return exact_of(_DuckRows(connection, scan, unit, hash_key), columns, request)


def refuse_more(connection: Connection, scan: Scan, rows_max: int | None) -> None:
    """A person's rows must not stretch the reading beyond what `rows_max` says it takes: counting stops at the limit."""
    if rows_max is None:
        return
    counted = connection.execute(
        f"SELECT count(*) FROM (SELECT whole FROM {scan.table} LIMIT {rows_max + 1})"  # noqa: S608 - a number
    ).fetchone()
    if counted is None or counted[0] > rows_max:
        raise TooManyRows
