"""Several files as one table: the rows of each as cells in one order, beside what the directories above it say of all its rows.

Parquet files of one schema and one partition are scanned together, without being held; text is cut line by line. Arrow is written
anew as Parquet in the private directory first, as an upload is. A column has one type in all files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.core.statistics import RowRequest
from app.errors import DataMissing, InvalidInput, InvalidRows, PosternError, RowProblem, Unavailable, UnsupportedFormat
from app.sources.cell_rules import TEXT
from app.sources.dialects.duckdb import DUCK
from app.sources.duckdb_rows import UploadReport, in_our_words, report_of_scan
from app.sources.engine import Connection, EngineError, Limits, open_engine
from app.sources.files.arrow_to_parquet import write_parquet
from app.sources.files.csv_lines import count_lines
from app.sources.files.formats import Format, decide_format
from app.sources.files.found_files import FoundFile, FoundFiles
from app.sources.row_statistics import Exact, TooManyRows, check_request, refuse_more, statistic_of_scan
from app.sources.scans import Scan, parquet_rows, stored_cells
from app.sources.tables.row_checks import count_people
from app.sources.typed_rows import PROBLEMS_MAX, FileCell, stored_names, typed_rows
from app.sources.uploads import UploadStore

ARROW_BYTES_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class ManyFiles:
    """`find` raises DataMissing if they are gone. `people` is what was declared as n: files are added where such files lie, and
    rows of other people are not those the guarantee is about."""

    find: Callable[[], FoundFiles]
    columns: Mapping[str, Column]
    unit: PrivacyUnit
    uploads: UploadStore
    limits: Limits
    rows_max: int | None = None
    people: int | None = None
    other_columns: OtherColumns = "ignore"

    def present(self) -> bool:
        try:
            self.find()
        except DataMissing:
            return False
        return True

    def validate(self, n: int | None) -> UploadReport:
        refusal: PosternError
        try:
            with self._opened() as (connection, files):
                lines = sum(count_lines(each.path) - 1 for each in files if each.file_format == "csv")
                scan = self._scan(connection, files, forgiving=False)
                if all(each.file_format == "csv" for each in files):
                    report = report_of_scan(connection, scan, self.columns, self.unit, n, self.limits, lines + 1)
                else:
                    report = report_of_scan(connection, scan, self.columns, self.unit, n, self.limits)
        except (EngineError, UnicodeError, OSError) as error:
            refusal = in_our_words(error, "parquet", self.limits)
        else:
            if self.rows_max is not None and report.rows > self.rows_max:
                raise InvalidInput("source.rows_max", "at least the number of rows in the files")
            return report
        # Raised out here, where the engine's error is no longer its context: that one may quote rows.
        raise refusal

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        (found,) = self.statistics([request], hash_key)
        exact: Exact = found
        return exact

    def statistics(self, requests: Sequence[RowRequest[Any]], hash_key: bytes) -> tuple[Any, ...]:
        """Of the same list of files. Whoever may write below a root is trusted not to change them meanwhile."""
        for request in requests:
            check_request(request, self.columns, hash_key)
        files = self.find()
        return tuple(self._statistic(files, request, hash_key) for request in requests)

    def _statistic(self, found: FoundFiles, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        failure: PosternError
        try:
            with self._opened(found) as (connection, files):
                scan = self._scan(connection, files, forgiving=True)
                refuse_more(connection, scan, self.rows_max)
                self._count(connection, scan)
                return statistic_of_scan(connection, scan, self.unit, self.columns, request, hash_key)
        except TooManyRows:
            failure = DataMissing("the files have more rows than their declared rows_max")
        except (InvalidRows, UnsupportedFormat):
            failure = DataMissing("the files no longer have the declared columns")
        except (OSError, EngineError, UnicodeError):
            failure = Unavailable("the rows could not be read", retry_after_s=60)
        raise failure

    def _count(self, connection: Connection, scan: Scan) -> None:
        if self.people is None:
            return

        def run(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql).fetchall()

        ((rows,),) = run(f"SELECT count(*) FROM {scan.table}")  # noqa: S608 - declared names only
        people, _ = count_people(run, scan, self.unit, int(rows))
        if people != self.people:
            raise DataMissing("the files have another number of people than was declared")

    @contextmanager
    def _opened(self, found: FoundFiles | None = None) -> Iterator[tuple[Connection, list["_Readable"]]]:
        with self.uploads.spill() as folder:
            files = [self._readable(each, folder, place) for place, each in enumerate(found or self.find())]
            with open_engine([each.path for each in files], self.uploads, self.limits) as connection:
                yield connection, files

    def _readable(self, file: FoundFile, folder: Path, place: int) -> "_Readable":
        held = stored_names(self.columns, self.unit)
        partition = tuple((name, value) for name, value in file.partition if name in held)
        file_format = decide_format(None, file.path)
        if file_format != "arrow":
            return _Readable(file.path, file_format, partition)
        names = set(held) - {name for name, _ in partition}
        path = folder / f"{place}.parquet"
        write_parquet(file.path, path, names, ARROW_BYTES_MAX)
        return _Readable(path, "parquet", partition)

    def _scan(self, connection: Connection, files: Sequence["_Readable"], *, forgiving: bool) -> Scan:
        """Raises InvalidRows about columns."""
        names = stored_names(self.columns, self.unit)
        parts: dict[_Part, list[Path]] = {}
        for each in files:
            parts.setdefault(self._part(connection, each, names, forgiving=forgiving), []).append(each.path)
        problems = [
            RowProblem(1, name, "one type in all files")
            for place, name in enumerate(names)
            if len({part.types[place] for part in parts}) > 1
        ]
        if problems:
            raise InvalidRows(problems[:PROBLEMS_MAX])
        tables = [part.table or _parquet_table(names, part.partition, paths) for part, paths in parts.items()]
        first = next(iter(parts))
        places = {name: FileCell(f"c{place}", first.types[place]) for place, name in enumerate(names)}
        others = tuple(dict.fromkeys(name for part in parts for name in part.others))
        rows = f"({' UNION ALL '.join(tables)})"
        first_line = 2 if files[0].file_format == "csv" else 1
        return Scan(*typed_rows(rows, places, self.columns, self.unit), first_line, others, self.columns)

    def _part(self, connection: Connection, file: "_Readable", names: Sequence[str], *, forgiving: bool) -> "_Part":
        told = dict(file.partition)
        columns = {name: column for name, column in self.columns.items() if name not in told}
        unit = PrivacyUnit() if self.unit.column in told else self.unit
        stored = stored_cells(
            connection,
            file.path,
            file.file_format,
            columns,
            unit,
            forgiving=forgiving,
            other_columns=self.other_columns,
        )
        twice = [
            RowProblem(1, name, "each column once, in the files or in their path")
            for name in told
            if name in stored.others
        ]
        if twice:
            raise InvalidRows(twice)
        types = tuple(TEXT if name in told else stored.places[name].engine_type for name in names)
        if file.file_format != "csv":
            return _Part(file.partition, types, stored.others)
        cells = {name: stored.places[name].cell for name in names if name not in told}
        table = f"SELECT whole, {_selected(names, cells, told)} FROM {stored.table}"  # noqa: S608 - declared names only
        return _Part(file.partition, types, stored.others, table)


@dataclass(frozen=True, slots=True)
class _Readable:
    """`partition`: of declared columns only."""

    path: Path
    file_format: Format
    partition: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """Files that are scanned as one: of one schema in one partition, or one file of text, whose `table` has its name in it."""

    partition: tuple[tuple[str, str | None], ...]
    types: tuple[str, ...]
    others: tuple[str, ...]
    table: str | None = None


def _parquet_table(names: Sequence[str], partition: Sequence[tuple[str, str | None]], paths: Sequence[Path]) -> str:
    cells = {name: DUCK.name(name) for name in names}
    return f"SELECT true AS whole, {_selected(names, cells, dict(partition))} FROM {parquet_rows(paths)}"  # noqa: S608


def _selected(names: Sequence[str], cells: Mapping[str, str], told: Mapping[str, str | None]) -> str:
    """Of every file the same columns in the same order."""
    return ", ".join(
        f"{_told(told[name]) if name in told else cells[name]} AS c{place}" for place, name in enumerate(names)
    )


def _told(value: str | None) -> str:
    return DUCK.cast("NULL" if value is None else DUCK.text(value), TEXT)
