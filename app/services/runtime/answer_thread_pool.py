"""How much of a process questions may take: a few threads for large ones, and one of them at a time for each reader.

A question is compiled and answered on the event loop while that takes about a millisecond. Anything larger goes to a thread
through here. Each reader stands in one line of their own, so however many large questions one reader asks, another waits
for at most one of theirs a thread; and a line has an end, beyond which questions are refused.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from app.errors import TooBusy, Unavailable

T = TypeVar("T")

THREADS = 2
LINE_MAX = 16
"""Large questions and batches of one reader under way at once, in one process."""


class Line:
    """One reader's large questions and batches, one turn after another. `async with line`: the next question of a batch."""

    def __init__(self, room: "AnswerRoom") -> None:
        self._room = room
        self._turn = asyncio.Lock()
        self._next_question = asyncio.Lock()
        self.length = 0

    async def __aenter__(self) -> None:
        """One question of all the reader's batches, and then the event loop is everybody's for a turn.

        Without it sixteen batches would take sixteen questions to the loop in every turn, and each may take milliseconds.
        """
        await self._next_question.acquire()

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            self._next_question.release()

    async def in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        async with self._turn:
            return await self._room.run(work, *arguments)


class AnswerRoom:
    """One a process. Threads start when they are first needed."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="postern-answer")
        self._free = asyncio.Semaphore(THREADS)
        self._lines: dict[str, Line] = {}
        self._closed = False

    def __len__(self) -> int:
        return sum(line.length for line in self._lines.values())

    @contextmanager
    def line(self, reader: str) -> Iterator[Line]:
        """Stand in the reader's line. Raises TooBusy at its end."""
        line = self._lines.setdefault(reader, Line(self))
        if line.length >= LINE_MAX:
            raise TooBusy(f"more than {LINE_MAX} large questions or batches of one reader at once")
        line.length += 1
        try:
            yield line
        finally:
            line.length -= 1
            if line.length == 0:
                del self._lines[reader]

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """In a thread, when one is free. Work whose caller has gone ends by itself and holds nothing but its thread."""
        async with self._free:
            if self._closed:
                raise Unavailable("the service is stopping")
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
