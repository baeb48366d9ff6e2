"""Receive rows: stream to a private file, check them strictly, keep those that count, sealed, as the dataset's.

What was sent is wiped once the rows that count have been written as typed columns (`app/sources/kept_rows.py`): no release
ever reads what does not count. A bad row is named to the steward and nothing is kept. `n` is fixed by the first upload (or
by declaration): it is part of the guarantee, so later uploads must bring the same number of people.
"""

import asyncio
from collections.abc import AsyncIterator

from app.errors import Conflict, UnsupportedFormat
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.datasets.read_datasets import owned
from app.services.principals import Steward
from app.services.runtime.failpoints import chunks_through, failpoint
from app.services.runtime.runtime import Runtime
from app.services.views import UploadView
from app.sources.data_key import SALT_BYTES
from app.sources.duckdb_rows import UploadReport
from app.sources.formats import decide_format, format_of_content_type
from app.sources.kept_rows import check_and_keep
from app.sources.uploads import PartialUpload
from app.storage import datasets, releases
from app.storage.datasets import Dataset


async def upload_data(
    runtime: Runtime, *, steward: Steward, dataset_id: str, content_type: str | None, chunks: AsyncIterator[bytes]
) -> UploadView:
    """Raises NotFound, UnsupportedFormat, PayloadTooLarge, InvalidRows, Conflict while releases are being drawn."""
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
    if dataset.source["kind"] != "upload":
        raise UnsupportedFormat("body", "no upload: this dataset's rows come from a file")
    format_of_content_type(content_type)  # refuses an unreadable format before the body is read
    with runtime.uploads.begin(dataset_id) as sent:
        await sent.receive(chunks_through("upload.receiving", chunks))
        failpoint("upload.received")
        with runtime.uploads.begin(dataset_id, limited=False) as kept:
            report = await asyncio.to_thread(_check_and_keep, runtime, dataset, content_type, sent, kept)
            name = await asyncio.to_thread(kept.finish)
            failpoint("upload.renamed")
            current = await _record(runtime, steward, dataset_id, report, name)
    failpoint("upload.recorded")
    if current.upload_name is not None:
        await asyncio.to_thread(runtime.uploads.wipe, current.upload_name)
    return UploadView(
        dataset_id,
        report.rows,
        report.people,
        report.clipped_people,
        report.ignored_columns,
        report.missing,
        report.outside,
    )


async def _record(runtime: Runtime, steward: Steward, dataset_id: str, report: UploadReport, name: str) -> Dataset:
    """The dataset as it was before."""
    async with runtime.database.write() as connection:
        current = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        if current.n not in (None, report.people):
            raise Conflict("another upload with a different number of people finished first")
        if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
            raise Conflict("releases of this dataset are being drawn; upload again when they are done")
        await datasets.set_data(connection, dataset_id, n=report.people, upload_name=name)
        failpoint("upload.recording")
    return current


def _check_and_keep(
    runtime: Runtime, dataset: Dataset, content_type: str | None, sent: PartialUpload, kept: PartialUpload
) -> UploadReport:
    """What was sent is gone when this returns, whatever comes after. Blocking."""
    columns, unit = dataset_columns(dataset), dataset_unit(dataset)
    file_format = decide_format(content_type, sent.path)
    key, salt = runtime.data_key(), runtime.random_bytes(SALT_BYTES)
    report = check_and_keep(
        sent.path,
        file_format,
        columns,
        unit,
        dataset.n,
        kept,
        key,
        salt,
        uploads=runtime.uploads,
        other_columns=dataset.other_columns,
    )
    sent.abort()
    return report
