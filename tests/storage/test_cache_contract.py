"""One contract for both caches, and the bounds of the one in memory."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.errors import InvalidInput
from app.storage.cache import Cache, MemoryCache, Message, open_cache
from app.storage.cache.mailbox import LOST, Mailbox
from tests.conftest import Backend


async def first(messages: AsyncIterator[Message], count: int) -> list[Message]:
    async def collect() -> list[Message]:
        return [await anext(messages) for _ in range(count)]

    return await asyncio.wait_for(collect(), 5)


async def test_bytes_come_back_as_they_were_put(cache: Cache) -> None:
    for value in (b"", b"\x00\xff\r\n$-1\r\n", b"x" * 300_000):
        assert await cache.put("k", value, 60)
        assert await cache.get("k") == value
    assert await cache.get("other") is None


async def test_an_entry_ends_with_its_lifetime(cache: Cache) -> None:
    assert await cache.put("short", b"1", 0.05)
    assert await cache.put("long", b"2", 60)
    await asyncio.sleep(0.15)
    assert await cache.get("short") is None
    assert await cache.get("long") == b"2"


@pytest.mark.parametrize("ttl_s", [0, -1, float("nan")])
async def test_nothing_is_kept_without_a_lifetime(cache: Cache, ttl_s: float) -> None:
    assert not await cache.put("k", b"1", ttl_s)
    assert await cache.get("k") is None


async def test_deleted_entries_are_gone_and_others_stay(cache: Cache) -> None:
    for key in ("a", "b", "c"):
        await cache.put(key, b"1", 60)
    assert await cache.delete("a", "b", "never there")
    assert await cache.delete()
    assert [await cache.get(key) for key in "abc"] == [None, None, b"1"]


async def test_subscribers_hear_their_channels_in_order_from_when_they_joined(cache: Cache) -> None:
    await cache.publish("revoked", b"too early")
    async with cache.subscribe("revoked", "published") as one, cache.subscribe("published") as other:
        assert await cache.publish("revoked", b"key1")
        assert await cache.publish("published", b"rel1")
        assert await cache.publish("elsewhere", b"?")
        assert await cache.publish("published", b"\x00rel2")
        assert [(m.channel, m.body, m.lost) for m in await first(one, 3)] == [
            ("revoked", b"key1", False),
            ("published", b"rel1", False),
            ("published", b"\x00rel2", False),
        ]
        assert [m.body for m in await first(other, 2)] == [b"rel1", b"\x00rel2"]
    assert await cache.publish("published", b"nobody listens")


async def test_two_openings_share_what_redis_keeps_and_not_what_memory_keeps(backend: Backend) -> None:
    one, two = open_cache(backend.redis_url), open_cache(backend.redis_url)
    await one.put("k", b"1", 60)
    seen = await two.get("k")
    for opened in (one, two):
        await opened.close()
    assert seen == (None if backend.redis_url is None else b"1")


async def test_memory_stays_below_its_bound_and_drops_the_least_recently_used() -> None:
    cache = MemoryCache(max_bytes=10_000)
    for index in range(10):
        await cache.put(f"k{index}", b"x" * 1500, 60)
        await cache.get("k0")
        assert cache.size_bytes <= 10_000
    assert await cache.get("k0") is not None
    assert await cache.get("k1") is None
    assert await cache.get("k9") is not None
    assert not await cache.put("huge", b"x" * 10_001, 60)
    assert await cache.get("k9") is not None
    await cache.close()
    assert cache.size_bytes == 0


async def test_memory_expires_by_the_clock_it_was_given() -> None:
    now = 100.0
    cache = MemoryCache(clock=lambda: now)
    await cache.put("k", b"1", 10)
    now = 109.9
    assert await cache.get("k") == b"1"
    now = 110.0
    assert await cache.get("k") is None
    assert cache.size_bytes == 0


async def test_a_subscriber_who_falls_behind_is_told_that_messages_were_lost() -> None:
    mailbox = Mailbox()
    for index in range(1025):
        mailbox.deliver(Message("c", b"%d" % index))
    assert await first(mailbox.messages(), 2) == [LOST, Message("c", b"1024")]


@pytest.mark.parametrize("url", ["http://x", "nonsense", "redis://host:port"])
def test_other_cache_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        open_cache(url)
