"""How far work on rows is, told to whoever owns them and to nobody else.

How many bytes of a file were read by now depends on the file. So it is written nowhere that lasts: while the work goes on,
its process puts a value of one length, sealed under the installation's secret, into the cache every half second, whether
anything moved or not, where it ends by itself two seconds later. Without it work goes on just the same, and its steward sees
less.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from app.errors import Unavailable
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import cache_secret
from app.storage.cache.sealed import seal, unseal

STAGES = ("working", "receiving", "checking", "opening", "reading", "drawing", "holding")
EVERY_S = 0.5
TTL_S = 2.0
_FORM = struct.Struct(">Bqq")
_UNKNOWN = -1


@dataclass(slots=True)
class Work:
    """Where it is; changed by whoever works, from any thread. Bytes are None where they are not known."""

    stage: str = "working"
    bytes_done: int | None = None
    bytes_total: int | None = None

    def enter(self, stage: str, *, bytes_done: int | None = None, bytes_total: int | None = None) -> None:
        self.stage, self.bytes_done, self.bytes_total = stage, bytes_done, bytes_total

    def advance(self, count: int) -> None:
        self.bytes_done = (self.bytes_done or 0) + count

    def packed(self) -> bytes:
        """A byte and two numbers, whatever they are."""
        done, total = (_UNKNOWN if value is None else value for value in (self.bytes_done, self.bytes_total))
        return _FORM.pack(STAGES.index(self.stage), done, total)


def work_from(packed: bytes) -> Work:
    stage, done, total = _FORM.unpack(packed)
    return Work(STAGES[stage], *(None if value == _UNKNOWN else value for value in (done, total)))


@asynccontextmanager
async def shown(runtime: Runtime, name: str) -> AsyncIterator[Work]:
    """Work under a name, told as long as the block lasts. Nothing in the block waits for it."""
    work, ended = Work(), asyncio.Event()
    telling = asyncio.create_task(_tell(runtime, name, work, ended))
    try:
        yield work
    finally:
        # Not cancelled: a connection to the cache may take that for a failure of its own, and the telling would go on for ever.
        ended.set()
        await asyncio.gather(telling, return_exceptions=True)


async def look(runtime: Runtime, name: str) -> Work | None:
    """None where nothing was told of it lately."""
    sealed = await runtime.cache.get(_key(name))
    if sealed is None:
        return None
    packed = unseal(await cache_secret(runtime), _key(name), sealed)
    return None if packed is None or len(packed) != _FORM.size else work_from(packed)


async def _tell(runtime: Runtime, name: str, work: Work, ended: asyncio.Event) -> None:
    while not ended.is_set():
        with suppress(Unavailable):
            await runtime.cache.put(_key(name), seal(await cache_secret(runtime), _key(name), work.packed()), TTL_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), EVERY_S)


def _key(name: str) -> str:
    return f"progress:{name}"
