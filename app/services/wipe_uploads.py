"""Rows go when they are no longer needed: after the last release that waits for them, unless retained."""

import asyncio

from app.services.runtime import Runtime
from app.storage import datasets, releases


async def wipe_used_upload(runtime: Runtime, dataset_id: str) -> None:
    """Marked as gone first, then wiped: after a crash in between, the next start's sweep finishes it."""
    async with runtime.database.write() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id, lock=True)
        if dataset is None or dataset.upload_name is None or dataset.source.get("retain"):
            return
        if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
            return
        await datasets.mark_wiped(connection, dataset_id, dataset.data_version)
    await asyncio.to_thread(runtime.uploads.wipe, dataset.upload_name)
