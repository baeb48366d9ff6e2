"""One release from reservation to publication, under a lease.

    reserved ──claim──▶ reading ──read rows, draw──▶ {samples + commit + published} in one transaction

A crash at any line leaves the lease to expire and another worker to take over: nothing was published, so drawing
again reveals nothing and the charge is reused. A failure before anything was read takes the charge back, once. From
the moment the stage `reading` is on disk a failure may depend on the data, whatever its name: the charge stands, the
release is withdrawn, and that, like a publication, happens in one of the slots of `public_moment.py`, until which the
worker is held. What is drawn is what the ledger charged for: a row that says anything else is never drawn.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from functools import lru_cache

import structlog

from app.core.kinds import ReleaseMechanism, ReleaseModel, check_request, drawn_once
from app.core.kinds.belief import Drawn
from app.core.kinds.fit_check import AnyCheck
from app.errors import DataMissing, IntegrityFailure, Unavailable
from app.services.datasets.dataset_sources import dataset_source, rows_present
from app.services.datasets.wipe_sealed import wipe_sealed
from app.services.datasets.wipe_uploads import wipe_used_upload
from app.services.releases.charged_release import is_charged
from app.services.releases.end_release import LeaseLost, give_up, publish_samples
from app.services.releases.measure_pace import installation_pace
from app.services.releases.public_moment import Moment, Slots, duration_us, release_seconds, wipe_duration_us
from app.services.releases.sealed_statistics import sealed_source
from app.services.releases.stored_release import cost_from_json, stored_checks, stored_mechanism, stored_model
from app.services.runtime.failpoints import failpoint
from app.services.runtime.progress import Work, shown
from app.services.runtime.runtime import Runtime
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.releases import Release

ATTEMPTS_MAX = 5
RETRY_US = 2_000_000
"""Before the second attempt; before each further one twice as long."""
_HASH_KEY_BYTES = 32

log = structlog.get_logger("postern.releases")


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
        async with _renewed_lease(runtime, release, token, lease_us), shown(runtime, release.id) as work:
            await _run(runtime, release, token, work)
    except LeaseLost:
        log.warning("lease lost", release=release.id)
    return True


async def _run(runtime: Runtime, release: Release, token: str, work: Work) -> None:
    if release.attempts > ATTEMPTS_MAX:
        read = release.stage != "reserved"
        at_us = await _end(runtime, _moment(runtime, release))
        await give_up(runtime, release, token, read=read, reason="too many attempts", at_us=at_us)
    else:
        try:
            await _attempt(runtime, release, token, work)
        except asyncio.CancelledError:  # told to stop, perhaps while it was held
            await _give_back(runtime, release, token)
            raise
    await _wipe(runtime, release)


async def _attempt(runtime: Runtime, release: Release, token: str, work: Work) -> None:
    """Whatever ends it after the first row may have been read, ends it in a slot."""
    read, moment = release.stage != "reserved", _moment(runtime, release)
    try:
        dataset = await _readable_dataset(runtime, release)
        moment = await _begin_reading(runtime, release, dataset, token)
        read = True
        drawn = await _draw(runtime, release, dataset, work)
        work.enter("holding")
    except NotCharged:
        log.error("a release is not what the ledger charged for", release=release.id)
        reason = "not what the ledger charged for"
        await give_up(runtime, release, token, read=True, reason=reason, at_us=await _end(runtime, moment))
    except DataMissing:
        reason = "the rows are gone"
        await give_up(runtime, release, token, read=read, reason=reason, at_us=await _end(runtime, moment))
    except Unavailable:
        await _end(runtime, moment)
        await _give_back(runtime, release, token)
        raise
    except (LeaseLost, IntegrityFailure):
        raise
    except Exception as error:
        log.error("release failed", release=release.id, error=type(error).__qualname__)
        reason = "failed after rows were read" if read else "failed before a row was read"
        await give_up(runtime, release, token, read=read, reason=reason, at_us=await _end(runtime, moment))
    else:
        await publish_samples(runtime, release, token, drawn, await _end(runtime, moment))


def _moment(runtime: Runtime, release: Release) -> Moment | None:
    """None before any row of it was about to be read: nothing that happens then can depend on one."""
    if release.started_us is None or release.duration_us is None:
        return None
    return Moment(runtime, Slots(release.started_us, release.duration_us))


async def _end(runtime: Runtime, moment: Moment | None) -> int:
    return runtime.clock() if moment is None else await moment.hold()


async def _readable_dataset(runtime: Runtime, release: Release) -> Dataset:
    """DataMissing and NotCharged from here mean that no row was looked at."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, release.dataset_id)
        if dataset is None or not await is_charged(connection, release, dataset):
            raise NotCharged
    if dataset.data_version != release.data_version or dataset.data_state != "ready":
        raise DataMissing("the rows this release was charged for are gone")
    vouched = await sealed_source(runtime, release, dataset)
    here = asyncio.to_thread(rows_present, runtime, dataset) if vouched is None else asyncio.to_thread(vouched.present)
    if not await here:
        raise DataMissing("the file with the rows is gone, or its key")
    return dataset


