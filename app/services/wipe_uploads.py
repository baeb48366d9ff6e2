"""Rows go when they are no longer needed: after the last release that waits for them, unless retained."""

import asyncio

from app.services.failpoints import failpoint
from app.services.runtime import Runtime
from app.storage import datasets, releases

RECENT_RELEASES = 200


async def wipe_used_upload(runtime: Runtime, dataset_id: str, data_version: int) -> None:
    """Marked as gone first, then wiped: after a crash in between, the next start's sweep finishes it.

    Only the rows of `data_version`: others uploaded meanwhile have not been used yet.
    """
    async with runtime.database.write() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id, lock=True)
        if dataset is None or dataset.upload_name is None or dataset.source.get("retain"):
            return
        if dataset.data_version != data_version:
            return
        if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
            return
        await datasets.mark_wiped(connection, dataset_id, data_version)
    failpoint("release.wiping")
    await asyncio.to_thread(runtime.uploads.wipe, dataset.upload_name)
    failpoint("release.wiped")


async def wipe_used_uploads(runtime: Runtime) -> None:
    """The rows of releases that ended where they could not be wiped, or in a process that did not live to do it."""
    used = []
    async with runtime.database.read() as connection:
        for dataset in await datasets.list_uploads(connection):
            recent = await releases.page_releases(connection, datasets=[dataset.id], limit=RECENT_RELEASES)
            if any(release.data_version == dataset.data_version for release in recent.items):
                used.append((dataset.id, dataset.data_version))
    for dataset_id, data_version in used:
        await wipe_used_upload(runtime, dataset_id, data_version)
