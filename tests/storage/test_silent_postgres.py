"""A PostgreSQL that says nothing is noticed and left alone; one that is only busy is waited for."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from sqlalchemy import text

from app.errors import OutcomeUnknown, Unavailable
from app.storage.engine import Database
from app.storage.postgres.silence import SLOW_SHARE, Silence
from tests.faults.restartable import RestartablePostgres

PATIENCE_S = 1.0
ON_A_BUSY_MACHINE_S = 2.0


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[RestartablePostgres]:
    server = RestartablePostgres()
    yield server
    server.thaw()
    server.stop()


async def refused_in(work: Callable[[], Awaitable[None]]) -> tuple[type[Exception] | None, float]:
    began = time.monotonic()
    try:
        await work()
    except Unavailable as refusal:
        return type(refusal), time.monotonic() - began
    return None, time.monotonic() - began


async def test_whatever_meets_a_frozen_server_ends_in_time_and_a_commit_says_that_it_does_not_know(
    own_postgres: RestartablePostgres,
):
    database = Database.open(own_postgres.url(), silence_s=PATIENCE_S)
    async with database.write() as connection:
        await connection.execute(text("CREATE TABLE IF NOT EXISTS seen (one int)"))

    async def write_across() -> None:
        async with database.write() as connection:
            await connection.execute(text("INSERT INTO seen VALUES (1)"))
            own_postgres.freeze()

    async def read_later() -> None:
        await asyncio.sleep(0.1)
        await database.ping()

    try:
        committed, *others = await asyncio.gather(*map(refused_in, [write_across, read_later, read_later]))
        assert committed[0] is OutcomeUnknown
        assert {kind for kind, _ in others} == {Unavailable}
        assert all(took_s < PATIENCE_S + 0.5 + ON_A_BUSY_MACHINE_S for _, took_s in (committed, *others))
        kind, took_s = await refused_in(database.ping)
        assert kind is Unavailable
        assert took_s < 0.2
    finally:
        own_postgres.thaw()
    deadline = time.monotonic() + 20
    while (await refused_in(database.ping))[0] is not None:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    async with database.read() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM seen"))).scalar_one() in (0, 1)
    await database.dispose()


async def test_a_process_that_was_held_up_does_not_take_that_for_silence():
    answered_s, patience_s = 0.3, 0.6

    async def answer() -> None:
        await asyncio.sleep(answered_s)

    asking = asyncio.create_task(Silence(patience_s, answer)._answers())
    await asyncio.sleep(0.05)
    time.sleep(1.25 * patience_s * (1 - SLOW_SHARE))  # noqa: ASYNC251 (nothing of this process runs meanwhile)
    assert await asking


async def test_waiting_for_a_lock_is_not_silence(own_postgres: RestartablePostgres):
    database = Database.open(own_postgres.url(), silence_s=PATIENCE_S)
    held = asyncio.Event()

    async def hold() -> None:
        async with database.write() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(7)"))
            held.set()
            await asyncio.sleep(2 * PATIENCE_S)

    async def wait_for_it() -> None:
        await held.wait()
        async with database.write() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(7)"))

    (first, _), (second, waited_s) = await asyncio.gather(refused_in(hold), refused_in(wait_for_it))
    assert (first, second) == (None, None)
    assert waited_s > PATIENCE_S
    await database.dispose()
