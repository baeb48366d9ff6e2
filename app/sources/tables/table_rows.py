"""The rows of a table elsewhere, checked and added up where they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.core.statistics import GroupedRequest, HistogramRequest, RowRequest, SeveralRequest, StatisticRequest
from app.errors import (
    ColumnFault,
    DataMissing,
    InvalidInput,
    InvalidRows,
    PosternError,
    RowProblem,
)
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.postgresql import POSTGRES
from app.sources.duckdb_rows import UploadReport
from app.sources.engine import Limits
from app.sources.files.csv_lines import ROW
from app.sources.grouping.strata_counts import count_strata
from app.sources.row_choice import chosen_rows
from app.sources.row_statistics import Exact, check_request, exact_of
from app.sources.scans import Scan
from app.sources.tables.postgresql_session import GONE, Session, open_session
from app.sources.tables.postgresql_table import scan_table
from app.sources.tables.row_checks import count_cells, count_people, public_values, scattered
from app.sources.tables.streamed_rows import statistic_inside
from app.sources.typed_rows import PROBLEMS_MAX
from app.sources.uploads import UploadStore

_TOO_MANY = "at least the number of rows in the table"


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Those of a scan that count, for `exact_of`."""

    session: Session
    scan: Scan
    unit: PrivacyUnit
    dialect: Dialect = POSTGRES

    def tables(self, cells: Sequence[str], statements: int) -> str:
        return chosen_rows(self.scan, self.unit, cells, self.dialect)

    def run(self, sql: str) -> Sequence[tuple[Any, ...]]:
        return self.session.run(sql)


@dataclass(frozen=True, slots=True)
class TableRows:
    """`url` gives the operator's address of the database, with its secret; `people` and `strata` are the
    public numbers that were declared, or counted when it was: rows that have others are not those the guarantee is about."""

    url: Callable[[], str]
    table: str
    rows_max: int
    columns: Mapping[str, Column]
    unit: PrivacyUnit
    uploads: UploadStore
    limits: Limits
    people: int | None = None
    strata: Mapping[str, Any] | None = None
    other_columns: OtherColumns = "ignore"

    def present(self) -> bool:
        """Whether there is such a table, by the catalogue: no row is looked at. Unavailable if nobody answers."""
        try:
            with self._scan() as _:
                return True
        except (DataMissing, InvalidRows):
            return False

    def validate(self, n: int | None) -> UploadReport:
        with self._scan() as (session, scan):
            ((rows, refused),) = session.run(
                f"SELECT count(*), count(*) FILTER (WHERE NOT ({scan.allowed})) FROM {scan.table}"  # noqa: S608
            )
            if rows > self.rows_max:
                raise InvalidInput("source.rows_max", _TOO_MANY)
            if rows == 0:
                raise InvalidRows([RowProblem(1, ROW, "at least one row")])
            if refused:
                raise _refused(session, scan)
            self._check_public(session, scan)
            people, clipped = count_people(session.run, scan, self.unit, rows)
            if n is not None and people != n:
                raise InvalidInput("n", f"the number of people in the rows, {people}, not {n}")
            strata = count_strata(session.run, scan, self.columns, self.unit, POSTGRES)
            missing, outside = count_cells(session.run, scan, self.columns)
        return UploadReport(int(rows), people, clipped, scan.others, missing, outside, strata)

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        (found,) = self.statistics([request], hash_key)
        exact: Exact = found
        return exact

    def statistics(self, requests: Sequence[RowRequest[Any]], hash_key: bytes) -> tuple[Any, ...]:
        """All of the same snapshot, in which people are counted too: another number than was declared is DataMissing."""
        for request in requests:
            check_request(request, self.columns, hash_key)
        failure: PosternError
        try:
            with self._scan() as (session, scan):
                self._count(session, scan)
                session.choose_by(hash_key)
                return tuple(self._statistic(session, scan, request, hash_key) for request in requests)
        except InvalidRows:
            failure = DataMissing(GONE)
        raise failure

    def _statistic(self, session: Session, scan: Scan, request: RowRequest[Any], hash_key: bytes) -> Any:
        if not agreed(request):
            return statistic_inside(
                session, scan, self.unit, self.columns, request, hash_key, self.uploads, self.limits
            )
        return exact_of(ChosenRows(session, scan, self.unit), self.columns, request)

    def _count(self, session: Session, scan: Scan) -> None:
        ((rows,),) = session.run(f"SELECT count(*) FROM (SELECT FROM {scan.table} LIMIT {self.rows_max + 1}) AS few")  # noqa: S608
        if rows > self.rows_max:
            raise DataMissing("the table has more rows than its declared rows_max")
        people, _ = count_people(session.run, scan, self.unit, rows)
        if self.people is not None and people != self.people:
            raise DataMissing("the table has another number of people than was declared")
        if self.strata is not None:
            found = count_strata(session.run, scan, self.columns, self.unit, POSTGRES)
            if found is None or found.as_json() != self.strata:
                raise DataMissing("the table has other numbers of people by public columns than were counted")

    def _check_public(self, session: Session, scan: Scan) -> None:
        values = public_values(scan, self.columns, self.unit)
        if self.unit.column is None:
            return
        found = scattered(session.run, scan, scan.rules[self.unit.column].canonical, values)
        if found:
            raise InvalidRows(
                [RowProblem(1, name, "one value for all rows of a person") for name in found][:PROBLEMS_MAX]
            )

    def _scan(self) -> AbstractContextManager[tuple[Session, Scan]]:
        return _opened(self)


@contextmanager
def _opened(rows: TableRows) -> Iterator[tuple[Session, Scan]]:
    with open_session(rows.url(), rows.limits) as session:
        yield session, scan_table(session, rows.table, rows.columns, rows.unit, rows.other_columns)


def agreed(request: RowRequest[Any]) -> bool:
    """Whether every engine computes it alike. Logarithms and powers differ in the last digit in one value of ten."""
    if isinstance(request, StatisticRequest):
        return request.transform not in ("power", "log_ratio")
    if isinstance(request, HistogramRequest | GroupedRequest):
        return agreed(request.of)
    return not isinstance(request, SeveralRequest) or all(map(agreed, request.parts))


def _refused(session: Session, scan: Scan) -> InvalidRows:
    """By column and for the steward: how many cells are not what was declared. Rows of a table have no number to name them by."""
    counts = ", ".join(f"count(*) FILTER (WHERE NOT coalesce({rule.valid}, false))" for rule in scan.rules.values())
    (found,) = session.run(f"SELECT {counts} FROM {scan.table}")  # noqa: S608
    faults = [
        ColumnFault(rule.name, "refused", "not what was declared", int(cells), (), rule.expected)
        for rule, cells in zip(scan.rules.values(), found, strict=True)
        if cells
    ]
    return InvalidRows([RowProblem(1, fault.column, fault.expected) for fault in faults][:PROBLEMS_MAX], faults)
