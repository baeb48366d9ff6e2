"""A request whose answer is looked at while it is being sent, and a watch on how long the event loop was away."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message


class StreamedCall:
    """One ASGI call in a task. `pieces` arrive as they are sent; `read` limits how many may be sent unread."""

    def __init__(
        self,
        app: ASGIApp,
        path: str,
        token: str,
        body: bytes,
        *,
        accept: str,
        read: int = 1_000_000,
        method: str = "POST",
    ) -> None:
        name, _, query = path.partition("?")
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": name,
            "raw_path": name.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"authorization", f"Bearer {token}".encode()), (b"accept", accept.encode())],
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 80),
        }
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._arrived = asyncio.Event()
        self._room = asyncio.Semaphore(read)
        self.status = 0
        self.pieces: list[bytes] = []
        self.sent_at = 0.0
        self._task = asyncio.ensure_future(app(self._scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        if message.get("body"):
            await self._room.acquire()
            self.pieces.append(message["body"])
            self.sent_at = time.monotonic()
            self._arrived.set()

    def hang_up(self) -> None:
        self._gone.set()

    def read_more(self, pieces: int) -> None:
        for _ in range(pieces):
            self._room.release()

    async def until(self, pieces: int) -> None:
        while len(self.pieces) < pieces:
            self._arrived.clear()
            await asyncio.wait_for(self._arrived.wait(), 60)

    async def ended(self) -> None:
        await self._task

    async def finish(self) -> list[dict[str, Any]]:
        """All lines, once the call has ended."""
        await self.ended()
        return self.lines

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in b"".join(self.pieces).splitlines()]


class Lag:
    """The longest time the loop kept a task waiting that only wanted to sleep, as far as this process was at work then:
    other processes on a busy machine are no fault of the loop's."""

    worst_s = 0.0


@asynccontextmanager
async def watched_loop(every_s: float = 0.005) -> AsyncIterator[Lag]:
    lag = Lag()

    async def watch() -> None:
        while True:
            due, used = time.monotonic() + every_s, time.process_time()
            await asyncio.sleep(every_s)
            lag.worst_s = max(lag.worst_s, min(time.monotonic() - due, time.process_time() - used))

    watching = asyncio.create_task(watch())
    try:
        yield lag
    finally:
        watching.cancel()
