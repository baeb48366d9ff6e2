"""The one interface every engine offers, and the registry of kinds.

To add an engine: `docs/adding-an-engine.md`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import SecretStr

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.core.statistics import RowRequest
from app.errors import DataMissing, InvalidInput, InvalidSchema, Unavailable, UnsupportedFormat
from app.sources.data_key import DataKey
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.engine import Limits
from app.sources.files.formats import Format, sniff
from app.sources.files.found_files import FoundFiles, resolve_files
from app.sources.files.many_files import ManyFiles
from app.sources.kept_rows import COLUMNS_FILE
from app.sources.row_statistics import Exact, compute
from app.sources.sealed_files import is_sealed, opens_with, unseal
from app.sources.source_spec import SourceSpec, resolve_file
from app.sources.uploads import UploadStore
from app.sources.vouched.sealed_source import SealedStatistics


class RowSource(Protocol):
    """Rows that can be checked once and summed any number of times. Both calls block."""

    def validate(self, n: int | None) -> UploadReport:
        """Strict, for the steward's eyes: InvalidRows, UnsupportedFormat, InvalidInput about `n`."""

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        """Total: exact integers, whatever the cells hold. DataMissing or Unavailable if unreadable."""

    def statistics(self, requests: Sequence[RowRequest[Any]], hash_key: bytes) -> tuple[Any, ...]:
        """Several, of rows as they were at one time: what a release is charged for is one dataset."""

    def present(self) -> bool:
        """Whether there is something to read, and to open it with. No row is looked at, so a failure here cannot depend on
        one. Unavailable where nobody can tell."""


class Report(Protocol):
    """Hears how far a reading is, if its source can tell: for the eyes of whoever owns the rows. Called from any thread."""

    def __call__(self, stage: str, done: int | None, total: int | None) -> None: ...


def unheard(stage: str, done: int | None, total: int | None) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What opening a source needs beside its declaration; all of it public or private to the server."""

    columns: Mapping[str, Column]
    unit: PrivacyUnit
    uploads: UploadStore
    upload_name: str | None = None
    roots: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    data_key: Callable[[], DataKey] | None = None
    """Opens uploads that lie sealed; asked for when one is first met."""
    other_columns: OtherColumns = "ignore"
    vouched: SealedStatistics | None = None
    """What was sealed for the release that is to be drawn, where a source has no rows."""
    report: Report = unheard
    connections: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)
    people: int | None = None
    strata: Mapping[str, Any] | None = None
    """What was declared as n, and what was counted by public columns, for sources whose rows may have changed since."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one file, which is looked up anew for every reading. `find` raises DataMissing if it is gone."""

    find: Callable[[], Path]
    context: SourceContext
    rows_max: int | None = None

    def validate(self, n: int | None) -> UploadReport:
        path, context = self.find(), self.context
        report = validate(
            path,
            sniff(path),
            context.columns,
            context.unit,
            n,
            uploads=context.uploads,
            limits=context.limits,
            other_columns=context.other_columns,
        )
        if self.rows_max is not None and report.rows > self.rows_max:
            raise InvalidInput("source.rows_max", "at least the number of rows in the file")
        return report

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        path, context = self.find(), self.context
        context.report("reading", None, _size(path))
        return compute(
            path,
            _format_now(path),
            context.columns,
            context.unit,
            request,
            hash_key,
            uploads=context.uploads,
            limits=context.limits,
            rows_max=self.rows_max,
        )

    def statistics(self, requests: Sequence[RowRequest[Any]], hash_key: bytes) -> tuple[Any, ...]:
        """Whoever may write a file that is read where it lies is trusted not to change it meanwhile."""
        return tuple(self.statistic(request, hash_key) for request in requests)

    def present(self) -> bool:
        try:
            self.find()
        except DataMissing:
            return False
        return True


