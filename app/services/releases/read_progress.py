"""How far a release, or an upload, is: for the steward of the dataset alone. Everyone else sees `pending`.

What is durable (attempts, when the next is due, why a release was withdrawn) comes from the release's row, what moves from the
process that works on it, if that could tell.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from app.errors import NotFound, PosternError, TooBusy
from app.services.datasets.read_datasets import owned
from app.services.people.verify_key import require_still_valid
from app.services.principals import Steward
from app.services.releases.run_release import ATTEMPTS_MAX
from app.services.runtime import progress
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseProgressView, UploadProgressView
from app.storage import datasets, releases

AGAIN_S = 15.0
"""What has not changed is told again, so that proxies keep the line open."""
FOLLOW_S_MAX = 3_600.0
"""Then whoever follows asks again."""

Progress = ReleaseProgressView | UploadProgressView


async def release_progress(runtime: Runtime, *, steward: Steward, release_id: str) -> ReleaseProgressView:
    """Raises NotFound, alike for releases that are not there and those of others."""
    async with runtime.database.read() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
    if release is None or dataset is None or dataset.owner != steward.id:
        raise NotFound("release", release_id)
    now_us, until_us = runtime.clock(), release.lease_until_us or 0
    pending = release.status == "pending"
    leased = pending and until_us > now_us and release.lease_token != releases.NOBODY
    work = await progress.look(runtime, release.id) if leased else None
    waiting_us = max(release.due_us, until_us) if pending and not leased and release.attempts else None
    return ReleaseProgressView(
        release=release.id,
        status=release.status,
        stage=_stage(release.status, leased, work),
        bytes_done=None if work is None else work.bytes_done,
        bytes_total=None if work is None else work.bytes_total,
        attempts=release.attempts,
        attempts_max=ATTEMPTS_MAX,
        next_attempt_us=waiting_us,
        reason=release.reason,
    )


def _stage(status: str, leased: bool, work: progress.Work | None) -> str:
    if status != "pending":
        return "done"
    if not leased:
        return "waiting"
    return "working" if work is None else work.stage


async def upload_progress(runtime: Runtime, *, steward: Steward, dataset_id: str) -> UploadProgressView:
    """Raises NotFound."""
    async with runtime.database.read() as connection:
        owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
    work = await progress.look(runtime, dataset_id)
    if work is None:
        return UploadProgressView(dataset=dataset_id, stage="idle", bytes_done=None, bytes_total=None)
    return UploadProgressView(dataset_id, work.stage, work.bytes_done, work.bytes_total)


async def follow_release(runtime: Runtime, *, steward: Steward, release_id: str) -> AsyncGenerator[Progress, None]:
    """Whatever changes, until the release has ended. The first look is made here, so that refusals come before any answer."""
    return await _follow(
        runtime,
        steward,
        lambda: release_progress(runtime, steward=steward, release_id=release_id),
        lambda seen: seen.stage == "done",
    )


async def follow_upload(runtime: Runtime, *, steward: Steward, dataset_id: str) -> AsyncGenerator[Progress, None]:
    """Whatever changes, until no upload is under way."""
    return await _follow(
        runtime,
        steward,
        lambda: upload_progress(runtime, steward=steward, dataset_id=dataset_id),
        lambda seen: seen.stage == "idle",
    )


async def _follow(
    runtime: Runtime,
    steward: Steward,
    look: Callable[[], Awaitable[Progress]],
    over: Callable[[Progress], bool],
) -> AsyncGenerator[Progress, None]:
    first = await look()
    if runtime.followers.locked():
        raise TooBusy("too many follow work here at present; ask for the state instead", retry_after_s=5)
    return _seen(runtime, steward, first, look, over)


async def _seen(
    runtime: Runtime,
    steward: Steward,
    first: Progress,
    look: Callable[[], Awaitable[Progress]],
    over: Callable[[Progress], bool],
) -> AsyncGenerator[Progress, None]:
    """Ends with the key's right to it, too."""
    async with runtime.followers:
        began, told, seen = runtime.monotonic(), None, first
        told_at = began
        while True:
            if seen != told or runtime.monotonic() - told_at > AGAIN_S:
                told, told_at = seen, runtime.monotonic()
                yield seen
            if over(seen) or runtime.monotonic() - began > FOLLOW_S_MAX:
                return
            await asyncio.sleep(progress.EVERY_S)
            try:
                await require_still_valid(runtime, steward)
                seen = await look()
            except PosternError:
                return
