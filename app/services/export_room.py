"""How much of a process exports may take: a few are built at a time, one of them for each reader, and what waits to be sent
has a limit in bytes.

An export is built into a file without a name, then sent from it. So a slow reader holds neither samples in memory nor a
turn, and a disk that is full is a refusal before the first byte.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from app.errors import TooBusy

T = TypeVar("T")

TURNS = 2
WAITING_MAX = 8
"""Exports of one reader under way at once, sent or being built."""
WAIT_S_MAX = 20.0
HELD_BYTES_MAX = 4 * 1024**3
_BUSY = "too many exports at once"


@dataclass(slots=True)
class Line:
    """One reader's exports that are being built or wait for it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class ExportRoom:
    """One a process."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(TURNS)
        self._lines: dict[str, Line] = {}
        self._held: dict[str, int] = {}
        self._bytes = 0

    def reserve(self, reader: str, size: int) -> None:
        """Room for a file of this size; the only one may be of any. Raises TooBusy."""
        full = self._held and self._bytes + size > HELD_BYTES_MAX
        if full or self._held.get(reader, 0) >= WAITING_MAX:
            raise TooBusy(_BUSY, retry_after_s=5)
        self._bytes += size
        self._held[reader] = self._held.get(reader, 0) + 1

    def free(self, reader: str, size: int) -> None:
        self._bytes -= size
        self._held[reader] -= 1
        if not self._held[reader]:
            del self._held[reader]

    async def take_turn(self, reader: str, work: Callable[[], T]) -> T:
        """Run `work` in a thread, a few at a time and one for each reader. Raises TooBusy after waiting WAIT_S_MAX."""
        line = self._lines.setdefault(reader, Line())
        line.length += 1
        try:
            async with AsyncExitStack() as turns:
                try:
                    async with asyncio.timeout(WAIT_S_MAX):
                        await turns.enter_async_context(line.lock)
                        await turns.enter_async_context(self._turns)
                except TimeoutError:
                    raise TooBusy(_BUSY, retry_after_s=5) from None
                return await asyncio.to_thread(work)
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[reader]
