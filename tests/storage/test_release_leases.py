"""Leases: one worker at a time, and only its holder may change a release."""

import asyncio

import pytest

from app.storage.engine import Database
from app.storage.releases import (
    claim_next,
    enter_stage,
    get_release,
    give_back,
    list_unfinished,
    page_releases,
    publish,
    renew_lease,
    withdraw,
)
from tests.conftest import Backend
from tests.storage.populated import NOW_US, add_dataset, add_release, populate, token

LEASE_US = 30_000_000


async def with_releases(database: Database, count: int) -> None:
    await populate(database)
    async with database.write() as connection:
        for index in range(count):
            await add_release(connection, f"rel_{index}", created_us=NOW_US + index, due_us=NOW_US + index)


async def claim(database: Database, name: str, now_us: int = NOW_US + 1000) -> str | None:
    async with database.write() as connection:
        release = await claim_next(connection, now_us=now_us, token=name, lease_us=LEASE_US)
    return None if release is None else release.id


async def test_racing_workers_share_the_work_without_overlap(backend: Backend) -> None:
    workers = [Database.open(backend.database_url) for _ in range(4)]
    await with_releases(workers[0], 10)
    claimed = await asyncio.gather(*(claim(workers[i % 4], token()) for i in range(16)))
    for worker in workers:
        await worker.dispose()
    taken = [name for name in claimed if name is not None]
    # A worker that looked while another held the row skips it, so a round may end early, never overlap.
    assert len(taken) == len(set(taken))
    assert len(taken) >= 4


async def test_claims_go_oldest_first_and_run_out(database: Database) -> None:
    await with_releases(database, 3)
    assert [await claim(database, token()) for _ in range(4)] == ["rel_0", "rel_1", "rel_2", None]


async def test_real_rows_come_before_rehearsals_and_equals_by_their_age(database: Database) -> None:
    await populate(database)
    async with database.write() as connection:
        await add_dataset(connection, id="ds_made_up", name="made up", rehearsal=7)
        await add_release(connection, "rel_a", dataset_id="ds_made_up", created_us=NOW_US, due_us=0)
        await add_release(connection, "rel_b", created_us=NOW_US + 2, due_us=0)
        await add_release(connection, "rel_c", created_us=NOW_US + 1, due_us=0)
    assert [await claim(database, token()) for _ in range(4)] == ["rel_c", "rel_b", "rel_a", None]


async def test_an_expired_lease_is_taken_over_and_the_old_holder_can_change_nothing(database: Database) -> None:
    await with_releases(database, 1)
    assert await claim(database, "first") == "rel_0"
    assert await claim(database, "second") is None
    assert await claim(database, "second", NOW_US + 1000 + LEASE_US) == "rel_0"
    async with database.write() as connection:
        assert not await renew_lease(connection, "rel_0", "first", NOW_US * 2)
        assert not await enter_stage(connection, "rel_0", "first", "reading")
        assert not await publish(connection, "rel_0", "first", NOW_US)
        assert not await withdraw(connection, "rel_0", "first", "gone")
        assert not await give_back(connection, "rel_0", "first", NOW_US)
        assert await enter_stage(connection, "rel_0", "second", "reading")
        release = await get_release(connection, "rel_0")
    assert release is not None
    assert (release.attempts, release.stage, release.lease_token) == (2, "reading", "second")


async def test_a_renewed_lease_holds(database: Database) -> None:
    await with_releases(database, 1)
    await claim(database, "first")
    async with database.write() as connection:
        assert await renew_lease(connection, "rel_0", "first", NOW_US + 2 * LEASE_US)
    assert await claim(database, "second", NOW_US + 1000 + LEASE_US) is None


async def test_a_clock_moved_back_an_hour_does_not_keep_a_release_for_that_hour(database: Database) -> None:
    await populate(database)
    hour_us = 3_600_000_000
    async with database.write() as connection:
        await add_release(connection, "rel_0", due_us=NOW_US - 2 * hour_us)
    assert await claim(database, "first", NOW_US) == "rel_0"
    assert await claim(database, "second", NOW_US - hour_us) == "rel_0"


async def test_a_release_given_back_waits_for_its_time(database: Database) -> None:
    await with_releases(database, 1)
    await claim(database, "first")
    async with database.write() as connection:
        assert await give_back(connection, "rel_0", "first", NOW_US + 5000)
    assert await claim(database, "second", NOW_US + 4999) is None
    assert await claim(database, "second", NOW_US + 5000) == "rel_0"


@pytest.mark.parametrize("outcome", ["published", "withdrawn"])
async def test_a_finished_release_leaves_the_queue_and_keeps_its_outcome(database: Database, outcome: str) -> None:
    await with_releases(database, 2)
    await claim(database, "first")
    async with database.write() as connection:
        if outcome == "published":
            assert await publish(connection, "rel_0", "first", NOW_US + 9)
        else:
            assert await withdraw(connection, "rel_0", "first", "crashed")
        assert not await withdraw(connection, "rel_0", "first", "again")
        assert [release.id for release in await list_unfinished(connection)] == ["rel_1"]
        page = await page_releases(connection, datasets=["ds_a"])
    (release,) = (found for found in page.items if found.status == outcome)
    assert (release.id, release.stage, release.lease_token) == ("rel_0", "done", None)
    assert release.published_us == (NOW_US + 9 if outcome == "published" else None)


async def test_pages_of_releases_are_newest_first_without_gaps_or_repeats(database: Database) -> None:
    await with_releases(database, 7)
    async with database.read() as connection:
        first = await page_releases(connection, datasets=None, limit=3)
        second = await page_releases(connection, datasets=["ds_a"], limit=3, cursor=first.next_cursor)
        third = await page_releases(connection, datasets=["ds_a"], limit=3, cursor=second.next_cursor)
        assert (await page_releases(connection, datasets=[])).items == ()
    ids = [release.id for page in (first, second, third) for release in page.items]
    assert ids == [f"rel_{index}" for index in range(6, -1, -1)]
    assert third.next_cursor is None
