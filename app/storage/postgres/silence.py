"""A server that says nothing: frozen, behind a cut cable, or on a machine that hangs.

The network cannot tell, because a frozen process's kernel goes on acknowledging what it is sent; and a statement that takes
long may only be waiting for its turn at a lock. So whenever a statement has waited for a while, the server is asked for a
new connection and `SELECT 1`. Any answer, also a refusal, means that it is there, and the statement may wait on. No answer
means that it is silent: everything that waits is hung up on, and nothing new is sent until it answers again.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")

SLOW_SHARE = 1 / 3
"""Of the patience, before the server is asked; the rest is for its answer."""
LOOKS = 8
"""At whether it has answered, before that is taken for silence."""
ASKED_EVERY_S = 0.5
STATEMENT_S_MAX = 60.0
"""Of one statement while the server answers others. Locks give up long before."""


class Silence:
    """Of one pool. Used from one event loop."""

    def __init__(self, patience_s: float, ask: Callable[[], Any] | None = None) -> None:
        self.is_silent = False
        self._patience_s = patience_s
        self._ask = ask or self._connect_and_leave
        self._waiting: dict[WatchedConnection, float] = {}
        self._asking: asyncio.Task[None] | None = None
        self._known: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    async def connect(self, *args: Any, **kwargs: Any) -> "WatchedConnection":
        """In place of the driver's own; as with any other failure to connect, the driver's error is raised."""
        self._known = args, dict(kwargs)
        if self.is_silent:
            raise psycopg.OperationalError("the server was silent when last asked")
        try:
            async with asyncio.timeout(self._patience_s):
                connection = await WatchedConnection.connect(*args, **kwargs)
        except TimeoutError:
            self._begin_asking()
            raise psycopg.OperationalError("the server did not answer") from None
        connection.silence = self
        return connection

    @contextlib.contextmanager
    def watching(self, connection: "WatchedConnection") -> Iterator[None]:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._patience_s * SLOW_SHARE, self._is_slow, connection, time.monotonic())
        try:
            yield
        finally:
            timer.cancel()
            self._waiting.pop(connection, None)

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _is_slow(self, connection: "WatchedConnection", since: float) -> None:
        self._waiting[connection] = since
        if self.is_silent:
            connection.hang_up()
        self._begin_asking()

    def _begin_asking(self) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._keep_asking(), name="postern-silence")

    async def _keep_asking(self) -> None:
        """Until nothing waits and the server answers."""
        while True:
            self.is_silent = not await self._answers()
            now = time.monotonic()
            for connection, since in list(self._waiting.items()):
                if self.is_silent or now - since > STATEMENT_S_MAX:
                    connection.hang_up()
            if not self.is_silent and not self._waiting:
                return
            await asyncio.sleep(ASKED_EVERY_S)

    async def _answers(self) -> bool:
        """A process that was itself held up cannot judge by its clock: however long that was, it counts as one look of many."""
        asking = asyncio.ensure_future(self._ask())
        try:
            for _ in range(LOOKS):
                done, _ = await asyncio.wait({asking}, timeout=self._patience_s * (1 - SLOW_SHARE) / LOOKS)
                if done:
                    with contextlib.suppress(psycopg.Error, OSError):
                        asking.result()
                    return True
            return False
        finally:
            asking.add_done_callback(_forgotten)
            asking.cancel()

    async def _connect_and_leave(self) -> None:
        args, kwargs = self._known
        connection = await psycopg.AsyncConnection.connect(*args, **kwargs)
        try:
            await connection.execute("SELECT 1")
        finally:
            await connection.close()


def _forgotten(task: "asyncio.Future[Any]") -> None:
    """What became of it is nobody's business any more, the loop's log included."""
    if not task.cancelled():
        task.exception()


class WatchedConnection(psycopg.AsyncConnection[Any]):
    silence: Silence | None = None

    async def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:
        """Everything that goes over the wire comes through here: statements, commits, pings."""
        if self.silence is None:
            return await super().wait(gen, *args, **kwargs)
        with self.silence.watching(self):
            return await super().wait(gen, *args, **kwargs)

    def hang_up(self) -> None:
        """Whoever waits gets the driver's own error for a lost connection."""
        with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self.pgconn.socket)) as wire:
            wire.shutdown(socket.SHUT_RDWR)
