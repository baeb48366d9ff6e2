"""The asyncio client behind a blocking face, so that one test holds both clients to the same behaviour."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from postern.client import AsyncAnswerStream, AsyncRelease


class Blocking:
    """Every method of `thing`, awaited on a loop of its own."""

    def __init__(self, thing: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._thing = thing
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not inspect.ismethod(found):
            return found
        return lambda *given, **named: self._settled(found(*given, **named))

    def __enter__(self) -> "Blocking":
        return self

    def __exit__(self, *_: Any) -> None:
        self._loop.run_until_complete(self._thing.aclose())

    def __iter__(self) -> Iterator[Any]:
        return self._walk(self._thing.__aiter__())

    def __repr__(self) -> str:
        return repr(self._thing)

    def __str__(self) -> str:
        return str(self._thing)

    def _settled(self, result: Any) -> Any:
        if inspect.isawaitable(result):
            result = self._loop.run_until_complete(_awaited(result))
        if isinstance(result, AsyncRelease | AsyncAnswerStream):
            return Blocking(result, self._loop)
        if hasattr(result, "__anext__"):
            return self._walk(result)
        return result

    def _walk(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                item = self._loop.run_until_complete(_awaited(items.__anext__()))
            except StopAsyncIteration:
                return
            yield self._settled(item)


async def _awaited(found: Any) -> Any:
    return await found