async def _begin_reading(runtime: Runtime, release: Release, dataset: Dataset, token: str) -> Moment:
    """The stage and the public moments are on disk before the first row is read, and whatever is slow but public is done."""
    model = stored_model(release, dataset)
    mechanism, cost, check = (
        stored_mechanism(release, model),
        cost_from_json(release.cost),
        stored_checks(release, model),
    )
    seconds = release_seconds(dataset, model, mechanism, cost, release.n, release.unit_rows, check)
    seconds *= runtime.settings.releases_at_once  # others may have the machine meanwhile
    lasts_us = duration_us(seconds, await installation_pace(runtime), runtime.settings.publication_tick_s)
    await asyncio.to_thread(_rehearse, model, mechanism, release.n, release.unit_rows, check)
    async with runtime.database.write() as connection:
        now_us = runtime.clock()
        begun = await releases.begin_reading(connection, release.id, token, now_us=now_us, duration_us=lasts_us)
    if begun is None:
        raise LeaseLost
    failpoint("release.reading")
    return Moment(runtime, Slots(*begun))


@lru_cache(maxsize=256)
def _rehearse(
    model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int, check: AnyCheck | None
) -> None:
    """Draw once from the statistic of no rows, for nothing: libraries are loaded and what follows from public numbers is
    remembered, so that the draw itself takes the time it was said to take."""
    blank = model.statistic.of_no_rows()
    with contextlib.suppress(Exception):
        mechanism.with_samples(1).draw(model, people, unit_rows, blank, secrets.token_bytes)
    if check is not None:
        check.measure(people, unit_rows, check_request(model, check).of_no_rows())


async def _draw(runtime: Runtime, release: Release, dataset: Dataset, work: Work) -> Drawn:
    """The only place where private statistics exist: on this stack, until the samples are drawn."""
    vouched = await sealed_source(runtime, release, dataset)

    def report(stage: str, done: int | None, total: int | None) -> None:
        work.enter(stage, bytes_done=done, bytes_total=total)

    source = dataset_source(runtime, dataset, vouched=vouched, report=report)
    model = stored_model(release, dataset)
    mechanism, check = stored_mechanism(release, model), stored_checks(release, model)
    hash_key = runtime.random_bytes(_HASH_KEY_BYTES)

    def read_and_draw() -> Drawn:
        if check is None:
            statistic, histogram = source.statistic(model.statistic, hash_key), None
        else:  # of one snapshot: what is charged for is one dataset
            statistic, histogram = source.statistics([model.statistic, check_request(model, check)], hash_key)
        failpoint("release.rows_read")
        work.enter("drawing")
        checked = None
        if check is not None and histogram is not None:
            checked = check.measure(release.n, release.unit_rows, histogram)
        return drawn_once(mechanism, model, release.n, release.unit_rows, statistic, runtime.random_bytes, checked)

    return await asyncio.to_thread(read_and_draw)


async def _give_back(runtime: Runtime, release: Release, token: str) -> None:
    with contextlib.suppress(Unavailable):
        async with runtime.database.write() as connection:
            pause_us = RETRY_US * 2 ** max(0, release.attempts - 1)
            await releases.give_back(connection, release.id, token, runtime.clock() + pause_us)


async def _wipe(runtime: Runtime, release: Release) -> None:
    """How long zeros take to write depends on the file; the next release in line begins as if it always took the same."""
    await wipe_sealed(runtime, release.id)  # its length is public
    began = runtime.monotonic()
    dataset = await wipe_used_upload(runtime, release.dataset_id, release.data_version)
    if dataset is None:
        return
    pace = await installation_pace(runtime)
    lasts_us = wipe_duration_us(dataset, release.n, release.unit_rows, pace, runtime.settings.publication_tick_s)
    elapsed_us = int((runtime.monotonic() - began) * 1e6)
    await runtime.sleep((Slots(0, lasts_us).after(elapsed_us) - elapsed_us) / 1e6)


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
