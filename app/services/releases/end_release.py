"""The two ends of a release, each one transaction: published with its samples, or withdrawn.

Both are recorded at a moment that follows from public numbers (`public_moment.py`), in the release and in the ledger.
"""

from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.kinds.belief import Drawn
from app.errors import IntegrityFailure
from app.services.ledger.settle_release import settle_release
from app.services.runtime.failpoints import failpoint
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import share_samples
from app.storage import releases, sample_sets
from app.storage.releases import Release

WORKER = "worker"

log = structlog.get_logger("postern.releases")


class LeaseLost(Exception):
    """Another worker took over; whatever this one was about to write must not be written."""


async def publish_samples(runtime: Runtime, release: Release, token: str, drawn: Drawn, at_us: int) -> None:
    """`at_us` is the public moment it is said to have happened."""
    record = sample_sets.record_of(release.id, drawn.samples)
    failpoint("release.drawn")
    async with runtime.database.write() as connection:
        await _hold_lease(runtime, connection, release, token)
        who: dict[str, Any] = {"actor": WORKER, "reason": "samples stored", "at_us": at_us}
        if not await settle_release(connection, release.id, "commit", **who):
            raise IntegrityFailure("samples were drawn for a reservation that is gone")
        await sample_sets.insert_samples(connection, record, drawn.measured, drawn.checked)
        if not await releases.publish(connection, release.id, token, at_us):
            raise LeaseLost
        failpoint("release.storing")
    failpoint("release.published")
    log.info("release published", release=release.id)
    await share_samples(runtime, record)


async def give_up(runtime: Runtime, release: Release, token: str, *, read: bool, reason: str, at_us: int) -> None:
    """Withdraw. Nothing read: the charge is taken back. Otherwise it stands, committed without samples.

    A row that nothing was reserved for is withdrawn without a line: there is nothing to settle.
    """
    async with runtime.database.write() as connection:
        await _hold_lease(runtime, connection, release, token)
        if await sample_sets.has_samples(connection, release.id):
            raise IntegrityFailure("a pending release with samples")
        who: dict[str, Any] = {"actor": WORKER, "reason": reason, "at_us": at_us}
        await settle_release(connection, release.id, "commit" if read else "void", **who)
        if not await releases.withdraw(connection, release.id, token, reason):
            raise LeaseLost
    log.warning("release withdrawn", release=release.id, charged=read)


async def _hold_lease(runtime: Runtime, connection: AsyncConnection, release: Release, token: str) -> None:
    """First in every closing transaction: locks the release, and stops a worker that has been replaced."""
    until_us = runtime.clock() + int(runtime.settings.lease_s * 1e6)
    if not await releases.renew_lease(connection, release.id, token, until_us):
        raise LeaseLost
