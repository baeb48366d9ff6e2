"""The in-process twin: a bounded, least-recently-used table and queues for its own subscribers."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from app.storage.cache.mailbox import Mailbox
from app.storage.cache.protocol import Message
from app.storage.cache.token_bucket import Tokens

_ENTRY_OVERHEAD_BYTES = 200


class MemoryCache:
    """Holds at most `max_bytes` of keys and values, counting an estimate of what the table itself takes."""

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        self._mailboxes: set[tuple[Mailbox, frozenset[str]]] = set()

    async def get(self, key: str) -> bytes | None:
        found = self._entries.get(key)
        if found is None:
            return None
        value, expires = found
        if expires <= self._clock():
            self._remove(key)
            return None
        self._entries.move_to_end(key)
        return value

    async def put(self, key: str, value: bytes, ttl_s: float) -> bool:
        self._remove(key)
        size = _size(key, value)
        if not ttl_s > 0 or size > self._max_bytes:
            return False
        self._entries[key] = (bytes(value), self._clock() + ttl_s)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._remove(next(iter(self._entries)))
        return True

    async def delete(self, *keys: str) -> bool:
        for key in keys:
            self._remove(key)
        return True

    async def hold(self, key: str, ttl_s: float) -> bool:
        return await self.get(key) is None and await self.put(key, b"", ttl_s)

    async def take_tokens(self, key: str, least: int, *, rate_per_s: float, burst: int) -> Tokens | None:
        """Nobody shares this memory: whoever asks counts for himself."""
        return None

    async def publish(self, channel: str, body: bytes) -> bool:
        for mailbox, channels in self._mailboxes:
            if channel in channels:
                mailbox.deliver(Message(channel, bytes(body)))
        await asyncio.sleep(0)
        return True

    @asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Message]]:
        place = (Mailbox(), frozenset(channels))
        self._mailboxes.add(place)
        try:
            yield place[0].messages()
        finally:
            self._mailboxes.discard(place)

    async def ping(self) -> bool:
        return True

    async def close(self) -> None:
        self._entries.clear()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def _remove(self, key: str) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._bytes -= _size(key, found[0])


def _size(key: str, value: bytes) -> int:
    return len(key) + len(value) + _ENTRY_OVERHEAD_BYTES
