"""The watcher: revocation reaches warm processes within a second, and a database out of sight ends all belief."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from app.errors import KeyRevoked, PosternError, Unavailable
from app.services.people.keys import list_keys, revoke_key
from app.services.people.verify_key import verify_key
from app.services.reading.answer_query import answer_query
from app.services.runtime import watch_rights as watching
from app.services.runtime.rights import Rights, RightsTable
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import check_rights, flush_used, watch_rights
from app.storage.engine import Database
from tests.services.world import QUESTION, Person, World, over_http

AWAY = "postgresql://postern@127.0.0.1:9/nowhere"
PROMISED_S = 1.0


@asynccontextmanager
async def watched(runtime: Runtime) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(watch_rights(runtime, stop=stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def seconds_until_refused(runtime: Runtime, person: Person) -> float:
    started = time.monotonic()
    while time.monotonic() - started < 5 * PROMISED_S:
        try:
            await verify_key(runtime, token=person.token)
        except PosternError:
            return time.monotonic() - started
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def remember(runtime: Runtime, person: Person) -> None:
    """Use the key until this process answers for it from memory."""
    await check_rights(runtime)
    await verify_key(runtime, token=person.token)
    assert runtime.keys.get(person.who.key_id) is not None


def ahead(runtime: Runtime, seconds: list[float], **changes: Any) -> Runtime:
    """The same services, whose rights see a monotonic clock that can be set forward by `seconds[0]`."""
    rights = Rights(runtime.settings.stale_rights_s, monotonic=lambda: time.monotonic() + seconds[0])
    return replace(runtime, rights=rights, keys=RightsTable(rights), readings=RightsTable(rights), **changes)


async def test_a_warm_process_refuses_a_key_revoked_elsewhere_within_a_second(world: World, second_runtime: Runtime):
    analyst = await world.person("analyst")
    async with watched(second_runtime):
        await remember(second_runtime, analyst)
        await revoke_key(world.runtime, actor=world.steward, key_id=analyst.who.key_id)
        assert await seconds_until_refused(second_runtime, analyst) < PROMISED_S
    with pytest.raises(KeyRevoked):
        await verify_key(second_runtime, token=analyst.token)


async def test_requests_that_hold_every_connection_do_not_delay_a_revocation(
    world: World, second_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    """Neither the epoch's reading nor the last-used times, which want to be written meanwhile, wait for them."""
    monkeypatch.setattr(watching, "USED_FLUSH_S", 0.05)
    analyst = await world.person("analyst")
    async with watched(second_runtime):
        await remember(second_runtime, analyst)
        async with AsyncExitStack() as held:
            with suppress(Unavailable, TimeoutError):
                for _ in range(40):
                    await asyncio.wait_for(held.enter_async_context(second_runtime.database.read()), 0.3)
            await revoke_key(world.runtime, actor=world.steward, key_id=analyst.who.key_id)
            deadline = time.monotonic() + PROMISED_S
            while second_runtime.keys.get(analyst.who.key_id) is not None:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)


async def test_warm_answers_are_served_while_the_database_is_away_but_not_for_ever(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset)
    analyst = await world.buyer(dataset, release, 10)
    passed = [0.0]
    warm = ahead(world.runtime, passed)
    await check_rights(warm)
    await verify_key(warm, token=analyst.token)
    before = await answer_query(warm, reader=analyst.reader, release_id=release, body=QUESTION)
    lost = replace(warm, database=Database.open(AWAY))
    await check_rights(lost)
    passed[0] = warm.settings.stale_rights_s - 5
    async with over_http(lost) as client:
        sent: dict[str, Any] = {"content": QUESTION, "headers": analyst.headers}
        served = await client.post(f"/v1/releases/{release}/query", **sent)
        assert (served.status_code, served.content) == (200, before)
        passed[0] = warm.settings.stale_rights_s + 1
        refused = await client.post(f"/v1/releases/{release}/query", **sent)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert int(refused.headers["retry-after"]) >= 1
    back = replace(lost, database=world.runtime.database)
    passed[0] = 0.0
    await check_rights(back)
    assert await answer_query(back, reader=analyst.reader, release_id=release, body=QUESTION) == before
    await lost.database.dispose()


async def test_nothing_that_charges_is_served_while_the_database_is_away(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset)
    analyst = await world.buyer(dataset, release, 10)
    lost = replace(world.runtime, database=Database.open(AWAY))
    await verify_key(world.runtime, token=world.boss.token)
    await verify_key(world.runtime, token=analyst.token)
    async with over_http(lost) as client:
        body = {"model": (await world.release(release)).model, "mechanism": {"kind": "baps", "samples": 5}}
        bought = await client.post(f"/v1/releases/{release}/access", json={"samples": 20}, headers=analyst.headers)
        asked = await client.post(f"/v1/datasets/{dataset}/releases", json=body, headers=world.boss.headers)
        unknown = await client.get("/v1/me", headers={"Authorization": f"Bearer pstn_{'a' * 16}_{'b' * 43}"})
    assert [answer.status_code for answer in (bought, asked, unknown)] == [503, 503, 503]
    await lost.database.dispose()


async def test_last_used_times_reach_the_database_and_survive_its_absence(world: World):
    analyst = await world.person("analyst")
    at_us = world.runtime.clock()
    fixed = replace(world.runtime, clock=lambda: at_us)
    await verify_key(fixed, token=analyst.token)
    await flush_used(replace(fixed, database=Database.open(AWAY)))
    await flush_used(fixed)
    (key,) = await list_keys(world.runtime, steward=world.steward, principal_id=analyst.id)
    assert key.last_used_us == at_us
