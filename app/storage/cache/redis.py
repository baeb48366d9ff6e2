"""The cache in Redis or Valkey. Every failure is soft, short and counted.

Timeouts are a quarter of a second and nothing is retried within a call; after a failure the breaker answers for
Redis until a later call finds it back.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from app.errors import InvalidInput
from app.storage.cache.breaker import Breaker
from app.storage.cache.mailbox import LOST, Mailbox
from app.storage.cache.protocol import FailureHook, Message
from app.storage.cache.token_bucket import TAKE, Tokens

T = TypeVar("T")

NAMESPACE = "postern:v1"
TIMEOUT_S = 0.25
COOLDOWN_S = 0.5
_QUIET_S = 1.0
_SILENT_S = 4.0
_CONNECTIONS_MAX = 64


def open_client(url: str, *, connections_max: int) -> Redis:
    """Short timeouts and no retries. Raises InvalidInput."""
    try:
        return Redis.from_url(
            url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            max_connections=connections_max,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError:
        raise InvalidInput("redis_url", "redis://host:port/number") from None


class RedisCache:
    """Keys and channels live under `NAMESPACE`."""

    def __init__(self, url: str, *, on_failure: FailureHook | None = None) -> None:
        self._client = open_client(url, connections_max=_CONNECTIONS_MAX)
        self._on_failure = on_failure
        self._breaker = Breaker(time.monotonic, COOLDOWN_S)

    async def get(self, key: str) -> bytes | None:
        if not self._breaker.allows():
            return None
        found: Awaitable[Any] = self._client.get(self._key(key))
        value: bytes | None = await self._softly("get", found, None)
        return value

    async def put(self, key: str, value: bytes, ttl_s: float) -> bool:
        if not ttl_s > 0 or not self._breaker.allows():
            return False
        lifetime_ms = max(1, int(ttl_s * 1000))
        stored = self._client.set(self._key(key), value, px=lifetime_ms)
        return bool(await self._softly("put", stored, False))

    async def delete(self, *keys: str) -> bool:
        if not keys:
            return True
        if not self._breaker.allows():
            return False
        removed = self._client.unlink(*map(self._key, keys))
        return await self._softly("delete", removed, None) is not None

    async def hold(self, key: str, ttl_s: float) -> bool:
        if not self._breaker.allows():
            return True
        taken = self._client.set(self._key(key), b"", px=max(1, int(ttl_s * 1000)), nx=True)
        return bool(await self._softly("hold", taken, True))

    async def take_tokens(self, key: str, least: int, *, rate_per_s: float, burst: int) -> Tokens | None:
        if not self._breaker.allows():
            return None
        taking: Awaitable[Any] = self._client.eval(TAKE, 1, self._key(key), rate_per_s, burst, least)
        taken = await self._softly("take", taking, None)
        return None if taken is None else Tokens(int(taken[0]), int(taken[1]))

    async def publish(self, channel: str, body: bytes) -> bool:
        if not self._breaker.allows():
            return False
        sent = self._client.publish(self._key(channel), body)
        return await self._softly("publish", sent, None) is not None

    @asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Message]]:
        """Waits for the subscription to be confirmed, unless Redis is away: then it begins with `lost`."""
        mailbox, ready = Mailbox(), asyncio.Event()
        pump = asyncio.create_task(self._pump(channels, mailbox, ready))
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ready.wait(), 2 * TIMEOUT_S)
            yield mailbox.messages()
        finally:
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    async def ping(self) -> bool:
        """Asks Redis itself, whatever the breaker thinks."""
        return bool(await self._softly("ping", self._client.ping(), False))

    async def close(self) -> None:
        with contextlib.suppress(RedisError, OSError):
            await self._client.aclose()

    def _key(self, key: str) -> str:
        return f"{NAMESPACE}:{key}"

    async def _softly(self, operation: str, call: Awaitable[T], otherwise: T) -> T:
        try:
            result = await call
        except (RedisError, OSError, TimeoutError):
            self._breaker.failed()
            self._failed(operation)
            return otherwise
        self._breaker.succeeded()
        return result

    def _failed(self, operation: str) -> None:
        if self._on_failure is not None:
            self._on_failure(operation)

    async def _pump(self, channels: tuple[str, ...], mailbox: Mailbox, ready: asyncio.Event) -> None:
        """Keep one subscription alive; every reconnection, and a first one that came late, tells `LOST`."""
        first = True
        while True:
            pubsub: Any = self._client.pubsub()
            try:
                await pubsub.subscribe(*map(self._key, channels))
                if not first:
                    mailbox.deliver(LOST)
                ready.set()
                await self._listen(pubsub, mailbox)
            except (RedisError, OSError, TimeoutError):
                self._failed("subscribe")
            finally:
                with contextlib.suppress(RedisError, OSError):
                    await pubsub.aclose()
            first = False
            await asyncio.sleep(COOLDOWN_S)

    async def _listen(self, pubsub: Any, mailbox: Mailbox) -> None:
        """Deliver until the connection breaks, or says nothing for so long that it must be broken."""
        heard = time.monotonic()
        while time.monotonic() - heard < _SILENT_S:
            message = await pubsub.get_message(timeout=_QUIET_S)
            if message is None:
                await pubsub.ping()
                continue
            heard = time.monotonic()
            if message["type"] == "message":
                name = message["channel"].decode().removeprefix(f"{NAMESPACE}:")
                mailbox.deliver(Message(name, message["data"]))
