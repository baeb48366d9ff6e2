"""How much of a process exports may take: a few are computed at a time, and what waits to be sent has a limit in bytes.

An export is computed into a file without a name, then sent from it. So a slow reader holds neither samples in memory nor
a turn, and a disk that is full is a refusal before the first byte.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from app.errors import TooBusy

T = TypeVar("T")

TURNS = 2
WAIT_S_MAX = 20.0
HELD_BYTES_MAX = 4 * 1024**3
HELD_FILES_MAX = 64


class ExportRoom:
    """One a process."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(TURNS)
        self._bytes = 0
        self._files = 0

    async def take_turn(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, a few at a time. Raises TooBusy after waiting WAIT_S_MAX."""
        try:
            await asyncio.wait_for(self._turns.acquire(), WAIT_S_MAX)
        except TimeoutError:
            raise TooBusy("too many exports are being prepared", retry_after_s=5) from None
        try:
            return await asyncio.to_thread(work)
        finally:
            self._turns.release()

    def reserve(self, size: int) -> None:
        """Room for a file of this size; one alone may be of any. Raises TooBusy."""
        if self._files and (self._bytes + size > HELD_BYTES_MAX or self._files >= HELD_FILES_MAX):
            raise TooBusy("too many exports are being sent", retry_after_s=5)
        self._bytes += size
        self._files += 1

    def free(self, size: int) -> None:
        self._bytes -= size
        self._files -= 1
