"""One release from reservation to publication, under a lease.

    reserved ──claim──▶ reading ──read rows, draw──▶ {samples + commit + published} in one transaction

A crash at any line leaves the lease to expire and another worker to take over: nothing was published, so drawing
again reveals nothing and the charge is reused. A failure before anything was read takes the charge back, once. From
the moment the stage `reading` is on disk a failure may depend on the data, whatever its name: the charge stands and
the release is withdrawn. What is drawn is what the ledger charged for: a row that says anything else is never drawn.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import DataMissing, IntegrityFailure, Unavailable
from app.ledger.account import Account, account_id
from app.ledger.posting import commit_posting, void_posting
from app.services.datasets.dataset_sources import dataset_source, rows_present
from app.services.datasets.wipe_uploads import wipe_used_upload
from app.services.releases.charged_release import is_charged
from app.services.releases.stored_release import stored_mechanism, stored_model
from app.services.runtime.failpoints import failpoint
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import share_samples
from app.storage import accounts, datasets, ledger_book, releases, sample_sets
from app.storage.datasets import Dataset
from app.storage.releases import Release

ATTEMPTS_MAX = 5
WORKER = "worker"
RETRY_US = 2_000_000
_HASH_KEY_BYTES = 32

log = structlog.get_logger("postern.releases")


class LeaseLost(Exception):
    """Another worker took over; whatever this one was about to write must not be written."""


class NotCharged(Exception):
    """The ledger holds no unsettled reservation for what the release's row says."""


async def run_next_release(runtime: Runtime) -> bool:
    """Take the next due release and bring it to an end. False if there was none."""
    token = secrets.token_hex(16)
    lease_us = int(runtime.settings.lease_s * 1e6)
    failpoint("release.before_claim")
    async with runtime.database.write() as connection:
        release = await releases.claim_next(connection, now_us=runtime.clock(), token=token, lease_us=lease_us)
    if release is None:
        return False
    failpoint("release.claimed")
    try:
        async with _renewed_lease(runtime, release, token, lease_us):
            await _run(runtime, release, token)
    except LeaseLost:
        log.warning("lease lost", release=release.id)
    return True


async def _run(runtime: Runtime, release: Release, token: str) -> None:
    if release.attempts > ATTEMPTS_MAX:
        read = release.stage != "reserved"
        await _give_up(runtime, release, token, read=read, reason="too many attempts")
    else:
        await _attempt(runtime, release, token)
    await wipe_used_upload(runtime, release.dataset_id, release.data_version)


async def _attempt(runtime: Runtime, release: Release, token: str) -> None:
    read = release.stage != "reserved"
    pace = _Pace(runtime)
    try:
        dataset = await _begin_reading(runtime, release, token)
        read = True
        samples = await _draw(runtime, release, dataset)
    except NotCharged:
        log.error("a release is not what the ledger charged for", release=release.id)
        await _give_up(runtime, release, token, read=True, reason="not what the ledger charged for")
    except DataMissing:
        await pace.next_tick()
        await _give_up(runtime, release, token, read=read, reason="the rows are gone")
    except (Unavailable, asyncio.CancelledError):
        with contextlib.suppress(Unavailable):
            async with runtime.database.write() as connection:
                await releases.give_back(connection, release.id, token, runtime.clock() + RETRY_US)
        raise
    except (LeaseLost, IntegrityFailure):
        raise
    except Exception as error:
        log.error("release failed", release=release.id, error=type(error).__qualname__)
        when = "after rows were read" if read else "before a row was read"
        await pace.next_tick()
        await _give_up(runtime, release, token, read=read, reason=f"failed {when}")
    else:
        await _publish(runtime, release, token, samples, await pace.next_tick())


class _Pace:
    """Ends a release at a public moment: 1, 2, 4, 8 … ticks after its work began, whichever comes next.

    How long reading and drawing take may depend on the rows, so their end must not show. Doubling leaves one of a few
    moments, and which one depends on the size of the work, hardly ever on one person. The lease is renewed meanwhile; a
    crash here means drawing again, which is free.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._began, self._began_us = time.monotonic(), runtime.clock()
        self._tick_s = runtime.settings.publication_tick_s

    async def next_tick(self) -> int:
        """Waits for the moment and says when it was; a clock that moved meanwhile does not count."""
        spent, end = time.monotonic() - self._began, self._tick_s
        while end < spent:
            end *= 2
        await asyncio.sleep(end - spent)
        return self._began_us + int(end * 1e6)


async def _begin_reading(runtime: Runtime, release: Release, token: str) -> Dataset:
    """DataMissing and NotCharged from here mean that no row was looked at. The stage is on disk before the first one is."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, release.dataset_id)
        if dataset is None or not await is_charged(connection, release, dataset):
            raise NotCharged
    if dataset.data_version != release.data_version or dataset.data_state != "ready":
        raise DataMissing("the rows this release was charged for are gone")
    if not await asyncio.to_thread(rows_present, runtime, dataset):
        raise DataMissing("the file with the rows is gone")
    async with runtime.database.write() as connection:
        if not await releases.enter_stage(connection, release.id, token, "reading"):
            raise LeaseLost
    failpoint("release.reading")
    return dataset


