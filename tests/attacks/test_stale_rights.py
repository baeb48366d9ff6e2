"""A right taken away is gone everywhere within a second: two server processes, warm, asked all the time."""

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import product
from typing import Any

import httpx
import pytest

from tests.conftest import SQLITE_DEEP
from tests.end_to_end.fixtures import Start
from tests.services.world import QUESTION, Person, World

pytestmark = pytest.mark.slow

PROMISED_S = 1.0


async def ask(client: httpx.AsyncClient, person: Person, release: str) -> httpx.Response:
    return await client.post(f"/v1/releases/{release}/query", content=QUESTION, headers=person.headers)


async def warm(clients: list[httpx.AsyncClient], release: str, *people: Person) -> None:
    """Known to every process by memory; twice, because changes made a moment ago still empty memories."""
    for _ in range(2):
        for client, person in product(clients, people):
            assert (await ask(client, person, release)).status_code == 200
        await asyncio.sleep(0.45)


async def seconds_old(client: httpx.AsyncClient, person: Person, release: str, changed: Any) -> float:
    """How long after the change a process still gave the old answer; it is asked until it has long stopped to."""
    started = time.monotonic()
    last_old = 0.0
    while (now := time.monotonic() - started) < min(last_old + 0.6, 3 * PROMISED_S):
        if not changed(await ask(client, person, release)):
            last_old = now
        await asyncio.sleep(0.03)
    return last_old


@SQLITE_DEEP
async def test_revoked_keys_and_narrowed_grants_die_on_every_process_within_a_second(world: World, serve: Start):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    ada = await world.buyer(dataset, release, 10)
    wall = await world.person("dashboard")
    await world.cap(dataset, wall, samples=10)
    processes = await asyncio.to_thread(serve, 2, EMBEDDED_WORKER="false")
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(process.connect()) for process in processes]
        await warm(clients, release, ada, wall)
        path = f"/v1/datasets/{dataset}/analysts/{wall.id}"
        narrowed = await clients[0].put(path, json={"samples": 3}, headers=world.boss.headers)
        assert narrowed.status_code == 200
        fewer = [seconds_old(client, wall, release, lambda answer: answer.json()["samples"] == 3) for client in clients]
        gone = await clients[0].delete(f"/v1/keys/{ada.who.key_id}", headers=world.boss.headers)
        assert gone.status_code == 204
        revoked = [seconds_old(client, ada, release, lambda answer: answer.status_code == 401) for client in clients]
        took = await asyncio.gather(*fewer, *revoked)
        assert max(took) < PROMISED_S, took
        assert (await ask(clients[1], ada, release)).json()["code"] == "key_revoked"
