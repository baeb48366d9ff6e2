"""Locks and token buckets in the cache, against a bucket simulated here."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import redis as client_library

from app.storage.cache import Cache, MemoryCache, open_cache
from tests.servers.process import free_port
from tests.servers.valkey import ValkeyServer


@pytest.fixture
async def shared(redis_server: ValkeyServer) -> AsyncIterator[Cache]:
    redis_server.flush()
    opened = open_cache(redis_server.url)
    yield opened
    await opened.close()


async def test_one_of_many_holds_a_key_until_it_ends_or_is_given_back(cache: Cache) -> None:
    assert sum(await asyncio.gather(*(cache.hold("k", 60) for _ in range(20)))) == 1
    assert not await cache.hold("k", 60)
    assert await cache.hold("other", 0.05)
    await asyncio.sleep(0.15)
    assert await cache.hold("other", 60)
    await cache.delete("k")
    assert await cache.hold("k", 60)


async def test_while_redis_is_away_everyone_holds_and_nothing_is_shared() -> None:
    away = open_cache(f"redis://127.0.0.1:{free_port()}/0")
    assert [await away.hold("k", 60) for _ in range(3)] == [True] * 3
    assert await away.take_tokens("b", 5, rate_per_s=10, burst=5) is None
    await away.close()
    assert await MemoryCache().take_tokens("b", 5, rate_per_s=10, burst=5) is None


async def test_a_bucket_gives_its_burst_at_once_and_then_its_rate(shared: Cache) -> None:
    """Against the definition: never more than burst + rate · elapsed, and after a wait at least rate · elapsed − 1."""
    rate, burst = 200.0, 30
    started = time.monotonic()
    given = 0
    for least in (7, 30, 30, 30):
        taken = await shared.take_tokens("b", least, rate_per_s=rate, burst=burst)
        assert taken is not None
        given += taken.granted
        assert taken.granted <= least
        assert given <= burst + rate * (time.monotonic() - started)
    assert given >= burst
    emptied = time.monotonic()
    while (await shared.take_tokens("b", 1000, rate_per_s=rate, burst=burst)).granted:
        emptied = time.monotonic()
    await asyncio.sleep(0.1)
    waited = time.monotonic() - emptied
    later = await shared.take_tokens("b", 1000, rate_per_s=rate, burst=burst)
    assert later is not None
    assert rate * 0.1 - 1 <= later.granted <= min(burst, rate * (time.monotonic() - emptied) + 1), waited
    assert later.left == 0


async def test_who_asks_a_full_bucket_gets_a_sixteenth_of_it(shared: Cache) -> None:
    held = 1_600
    for _ in range(3):
        taken = await shared.take_tokens("b", 1, rate_per_s=0.001, burst=1_600)
        assert taken == (held // 16, held - held // 16)
        held -= held // 16


async def test_many_connections_together_get_no_more_than_one_would(redis_server: ValkeyServer, shared: Cache) -> None:
    others = [open_cache(redis_server.url) for _ in range(4)]
    started = time.monotonic()

    async def take(cache: Cache) -> int:
        taken = [await cache.take_tokens("b", 3, rate_per_s=50, burst=40) for _ in range(50)]
        return sum(found.granted for found in taken if found is not None)

    given = sum(await asyncio.gather(*(take(other) for other in others)))
    assert 40 <= given <= 40 + 50 * (time.monotonic() - started)
    for other in others:
        await other.close()


@pytest.mark.parametrize("poison", ["string", "list", "nan", "negative", "future", "words"])
async def test_a_poisoned_bucket_is_an_empty_or_a_full_one_and_never_an_error(
    redis_server: ValkeyServer, shared: Cache, poison: str
) -> None:
    name = "postern:v1:b"
    fields = {"nan": ("nan", "nan"), "negative": ("-5", "1"), "future": ("3", "9e18"), "words": ("x", "y")}
    with client_library.Redis(port=redis_server.port) as client:
        if poison == "string":
            client.set(name, "1")
        elif poison == "list":
            client.rpush(name, "1")
        else:
            client.hset(name, mapping=dict(zip(("tokens", "at"), fields[poison], strict=True)))
        taken = await shared.take_tokens("b", 100, rate_per_s=10, burst=5)
        assert taken is not None
        assert 0 <= taken.granted <= 5
        assert 0 < client.pttl(name) <= 5 / 10 * 1000 + 1000


async def test_an_idle_bucket_is_gone_once_it_would_be_full_again(redis_server: ValkeyServer, shared: Cache) -> None:
    await shared.take_tokens("b", 5, rate_per_s=100, burst=10)
    with client_library.Redis(port=redis_server.port) as client:
        left_ms = client.pttl("postern:v1:b")
    assert 100 <= left_ms <= 1100
