"""Redis or PostgreSQL gone under a serving process: never wrong, never overspent, and back by itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from app.main import running
from app.services.runtime import Runtime
from app.services.watch_rights import check_rights
from app.storage.migrate import upgrade
from tests.conftest import Backend
from tests.faults.restartable import RestartablePostgres
from tests.servers.valkey import ValkeyServer
from tests.services.world import QUESTION, Person, World, kinds_of, new_world, over_http, release_spec, settings_for

RECOVERY_S = 15.0


@pytest.fixture
def own_redis() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    yield server
    server.stop()


@pytest.fixture
def own_postgres() -> Iterator[RestartablePostgres]:
    server = RestartablePostgres()
    yield server
    server.stop()


@pytest.fixture
async def without_redis_of_others(
    postgres_backend: Backend, own_redis: ValkeyServer, tmp_path: Path
) -> AsyncIterator[Runtime]:
    """A whole process, background work included, on PostgreSQL and a Redis that only this test uses."""
    backend = Backend("postgres", postgres_backend.database_url, own_redis.url)
    async with running(settings_for(backend, tmp_path, embedded_worker=True)) as runtime:
        yield runtime


@pytest.fixture
async def on_own_postgres(own_postgres: RestartablePostgres, tmp_path: Path) -> AsyncIterator[Runtime]:
    url = own_postgres.url(own_postgres.create_database())
    await asyncio.to_thread(upgrade, url)
    async with running(settings_for(Backend("postgres", url, None), tmp_path)) as runtime:
        yield runtime


async def ask(client: httpx.AsyncClient, person: Person, release: str) -> httpx.Response:
    return await client.post(f"/v1/releases/{release}/query", content=QUESTION, headers=person.headers)


async def until(status: int, send: Any) -> httpx.Response:
    """Repeat a request until it is answered so."""
    deadline = time.monotonic() + RECOVERY_S
    while True:
        answer: httpx.Response = await send()
        if answer.status_code == status or time.monotonic() > deadline:
            assert answer.status_code == status, answer.text
            return answer
        await asyncio.sleep(0.05)


async def found_again(runtime: Runtime) -> bool:
    """Connections of before are broken; each try replaces one."""
    for _ in range(100):
        if await runtime.cache.ping():
            return True
        await asyncio.sleep(0.05)
    return False


async def settled(world: World, release: str) -> str:
    for _ in range(400):
        found = await world.release(release)
        if found.status != "pending":
            break
        await asyncio.sleep(0.05)
    return found.status


async def test_answers_stay_right_while_redis_is_away_and_fill_it_when_it_is_back(
    without_redis_of_others: Runtime, own_redis: ValkeyServer
):
    runtime = without_redis_of_others
    world = await new_world(runtime)
    dataset = await world.dataset()
    first = (await world.request(dataset)).id
    assert await settled(world, first) == "published"
    ada, bob = await world.buyer(dataset, first, 7, "ada"), await world.buyer(dataset, first, 8, "bob")
    async with over_http(runtime) as client:
        before = {person.id: (await ask(client, person, first)).content for person in (ada, bob, world.boss)}
        assert len(set(before.values())) == 3
        await asyncio.to_thread(own_redis.stop)
        for _ in range(2):
            for person in (ada, bob, world.boss):
                answer = await ask(client, person, first)
                assert (answer.status_code, answer.content) == (200, before[person.id])
            runtime.warm.clear()
            runtime.rights.forget()
        second = (
            await client.post(f"/v1/datasets/{dataset}/releases", json=release_spec(), headers=world.boss.headers)
        ).json()["id"]
        assert await settled(world, second) == "published"
        bought = await client.post(f"/v1/releases/{second}/access", json={"samples": 3}, headers=ada.headers)
        assert bought.status_code == 200
        assert (await client.delete(f"/v1/keys/{bob.who.key_id}", headers=world.boss.headers)).status_code == 204
        assert (await ask(client, bob, first)).status_code == 401
        await asyncio.to_thread(own_redis.restart)
        assert await found_again(runtime)
        runtime.warm.clear()
        assert (await ask(client, ada, first)).content == before[ada.id]
        with redis.Redis.from_url(own_redis.url) as cache:
            assert cache.get(f"postern:v1:samples:{first}") == await world.samples(first)
    assert await world.verified()


async def test_a_database_that_crashes_and_returns_loses_no_charge_and_makes_none(
    on_own_postgres: Runtime, own_postgres: RestartablePostgres
):
    """Warm questions are answered throughout; whatever charges is refused until the database is back."""
    world = await new_world(on_own_postgres)
    dataset = await world.dataset()
    release = await world.published(dataset)
    ada = await world.buyer(dataset, release, 7)
    waiting = (await world.request(dataset)).id
    spent = (await world.account(dataset)).spent
    async with over_http(world.runtime) as client:
        await check_rights(world.runtime)
        before = (await ask(client, ada, release)).content
        await asyncio.to_thread(own_postgres.crash)

        def buy() -> Any:
            return client.post(f"/v1/releases/{release}/access", json={"samples": 9}, headers=ada.headers)

        def request() -> Any:
            spec = release_spec(samples=5)
            return client.post(f"/v1/datasets/{dataset}/releases", json=spec, headers=world.boss.headers)

        for _ in range(2):
            answer = await ask(client, ada, release)
            assert (answer.status_code, answer.content) == (200, before)
            for refused in (await buy(), await request(), await client.get("/v1/me", headers=ada.headers)):
                assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
                assert int(refused.headers["retry-after"]) >= 1
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.get("/healthz")).status_code == 200
        await asyncio.to_thread(own_postgres.start_again)
        assert (await until(200, buy)).json()["samples"] == 9
        assert (await ask(client, ada, release)).json()["samples"] == 9
        assert (await world.account(dataset)).spent == spent
        await world.work()
        assert kinds_of(await world.entries(dataset), waiting) == ["reserve", "commit"]
        assert (await until(202, request)).json()["status"] == "pending"
    assert await world.verified()