async def _draw(runtime: Runtime, release: Release, dataset: Dataset) -> NDArray[np.float64]:
    """The only place where private statistics exist: on this stack, until the samples are drawn."""
    source = dataset_source(runtime, dataset)
    model = stored_model(release, dataset)
    mechanism = stored_mechanism(release, model)
    hash_key = runtime.random_bytes(_HASH_KEY_BYTES)

    def read_and_draw() -> NDArray[np.float64]:
        statistic = source.statistic(model.statistic, hash_key)
        failpoint("release.rows_read")
        return mechanism.draw(model, release.n, release.unit_rows, statistic, runtime.random_bytes)

    return await asyncio.to_thread(read_and_draw)


async def _publish(runtime: Runtime, release: Release, token: str, samples: NDArray[np.float64], tick_us: int) -> None:
    """`tick_us` is the public moment it is said to have happened."""
    record = sample_sets.record_of(release.id, samples)
    failpoint("release.drawn")
    async with runtime.database.write() as connection:
        now_us = runtime.clock()
        await _hold_lease(runtime, connection, release, token)
        account = await _lock_account(connection, release)
        if await ledger_book.outstanding(connection, account.id, release.id) is None:
            raise IntegrityFailure("samples were drawn for a reservation that is gone")
        await sample_sets.insert_samples(connection, record)
        posting = commit_posting(account, release.id, actor=WORKER, reason="samples stored", at_us=now_us)
        await ledger_book.post(connection, posting)
        if not await releases.publish(connection, release.id, token, tick_us):
            raise LeaseLost
        failpoint("release.storing")
    failpoint("release.published")
    log.info("release published", release=release.id)
    await share_samples(runtime, record)


async def _give_up(runtime: Runtime, release: Release, token: str, *, read: bool, reason: str) -> None:
    """Withdraw. Nothing read: the charge is taken back. Otherwise it stands, committed without samples.

    A row that nothing was reserved for is withdrawn without a line: there is nothing to settle.
    """
    async with runtime.database.write() as connection:
        now_us = runtime.clock()
        await _hold_lease(runtime, connection, release, token)
        account = await _lock_account(connection, release)
        reserved = await ledger_book.outstanding(connection, account.id, release.id)
        if await sample_sets.has_samples(connection, release.id):
            raise IntegrityFailure("a pending release with samples")
        who: dict[str, Any] = {"actor": WORKER, "reason": reason, "at_us": now_us}
        if reserved is not None and read:
            await ledger_book.post(connection, commit_posting(account, release.id, **who))
        elif reserved is not None:
            await ledger_book.post(connection, void_posting(account, release.id, reserved, **who))
        if not await releases.withdraw(connection, release.id, token, reason):
            raise LeaseLost
    log.warning("release withdrawn", release=release.id, charged=read)


async def _hold_lease(runtime: Runtime, connection: AsyncConnection, release: Release, token: str) -> None:
    """First in every closing transaction: locks the release, and stops a worker that has been replaced."""
    until_us = runtime.clock() + int(runtime.settings.lease_s * 1e6)
    if not await releases.renew_lease(connection, release.id, token, until_us):
        raise LeaseLost


async def _lock_account(connection: AsyncConnection, release: Release) -> Account:
    number = account_id(release.dataset_id)
    return (await accounts.lock_accounts(connection, [number]))[number]


@contextlib.asynccontextmanager
async def _renewed_lease(runtime: Runtime, release: Release, token: str, lease_us: int) -> AsyncIterator[None]:
    async def renew() -> None:
        while True:
            await asyncio.sleep(lease_us / 3e6)
            with contextlib.suppress(Unavailable):
                async with runtime.database.write() as connection:
                    await releases.renew_lease(connection, release.id, token, runtime.clock() + lease_us)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
