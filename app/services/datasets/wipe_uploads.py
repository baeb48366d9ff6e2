"""Rows go when they are no longer needed: after the last release that waits for them, unless retained."""

import asyncio

from app.services.datasets.wipe_sealed import wipe_ended
from app.services.runtime.failpoints import failpoint
from app.services.runtime.runtime import Runtime
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.ledger_heads import read_stored
from app.storage.releases import Release
from app.storage.vouched.sealing_plans import list_sealed

RECENT_RELEASES = 200


async def wipe_used_upload(runtime: Runtime, dataset_id: str, data_version: int) -> Dataset | None:
    """The dataset whose rows went, if any did.

    Marked as gone first, then wiped: after a crash in between, the next `wipe_remains` finishes it. Only the rows of
    `data_version`: others uploaded meanwhile have not been used yet.
    """
    async with runtime.database.write() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id, lock=True)
        if dataset is None or dataset.upload_name is None or dataset.source.get("retain"):
            return None
        if dataset.data_version != data_version:
            return None
        if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
            return None
        await datasets.mark_wiped(connection, dataset_id, data_version)
    failpoint("release.wiping")
    await asyncio.to_thread(runtime.uploads.wipe, dataset.upload_name)
    failpoint("release.wiped")
    return dataset


async def wipe_remains(runtime: Runtime) -> int:
    """Whatever no living process holds and no release waits for; returns how many files nobody knew of went.

    Candidates are listed before the database is read: an upload finishing meanwhile is never mistaken for remains. And
    what the database knows is asked beside a head that goes on from those seen: an older database does not know today's
    uploads. Raises LedgerUntrusted, and then nothing was wiped.
    """
    candidates = await asyncio.to_thread(runtime.uploads.unclaimed)
    async with runtime.database.read() as connection:
        runtime.notary.check_continues(await read_stored(connection))
        known = {dataset.upload_name or "" for dataset in await datasets.list_uploads(connection)}
        known |= {plan.sealed_name or "" for plan, _ in await list_sealed(connection)}
    await _wipe_used_uploads(runtime)
    await wipe_ended(runtime)
    return await asyncio.to_thread(runtime.uploads.sweep, known, candidates)


async def _wipe_used_uploads(runtime: Runtime) -> None:
    """The rows of releases that ended where they could not be wiped, or in a process that did not live to do it."""
    used = []
    async with runtime.database.read() as connection:
        for dataset in await datasets.list_uploads(connection):
            recent = await releases.page_releases(connection, datasets=[dataset.id], limit=RECENT_RELEASES)
            if any(_may_have_read(release, dataset) for release in recent.items):
                used.append((dataset.id, dataset.data_version))
    for dataset_id, data_version in used:
        await wipe_used_upload(runtime, dataset_id, data_version)


def _may_have_read(release: Release, dataset: Dataset) -> bool:
    """A release that was cancelled never used the rows: they wait for the next."""
    return release.data_version == dataset.data_version and release.reason != releases.CANCELLED
