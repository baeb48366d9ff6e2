"""What lies in Redis is sealed, ends, is bounded, and comes back after a loss without a rush on the database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import redis as client_library
from prometheus_client import REGISTRY

from app.services.reading.answer_query import answer_query
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import SHARED_BYTES_MAX, read_samples, share_samples
from app.storage.cache.sealed import seal, unseal
from tests.conftest import Backend
from tests.deep import deep
from tests.servers.valkey import ValkeyServer
from tests.services.world import QUESTION, World, new_world, over_http, services, settings_for

PROCESSES = 4
READERS = 25


@pytest.fixture
async def processes(postgres_backend: Backend, tmp_path: Path) -> AsyncIterator[list[Runtime]]:
    """Services of four processes: nothing in memory is shared between them."""
    async with AsyncExitStack() as stack:
        settings = settings_for(postgres_backend, tmp_path)
        yield [await stack.enter_async_context(services(settings)) for _ in range(PROCESSES)]


@pytest.fixture
async def world(processes: list[Runtime]) -> World:
    return await new_world(processes[0])


def loads() -> float:
    return REGISTRY.get_sample_value("postern_sample_loads_total") or 0.0


async def ask(runtime: Runtime, world: World, release: str) -> bytes:
    return await answer_query(runtime, reader=world.steward, release_id=release, body=QUESTION)


async def test_a_published_release_is_in_redis_before_anyone_asks(world: World, processes: list[Runtime]):
    release = await world.published(await world.dataset())
    before = loads()
    answers = [await ask(runtime, world, release) for runtime in processes]
    assert len(set(answers)) == 1
    assert loads() == before


async def test_after_a_flush_a_hundred_readers_in_four_processes_cost_at_most_four_loads(
    world: World, processes: list[Runtime], redis_server: ValkeyServer
):
    release = await world.published(await world.dataset(), samples=30)
    expected = await ask(processes[0], world, release)
    counts = []
    for _ in range(3):
        redis_server.flush()
        for runtime in processes:
            runtime.warm.releases.clear()
            runtime.warm.answers.clear()
        before = loads()
        asked = [ask(runtime, world, release) for runtime in processes for _ in range(READERS)]
        assert set(await asyncio.gather(*asked)) == {expected}
        counts.append(loads() - before)
    assert max(counts) <= PROCESSES, counts
    assert min(counts) == 1, counts


async def test_a_lock_left_by_a_dead_process_delays_and_does_not_stop_the_others(
    world: World, processes: list[Runtime], redis_server: ValkeyServer
):
    release = await world.published(await world.dataset(), samples=30)
    redis_server.flush()
    assert await processes[0].cache.hold(f"filling:{release}", 0.3)
    assert await asyncio.wait_for(ask(processes[1], world, release), 5)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "poison", ["empty", deep("short"), deep("long"), "other release", "one bit", deep("in clear"), "other secret"]
)
async def test_a_poisoned_sample_set_is_ignored_and_replaced(world: World, processes: list[Runtime], poison: str):
    dataset = await world.dataset()
    release, other = await world.published(dataset, samples=30), await world.published(dataset, samples=30)
    runtime = processes[0]
    key, body = f"samples:{release}", await world.samples(release)
    sealed, foreign = await runtime.cache.get(key), await runtime.cache.get(f"samples:{other}")
    assert body is not None
    assert sealed is not None
    assert foreign is not None
    assert runtime.warm.cache_secret is not None
    expected = await ask(runtime, world, release)
    values = {
        "empty": b"",
        "short": sealed[:-1],
        "long": sealed + b"\0",
        "other release": foreign,
        "one bit": sealed[:40] + bytes([sealed[40] ^ 1]) + sealed[41:],
        "in clear": body,
        "other secret": seal(b"s" * 32, key, b"\0" * len(body)),
    }
    await runtime.cache.put(key, values[poison], 60)
    for fresh in processes[1:3]:
        assert await ask(fresh, world, release) == expected
    refilled = await runtime.cache.get(key)
    assert refilled is not None
    assert unseal(runtime.warm.cache_secret, key, refilled) == body


async def test_redis_holds_no_sample_in_clear(world: World, redis_server: ValkeyServer):
    release = await world.published(await world.dataset(), samples=30)
    body = await world.samples(release)
    assert body is not None
    with client_library.Redis(port=redis_server.port) as client:
        stored = b"".join(client.dump(key) or b"" for key in client.keys("*"))
    drawn = {body[start : start + 8] for start in range(0, len(body), 8)}
    assert len(stored) > len(body)
    assert not [value for value in drawn if value in stored]


async def test_every_key_is_namespaced_and_ends(world: World, processes: list[Runtime], redis_server: ValkeyServer):
    """After people, releases, purchases, questions and rate limits over HTTP, from four processes."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    ada = await world.buyer(dataset, release, 5)
    for runtime in processes:
        async with over_http(runtime) as client:
            for person in (world.boss, ada):
                path = f"/v1/releases/{release}/query"
                answer = await client.post(path, content=QUESTION, headers=person.headers)
                assert answer.status_code == 200
    with client_library.Redis(port=redis_server.port) as client:
        ends = {key: client.pttl(key) for key in client.scan_iter(count=1000)}
    kinds = {key.split(b":")[2] for key in ends}
    assert {b"samples", b"rate"} <= kinds
    assert all(key.startswith(b"postern:v1:") for key in ends), ends
    assert all(left_ms > 0 for left_ms in ends.values()), ends


async def test_a_redis_too_small_for_everything_changes_no_answer(
    world: World, processes: list[Runtime], redis_server: ValkeyServer
):
    """With eviction it forgets, without it refuses; either way answers come from the database."""
    dataset = await world.dataset(budget={"epsilon": 20.0, "delta": 1e-6})
    releases = [await world.published(dataset, samples=5) for _ in range(4)]
    expected = [await ask(processes[0], world, release) for release in releases]
    with client_library.Redis(port=redis_server.port) as client:
        try:
            for policy in ("allkeys-lru", "noeviction"):
                client.config_set("maxmemory-policy", policy)
                client.config_set("maxmemory", "1")
                for runtime in processes[1:]:
                    runtime.warm.releases.clear()
                    runtime.warm.answers.clear()
                    assert [await ask(runtime, world, release) for release in releases] == expected
        finally:
            client.config_set("maxmemory", "0")
            client.config_set("maxmemory-policy", "noeviction")


async def test_a_set_larger_than_the_bound_is_not_shared(world: World, processes: list[Runtime]):
    release = await world.published(await world.dataset(), samples=10)
    found = await read_samples(processes[1], release, 10, 1)
    assert len(found.body) == 80 < SHARED_BYTES_MAX
    await processes[1].cache.delete(f"samples:{release}")
    await share_samples(processes[1], replace(found, body=bytes(SHARED_BYTES_MAX + 1)))
    assert await processes[1].cache.get(f"samples:{release}") is None
