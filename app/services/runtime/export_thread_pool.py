"""How much of a process exports may take: a few are built at a time, one of them for each reader, and what waits to be sent
has a limit in bytes, of which no reader gets more than a share.

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
SHARE_BYTES = HELD_BYTES_MAX // 4
"""Of one reader. A larger file is held beside all shares, and one at a time."""
SMALL_BYTES = 1024**2
"""Files up to this size always find room, up to WAITING_MAX of a reader: what others hold is no reason to refuse them."""
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
        self._held: dict[str, list[int]] = {}

    def reserve(self, reader: str, size: int) -> None:
        """Room for a file of this size. Raises TooBusy."""
        own = self._held.get(reader, [])
        if len(own) >= WAITING_MAX or not (size <= SMALL_BYTES or self._fits(own, size)):
            raise TooBusy(_BUSY, retry_after_s=5)
        self._held.setdefault(reader, []).append(size)

    def free(self, reader: str, size: int) -> None:
        self._held[reader].remove(size)
        if not self._held[reader]:
            del self._held[reader]

    def _fits(self, own: list[int], size: int) -> bool:
        held = [each for sizes in self._held.values() for each in sizes]
        if size > SHARE_BYTES:
            return max(held, default=0) <= SHARE_BYTES
        return _in_shares(own) + size <= SHARE_BYTES and _in_shares(held) + size <= HELD_BYTES_MAX

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


def _in_shares(sizes: list[int]) -> int:
    return sum(size for size in sizes if SMALL_BYTES < size <= SHARE_BYTES)
