"""asyncio: many who want the same thing wait for one who fetches it (single flight); waiting for the first of several events."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class SingleFlight:
    """One task a key. It belongs to nobody: a caller that goes away takes nothing from the others."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(_run(work))
            flight.add_done_callback(lambda done: self._landed(key, done))
        result: T = await asyncio.shield(flight)
        return result

    def _landed(self, key: Hashable, flight: asyncio.Task[Any]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # looked at, even if everyone who waited is gone


async def _run(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


async def wait_for_any(seconds: float, *events: asyncio.Event) -> None:
    waiting = {asyncio.create_task(event.wait()) for event in events}
    _, late = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
