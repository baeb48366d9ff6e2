"""A subscriber's queue: bounded, and honest about what it dropped."""

import asyncio
from collections.abc import AsyncIterator

from app.storage.cache.protocol import Message

LOST = Message("", b"", lost=True)
_CAPACITY = 1024


class Mailbox:
    """Keeps the newest state of affairs: when full, everything waiting is replaced by one `LOST`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message] = asyncio.Queue()

    def deliver(self, message: Message) -> None:
        if self._queue.qsize() >= _CAPACITY:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put_nowait(LOST)
        self._queue.put_nowait(message)

    async def messages(self) -> AsyncIterator[Message]:
        while True:
            yield await self._queue.get()