@dataclass(frozen=True, slots=True)
class UploadedRows(FileRows):
    """Rows in the private store: sealed columns; or, of uploads made before these were, the file as it was sent."""

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        path, context = self.find(), self.context
        try:
            if not is_sealed(path):
                return FileRows.statistic(self, request, hash_key)
            with context.uploads.spill() as folder:
                plain = folder / COLUMNS_FILE
                size = _size(path)
                context.report("opening", 0, size)
                unseal(path, plain, _key(context), lambda done: context.report("opening", done, size))
                context.report("reading", None, size)
                return compute(
                    plain,
                    "kept",
                    context.columns,
                    context.unit,
                    request,
                    hash_key,
                    uploads=context.uploads,
                    limits=context.limits,
                )
        except OSError:
            raise Unavailable("the rows cannot be read now", retry_after_s=60) from None

    def present(self) -> bool:
        if not FileRows.present(self):
            return False
        path = self.find()
        return not is_sealed(path) or opens_with(path, _key(self.context))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _key(context: SourceContext) -> DataKey:
    if context.data_key is None:
        raise DataMissing("there is no data key to open the rows with")
    return context.data_key()


def _format_now(path: Path) -> Format:
    try:
        return sniff(path)
    except UnsupportedFormat:
        raise DataMissing("the rows are no longer what was checked") from None
    except OSError:
        raise Unavailable("the rows cannot be read now", retry_after_s=60) from None


def _open_upload(spec: SourceSpec, context: SourceContext) -> RowSource:
    """The rows a steward streamed in, in the private store."""

    def find() -> Path:
        name = context.upload_name
        path = None if name is None else context.uploads.path(name)
        if path is None or not path.is_file():
            raise DataMissing("no rows have been uploaded, or they were wiped after use")
        return path

    return UploadedRows(find, context)


def _open_file(spec: SourceSpec, context: SourceContext) -> RowSource:
    """A file below an allowed root, read where it lies."""

    def find() -> Path:
        try:
            return resolve_file(spec.path, context.roots)
        except InvalidSchema:
            raise DataMissing("the source file is not there any more") from None

    return FileRows(find, context, spec.rows_max)


def _open_statistics(spec: SourceSpec, context: SourceContext) -> RowSource:
    """What was sealed elsewhere for one release."""
    if context.vouched is None:
        raise DataMissing("there are no statistics but those that are sealed for a release")
    return context.vouched


def _open_files(spec: SourceSpec, context: SourceContext) -> RowSource:
    """Files below an allowed root that are one table, looked up anew for every reading."""

    def find() -> FoundFiles:
        try:
            return resolve_files(spec.path, context.roots)
        except InvalidSchema:
            raise DataMissing("the source files are not there any more") from None

    return ManyFiles(
        find,
        context.columns,
        context.unit,
        context.uploads,
        context.limits,
        spec.rows_max,
        context.people,
        context.other_columns,
    )


def _open_table(spec: SourceSpec, context: SourceContext) -> RowSource:
    """A table behind a connection that the operator named; what it was named for is looked up when it is read. The driver is
    loaded by whoever has such tables."""
    from app.sources.tables.table_rows import TableRows

    def url() -> str:
        found = context.connections.get(spec.connection or "")
        if found is None:
            raise DataMissing("the connection is not configured any more")
        return found.get_secret_value()

    return TableRows(
        url,
        spec.table or "",
        spec.rows_max or 0,
        context.columns,
        context.unit,
        context.uploads,
        context.limits,
        context.people,
        context.strata,
        context.other_columns,
    )


SOURCES: dict[str, Callable[[SourceSpec, SourceContext], RowSource]] = {
    "upload": _open_upload,
    "file": _open_file,
    "statistics": _open_statistics,
    "files": _open_files,
    "postgresql": _open_table,
}


def open_source(spec: SourceSpec, context: SourceContext) -> RowSource:
    """Nothing is read yet; a source that is gone says so when it is first read."""
    return SOURCES[spec.kind](spec, context)
