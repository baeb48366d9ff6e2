"""Exact integer statistics of a file that was validated when it came in.

Total: a cell that is not allowed counts as a value its statistic names, no row is refused for its
values, and nothing here looks at how many rows there ought to be. The result does not depend on
the order of rows, on chunks or threads, nor on whether the file is CSV or Parquet.

To add a statistic: a file with a class like `LatticeSum`, and a line in `STATISTICS`.
"""

from collections.abc import Mapping, Sequence
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

    def cells(self, request: Any, columns: Mapping[str, Column], rules: Mapping[str, CellRule]) -> Sequence[str]:
        """SQL over the scan of what each row brings; total, and never NULL."""

    def width(self, request: Any) -> int:
        """How many cells there are of it."""

    def totals(self, request: Any, table: str, keys: Keys = ()) -> str:
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
    if isinstance(request, SeveralRequest):
        SEVERAL.check(request, columns)
    else:
        STATISTICS[type(request)].check(request, columns)
    if len(hash_key) < HASH_KEY_BYTES_MIN:
        raise ValueError(f"hash_key needs at least {HASH_KEY_BYTES_MIN} bytes")
    if not path.is_file():
        raise DataMissing("the rows are not there any more")
    failure: PosternError
    try:
        with open_engine(path, uploads, limits or Limits()) as connection:
            if file_format == "kept":
                scan, unit = kept_scan(path, columns), PrivacyUnit()
            else:
                scan = open_scan(connection, path, file_format, columns, unit, forgiving=True)
                _refuse_more(connection, scan, rows_max)
            return _exact(connection, scan, unit, hash_key, columns, request)
    except TooManyRows:
        failure = DataMissing("the file has more rows than its declared rows_max")
    except InvalidRows:
        failure = DataMissing("the rows no longer have the declared columns")
    except (OSError, EngineError, UnicodeError):
        failure = Unavailable("the rows could not be read", retry_after_s=60)
    # Raised out here, where the engine's error is no longer its context: that one may quote rows.
    raise failure


def _exact(
    connection: Connection,
    scan: Scan,
    unit: PrivacyUnit,
    hash_key: bytes,
    columns: Mapping[str, Column],
    request: RowRequest[Exact],
) -> Exact:
    if isinstance(request, SeveralRequest):
        # what a request of several is answered with is known by its class, which a type variable cannot say
        return cast(Exact, _side_by_side(connection, scan, unit, hash_key, columns, request))
    statistic = STATISTICS[type(request)]
    table = counted_rows(connection, scan, unit, hash_key, statistic.cells(request, columns, scan.rules))
    found = connection.execute(statistic.totals(request, table)).fetchall()
    exact: Exact = statistic.exact(request, found)
    return exact


def _side_by_side(
    connection: Connection,
    scan: Scan,
    unit: PrivacyUnit,
    hash_key: bytes,
    columns: Mapping[str, Column],
    request: SeveralRequest,
) -> ExactSeveral:
    """From one table of the rows that count. Where that is a text to be parsed and more than one statement needs it, its cells
    are kept for the others: rows are read once, and all parts are of the same ones."""
    statements = SEVERAL.statements(request, columns, scan.rules)
    cells, places = shifted(statements)
    table = counted_rows(connection, scan, unit, hash_key, cells)
    if len(statements) > 1 and unit.column is None and not scan.kept:
        connection.execute(f"CREATE TEMP TABLE counted AS SELECT * FROM {table}")  # noqa: S608 - declared names only
        table = "counted"
    tables = [renamed(table, own) for own in places]
    return SEVERAL.run(request, statements, tables, lambda sql: connection.execute(sql).fetchall())


def _refuse_more(connection: Connection, scan: Scan, rows_max: int | None) -> None:
    """A person's rows must not stretch the reading beyond what `rows_max` says it takes: counting stops at the limit."""
    if rows_max is None:
        return
    counted = connection.execute(
        f"SELECT count(*) FROM (SELECT whole FROM {scan.table} LIMIT {rows_max + 1})"  # noqa: S608 - a number
    ).fetchone()
    if counted is None or counted[0] > rows_max:
        raise TooManyRows
