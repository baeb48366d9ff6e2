"""The interface both caches obey; `tests/storage` runs one contract over each."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from app.storage.cache.token_bucket import Tokens

FailureHook = Callable[[str], None]
"""Called with the operation's name whenever one was lost, for a counter."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something published on a channel.

    `lost` marks a gap (reconnection or overflow): messages may be missing, so whatever they keep fresh has to be
    read again. Such a message has no channel and no body.
    """

    channel: str
    body: bytes
    lost: bool = False


class Cache(Protocol):
    """No method raises because the cache is away: reads miss, writes return False."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, ttl_s: float) -> bool:
        """Keep for at most `ttl_s` seconds; there is no way to keep anything forever."""
        ...

    async def delete(self, *keys: str) -> bool:
        """False if the keys may still be there: they then live until their ttl."""
        ...

    async def hold(self, key: str, ttl_s: float) -> bool:
        """True for one caller until `ttl_s` have passed or the key is deleted; for everyone while the cache is away."""
        ...

    async def take_tokens(self, key: str, least: int, *, rate_per_s: float, burst: int) -> Tokens | None:
        """A part of a bucket that all processes share, `least` tokens or more while it has them; None if nothing is shared
        at present."""
        ...

    async def publish(self, channel: str, body: bytes) -> bool: ...

    def subscribe(self, *channels: str) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Messages published from the moment the context is entered, without an end."""
        ...

    async def ping(self) -> bool: ...

    async def close(self) -> None: ...
