"""Turns for numerical work: plans, costs, beliefs, gates. A few threads, one of them at a time for each reader, and a lane for
stewards and the service itself, so that however many plans readers ask for, a release waits for none of them.

Who asks is known from the request (`asking`), because the work begins far below it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from app.errors import TooBusy
from app.services.principals import AnyPrincipal, Rehearser, Steward

T = TypeVar("T")

READERS_MAX, STEWARDS_MAX = 2, 2
LINE_MAX = 64
WAIT_S_MAX = 20.0

_reader: ContextVar[str | None] = ContextVar("reader", default=None)
"""None: a steward, or nobody's request at all."""


def asking(principal: AnyPrincipal) -> None:
    """From here on this task works for them."""
    is_steward = isinstance(principal, Steward) and not isinstance(principal, Rehearser)
    _reader.set(None if is_steward else principal.id)


class ComputingRoom:
    """One a process."""

    def __init__(self) -> None:
        self._readers = asyncio.Semaphore(READERS_MAX)
        self._stewards = asyncio.Semaphore(STEWARDS_MAX)
        self._own: dict[str, asyncio.Semaphore] = {}
        self._waiting: dict[str, int] = {}

    async def run(self, work: Callable[[], T]) -> T:
        """In a thread. The turn of work whose caller has gone ends with its thread, not before. Raises TooBusy."""
        async with self._turn():
            running = asyncio.create_task(asyncio.to_thread(work))
            try:
                return await asyncio.shield(running)
            finally:
                await asyncio.wait([running])
                running.exception()  # seen by whoever is still there, and by nobody else

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        reader = _reader.get()
        if reader is None:
            async with _within(self._stewards):
                yield
            return
        if self._waiting.get(reader, 0) >= LINE_MAX:
            raise TooBusy(f"more than {LINE_MAX} plans or other computations of one reader at once", retry_after_s=5)
        self._waiting[reader] = self._waiting.get(reader, 0) + 1
        own = self._own.setdefault(reader, asyncio.Semaphore(1))
        try:
            async with _within(own), _within(self._readers):
                yield
        finally:
            self._waiting[reader] -= 1
            if not self._waiting[reader]:
                del self._waiting[reader], self._own[reader]


@asynccontextmanager
async def _within(places: asyncio.Semaphore) -> AsyncIterator[None]:
    try:
        await asyncio.wait_for(places.acquire(), WAIT_S_MAX)
    except TimeoutError:
        raise TooBusy("too much is being computed", retry_after_s=5) from None
    try:
        yield
    finally:
        places.release()
