"""Losing Redis costs speed, never an error: reads miss, writes are lost, and it comes back by itself."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import pytest
import redis as client_library

from app.storage.cache import open_cache
from app.storage.cache.breaker import Breaker
from app.storage.cache.protocol import Cache
from app.storage.cache.redis import COOLDOWN_S
from tests.servers.process import free_port
from tests.servers.valkey import ValkeyServer


@pytest.fixture
def own_redis() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    yield server
    server.stop()


async def test_every_operation_is_soft_while_redis_is_away() -> None:
    lost: Counter[str] = Counter()
    cache = open_cache(f"redis://127.0.0.1:{free_port()}/0", on_failure=lambda name: lost.update([name]))
    assert await cache.get("k") is None
    assert not await cache.put("k", b"1", 60)
    assert not await cache.delete("k")
    assert not await cache.publish("c", b"1")
    assert not await cache.ping()
    async with cache.subscribe("c"):
        pass
    await cache.close()
    assert lost["get"] == 1
    assert lost["subscribe"] >= 1


async def test_while_redis_is_away_a_thousand_reads_cost_less_than_one_timeout() -> None:
    cache = open_cache(f"redis://127.0.0.1:{free_port()}/0")
    await cache.get("k")
    assert await _seconds(cache, reads=1000) < 0.25
    await cache.close()


async def _seconds(cache: Cache, *, reads: int) -> float:
    """The least of three: whoever else has the machine may make one of them wait, a server that is away would make all."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(reads):
            assert await cache.get("k") is None
        taken.append(time.perf_counter() - started)
    return min(taken)


@pytest.mark.slow
async def test_a_restarted_redis_is_used_again_and_subscribers_learn_of_the_gap(own_redis: ValkeyServer) -> None:
    cache = open_cache(own_redis.url)
    async with cache.subscribe("c") as messages:
        await cache.put("k", b"1", 60)
        assert await cache.publish("c", b"before")
        assert (await asyncio.wait_for(anext(messages), 5)).body == b"before"
        await asyncio.to_thread(own_redis.restart)
        assert await cache.get("k") is None
        gap = await asyncio.wait_for(anext(messages), 10)
        assert gap.lost
        for _ in range(50):
            if await cache.put("k", b"2", 60):
                break
            await asyncio.sleep(COOLDOWN_S / 5)
        assert await cache.get("k") == b"2"
        assert await cache.publish("c", b"after")
        assert (await asyncio.wait_for(anext(messages), 5)).body == b"after"
    await cache.close()


async def test_a_redis_that_hangs_costs_one_short_timeout_and_then_nothing() -> None:
    """A server that accepts and never answers."""
    stuck = asyncio.Event()

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stuck.wait()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    cache = open_cache(f"redis://127.0.0.1:{port}/0")
    started = time.perf_counter()
    assert await cache.get("k") is None
    assert time.perf_counter() - started < 2
    assert await _seconds(cache, reads=1) < 0.1
    await cache.close()
    stuck.set()
    server.close()
    await server.wait_closed()


async def test_every_key_is_namespaced_and_has_a_lifetime(own_redis: ValkeyServer) -> None:
    cache = open_cache(own_redis.url)
    await cache.put("sample_set:rel_1", b"1", 3600)
    await cache.put("rights:7:k", b"1", 0.5)
    await cache.close()
    with client_library.Redis(port=own_redis.port) as client:
        keys = client.keys("*")
        assert sorted(keys) == [b"postern:v1:rights:7:k", b"postern:v1:sample_set:rel_1"]
        assert all(client.pttl(key) > 0 for key in keys)


async def test_a_full_redis_that_refuses_writes_is_soft_too(own_redis: ValkeyServer) -> None:
    with client_library.Redis(port=own_redis.port) as client:
        client.config_set("maxmemory", "1")
        client.config_set("maxmemory-policy", "noeviction")
    cache = open_cache(own_redis.url)
    assert not await cache.put("k", b"x" * 1000, 60)
    await cache.close()


def test_the_breaker_lets_one_caller_try_after_each_cooldown() -> None:
    now = 0.0
    breaker = Breaker(lambda: now, 1.0)
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    now = 1.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.failed()
    now = 1.9
    assert not breaker.allows()
    now = 2.0
    assert breaker.allows()
    breaker.succeeded()
    assert [breaker.allows() for _ in range(3)] == [True, True, True]
