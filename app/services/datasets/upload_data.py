"""Receive rows: stream to a private file, check them strictly, then make them the dataset's.

A bad row is named to the steward and nothing is kept. `n` is fixed by the first upload (or by declaration): it is
part of the guarantee, so later uploads must bring the same number of people.
"""

import asyncio
from collections.abc import AsyncIterator

from app.errors import Conflict, UnsupportedFormat
from app.services.datasets.dataset_sources import dataset_source
from app.services.datasets.read_datasets import owned
from app.services.principals import Steward
from app.services.runtime.failpoints import chunks_through, failpoint
from app.services.runtime.runtime import Runtime
from app.services.views import UploadView
from app.sources.formats import decide_format, format_of_content_type
from app.storage import datasets, releases


async def upload_data(
    runtime: Runtime, *, steward: Steward, dataset_id: str, content_type: str | None, chunks: AsyncIterator[bytes]
) -> UploadView:
    """Raises NotFound, UnsupportedFormat, PayloadTooLarge, InvalidRows, Conflict while releases are being drawn."""
    async with runtime.database.read() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
    if dataset.source["kind"] != "upload":
        raise UnsupportedFormat("body", "no upload: this dataset's rows come from a file")
    format_of_content_type(content_type)  # refuses an unreadable format before the body is read
    with runtime.uploads.begin(dataset_id) as partial:
        await partial.receive(chunks_through("upload.receiving", chunks))
        failpoint("upload.received")
        name = await asyncio.to_thread(partial.finish)
        failpoint("upload.renamed")
        await asyncio.to_thread(decide_format, content_type, runtime.uploads.path(name))
        report = await asyncio.to_thread(dataset_source(runtime, dataset, name).validate, dataset.n)
        async with runtime.database.write() as connection:
            current = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
            if current.n not in (None, report.people):
                raise Conflict("another upload with a different number of people finished first")
            if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
                raise Conflict("releases of this dataset are being drawn; upload again when they are done")
            await datasets.set_data(connection, dataset_id, n=report.people, upload_name=name)
            failpoint("upload.recording")
    failpoint("upload.recorded")
    if current.upload_name is not None:
        await asyncio.to_thread(runtime.uploads.wipe, current.upload_name)
    return UploadView(dataset_id, report.rows, report.people, report.clipped_people)
