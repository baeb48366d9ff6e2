"""Receive rows: stream to a private file, check them strictly, keep those that count, sealed, as the dataset's.

What was sent is wiped once the rows that count have been written as typed columns (`app/sources/kept_rows.py`): no release
ever reads what does not count. Bad cells are told to the steward, by column and line, and nothing is kept. `n` is fixed by the
first upload (or by declaration): it is part of the guarantee, so later uploads must bring the same number of people.

A check does the same up to the moment of keeping, and says the same.
"""

import asyncio
from collections.abc import AsyncIterator

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import Conflict, PayloadTooLarge, UnsupportedFormat
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.datasets.dataset_strata import strata_json
from app.services.datasets.read_datasets import owned
from app.services.principals import Steward
from app.services.runtime.failpoints import chunks_through, failpoint
from app.services.runtime.progress import Work, shown
from app.services.runtime.runtime import Runtime
from app.services.views import UploadView
from app.sources.data_key import SALT_BYTES
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.files import UNDECLARED, DeclaredForm, prepared
from app.sources.kept_rows import check_and_keep
from app.sources.typed_rows import stored_names
from app.sources.uploads import PartialUpload
from app.storage import datasets, releases
from app.storage.datasets import Dataset


async def upload_data(
    runtime: Runtime,
    *,
    steward: Steward,
    dataset_id: str,
    chunks: AsyncIterator[bytes],
    form: DeclaredForm = UNDECLARED,
    length: int | None = None,
) -> UploadView:
    """`length` is how many bytes will come, if that is known: for progress. Raises NotFound, UnsupportedFormat, PayloadTooLarge,
    InvalidRows, Conflict while releases are being drawn."""
    dataset = await _uploadable(runtime, steward, dataset_id, keeps=True)
    _refuse_long(runtime, length)
    async with shown(runtime, dataset_id) as work:
        return await _upload(runtime, steward, dataset, _counted(chunks, work, length), form, work)


async def _counted(chunks: AsyncIterator[bytes], work: Work, length: int | None) -> AsyncIterator[bytes]:
    work.enter("receiving", bytes_done=0, bytes_total=length)
    async for chunk in chunks:
        work.advance(len(chunk))
        yield chunk


async def _upload(
    runtime: Runtime,
    steward: Steward,
    dataset: Dataset,
    chunks: AsyncIterator[bytes],
    form: DeclaredForm,
    work: Work,
) -> UploadView:
    dataset_id = dataset.id
    async with runtime.uploads.begin(dataset_id) as sent:
        await sent.receive(chunks_through("upload.receiving", chunks))
        failpoint("upload.received")
        work.enter("checking", bytes_total=sent.size_bytes)
        await _look(runtime, dataset)
        async with runtime.uploads.begin(dataset_id, limited=False) as kept:
            report = await asyncio.to_thread(_check_and_keep, runtime, dataset, form, sent, kept)
            name = await asyncio.to_thread(kept.finish)
            failpoint("upload.renamed")
            current = await _record(runtime, steward, dataset, report, name)
    failpoint("upload.recorded")
    if current.upload_name is not None:
        await asyncio.to_thread(runtime.uploads.wipe, current.upload_name)
    return _view(dataset_id, report, stored=True)


async def check_data(
    runtime: Runtime,
    *,
    steward: Steward,
    dataset_id: str,
    chunks: AsyncIterator[bytes],
    form: DeclaredForm = UNDECLARED,
    length: int | None = None,
) -> UploadView:
    """What `upload_data` would say to the same bytes. Nothing of them is left when this ends, however it ends."""
    dataset = await _uploadable(runtime, steward, dataset_id, keeps=False)
    _refuse_long(runtime, length)
    async with shown(runtime, dataset_id) as work, runtime.uploads.begin(dataset_id) as sent:
        await sent.receive(_counted(chunks, work, length))
        work.enter("checking", bytes_total=sent.size_bytes)
        await _look(runtime, dataset)
        report = await asyncio.to_thread(_check, runtime, dataset, form, sent)
    return _view(dataset_id, report, stored=False)


