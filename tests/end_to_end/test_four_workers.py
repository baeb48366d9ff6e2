"""What a steward takes away is gone on every one of four processes within a second; what was paid for stays."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

import httpx

from tests.conftest import SQLITE_DEEP
from tests.end_to_end.fixtures import Start
from tests.services.world import QUESTION, Person, World

PROMISED_S = 1.0
WORKERS = 4
REQUESTS = 24


async def seconds_until(
    ask: Callable[[], Awaitable[httpx.Response]], changed: Callable[[httpx.Response], bool], since: float
) -> float:
    """How long after `since` the last old answer was *asked for*; asking goes on until it has long stopped."""
    last_old = 0.0
    while (now := time.monotonic() - since) < min(last_old + 0.6, 3 * PROMISED_S):
        if not changed(await ask()):
            last_old = now
        await asyncio.sleep(0.03)
    return last_old


async def question(client: httpx.AsyncClient, person: Person, release: str) -> httpx.Response:
    return await client.post(f"/v1/releases/{release}/query", content=QUESTION, headers=person.headers)


async def warm(clients: list[httpx.AsyncClient], person: Person, release: str) -> None:
    """Known to every process by memory; twice, because changes made a moment ago still empty memories."""
    for _ in range(2):
        for client in clients:
            assert (await question(client, person, release)).status_code == 200
        await asyncio.sleep(0.45)


@SQLITE_DEEP
async def test_a_revoked_key_and_a_lowered_cap_take_effect_on_four_processes_within_a_second(
    world: World, serve: Start, record_property: Callable[[str, object], None]
):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    ada, bob = await world.buyer(dataset, release, 10), await world.buyer(dataset, release, 5, "bob")
    processes = await asyncio.to_thread(serve, WORKERS, EMBEDDED_WORKER="false")
    assert len({process.pid for process in processes}) == WORKERS
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(process.connect()) for process in processes]
        await warm(clients, ada, release)
        gone = await clients[0].delete(f"/v1/keys/{ada.who.key_id}", headers=world.boss.headers)
        assert gone.status_code == 204
        since = time.monotonic()
        revoked = await asyncio.gather(
            *(
                seconds_until(partial(question, client, ada, release), lambda a: a.status_code == 401, since)
                for client in clients
            )
        )
        assert max(revoked) < PROMISED_S, revoked
        path = f"/v1/datasets/{dataset}/analysts/{bob.id}"
        lowered = await clients[0].put(path, json={"epsilon": 0.01, "delta": 1e-6}, headers=world.boss.headers)
        assert lowered.status_code == 200
        since = time.monotonic()

        async def buy(client: httpx.AsyncClient) -> httpx.Response:
            return await client.post(f"/v1/releases/{release}/access", json={"samples": 6}, headers=bob.headers)

        capped = await asyncio.gather(
            *(seconds_until(partial(buy, client), lambda a: a.status_code == 409, since) for client in clients)
        )
        assert max(capped) < PROMISED_S, capped
        for client in clients:
            kept = await question(client, bob, release)
            assert (kept.status_code, kept.json()["samples"]) == (200, 5)
            mine = (await client.get("/v1/me", headers=bob.headers)).json()
            assert mine["caps"][0]["budget"]["epsilon"] == 0.01
    record_property("seconds_revoked", max(revoked))
    record_property("seconds_capped", max(capped))
    assert (await world.kinds(dataset)).count("access") == 2
    assert await world.verified()


async def test_one_purchase_sent_to_four_processes_at_once_is_made_once(world: World, serve: Start):
    """The same Idempotency-Key everywhere: one charge, one answer. Without one, prefixes still pay the difference once."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    ada = await world.person("analyst")
    await world.cap(dataset, ada)
    processes = await asyncio.to_thread(serve, WORKERS, EMBEDDED_WORKER="false")
    path = f"/v1/releases/{release}/access"
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(process.connect()) for process in processes]

        async def buy(number: int, samples: int, key: str | None) -> httpx.Response:
            headers = ada.headers if key is None else {**ada.headers, "Idempotency-Key": key}
            return await clients[number % WORKERS].post(path, json={"samples": samples}, headers=headers)

        same = await asyncio.gather(*(buy(number, 7, "once") for number in range(REQUESTS)))
        assert {answer.status_code for answer in same} == {200}
        assert len({answer.content for answer in same}) == 1
        assert sum("idempotent-replayed" not in answer.headers for answer in same) == 1
        raced = await asyncio.gather(*(buy(number, 8 + number % 5, f"key-{number}") for number in range(REQUESTS)))
        assert {answer.status_code for answer in raced} == {200}
        mine = (await clients[1].get("/v1/me", headers=ada.headers)).json()
    assert mine["accesses"][0]["samples"] == 12
    entries = [entry for entry in await world.entries(dataset) if entry.kind == "access"]
    assert 2 <= len(entries) <= 6
    account = await world.account(f"{ada.id}@{dataset}")
    assert sum(entry.amounts.pure_nano for entry in entries) == account.spent.pure_nano
    assert await world.verified()