async def _uploadable(runtime: Runtime, steward: Steward, dataset_id: str, *, keeps: bool) -> Dataset:
    """Whatever can be refused is refused before the first byte of the body is read."""
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
        if keeps:
            await _refuse_while_drawn(connection, dataset_id)
    if dataset.source["kind"] != "upload":
        raise UnsupportedFormat("body", f"no upload: the source of this dataset is `{dataset.source['kind']}`")
    if dataset.rehearsal is not None:
        raise Conflict("this is a rehearsal: its rows are made up, and real ones never come into it")
    if dataset.archived_us is not None:
        raise Conflict("this dataset is archived: it takes no rows any more")
    return dataset


async def _refuse_while_drawn(connection: AsyncConnection, dataset_id: str) -> None:
    if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
        raise Conflict("releases of this dataset are being drawn; upload again when they are done")


def _refuse_long(runtime: Runtime, length: int | None) -> None:
    if length is not None and length > runtime.uploads.bytes_max:
        raise PayloadTooLarge("body", f"at most {runtime.uploads.bytes_max} bytes")


async def _look(runtime: Runtime, dataset: Dataset) -> None:
    """On disk before anything is told about the rows: whatever is changed in the schema from now on may follow from it."""
    if dataset.looked_us is None:
        async with runtime.database.write() as connection:
            await datasets.mark_looked(connection, dataset.id, runtime.clock())


def _view(dataset_id: str, report: UploadReport, *, stored: bool) -> UploadView:
    return UploadView(
        dataset_id,
        report.rows,
        report.people,
        report.clipped_people,
        report.ignored_columns,
        report.missing,
        report.outside,
        stored,
    )


async def _record(runtime: Runtime, steward: Steward, checked: Dataset, report: UploadReport, name: str) -> Dataset:
    """The dataset as it was before. `checked` has the schema that the rows were checked against."""
    dataset_id = checked.id
    async with runtime.database.write() as connection:
        current = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        if (current.columns, current.unit) != (checked.columns, checked.unit) or current.archived_us is not None:
            raise Conflict("the dataset was changed while these rows were checked; upload them again")
        if current.n not in (None, report.people):
            raise Conflict("another upload with a different number of people finished first")
        await _refuse_while_drawn(connection, dataset_id)
        await datasets.set_data(
            connection, dataset_id, n=report.people, upload_name=name, strata=strata_json(report.strata)
        )
        failpoint("upload.recording")
    return current


def _check_and_keep(
    runtime: Runtime, dataset: Dataset, form: DeclaredForm, sent: PartialUpload, kept: PartialUpload
) -> UploadReport:
    """What was sent is gone when this returns, whatever comes after. Blocking."""
    columns, unit = dataset_columns(dataset), dataset_unit(dataset)
    key, salt = runtime.data_key(), runtime.random_bytes(SALT_BYTES)
    with prepared(sent.path, form, stored_names(columns, unit), runtime.uploads) as ready, ready.told_by_line():
        report = check_and_keep(
            ready.path,
            ready.file_format,
            columns,
            unit,
            dataset.n,
            kept,
            key,
            salt,
            uploads=runtime.uploads,
            limits=runtime.engine_limits,
            other_columns=dataset.other_columns,
            separator=ready.separator,
            unquoted=ready.unquoted,
        )
    sent.abort()
    return report


def _check(runtime: Runtime, dataset: Dataset, form: DeclaredForm, sent: PartialUpload) -> UploadReport:
    """Blocking."""
    columns, unit = dataset_columns(dataset), dataset_unit(dataset)
    with prepared(sent.path, form, stored_names(columns, unit), runtime.uploads) as ready, ready.told_by_line():
        return validate(
            ready.path,
            ready.file_format,
            columns,
            unit,
            dataset.n,
            uploads=runtime.uploads,
            limits=runtime.engine_limits,
            other_columns=dataset.other_columns,
            separator=ready.separator,
            unquoted=ready.unquoted,
        )
