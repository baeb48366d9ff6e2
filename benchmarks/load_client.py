"""A load generator lighter than what it measures: prepared bytes on kept connections, and no HTTP library.

Closed loop: every connection asks again as soon as it is answered, so the server is always busy. Open loop: requests leave
at times drawn beforehand, answered or not, and latency counts from the time a request was due, so that a slow answer delays
nobody else's clock. Any answer but 200 ends the run.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import uvloop

NextRequest = Callable[[], bytes]

_HEADERS_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length: "
_DEADLINE_S = 60.0


class UnexpectedAnswer(Exception):
    """The run is void: a status other than 200, or no answer in time."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a closed loop saw; `connections` says how many of the answers came over each connection."""

    answers: int
    seconds: float
    client_cpu_s: float
    connections: tuple[int, ...]


def prepare(path: str, token: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nAccept: */*\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def in_turn(requests: Iterable[bytes]) -> NextRequest:
    """The same requests over and over."""
    kept = list(requests)

    def rotate() -> Iterator[bytes]:
        while True:
            yield from kept

    return rotate().__next__


class _Connection(asyncio.Protocol):
    """One request at a time. `answered` is called when the whole answer is in."""

    def __init__(self, answered: Callable[["_Connection"], None], failed: Callable[[Exception], None]) -> None:
        self._answered = answered
        self._failed = failed
        self._pending = b""
        self.answers = 0
        self.due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def send(self, request: bytes) -> None:
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        data = self._pending + data if self._pending else data
        end = data.find(_HEADERS_END)
        if end < 0:
            self._pending = data
            return
        if not data.startswith(b"HTTP/1.1 200"):
            self._failed(UnexpectedAnswer(data[:600].decode(errors="replace")))
            return
        start = data.find(_LENGTH) + len(_LENGTH)
        if len(data) < end + 4 + int(data[start : data.find(b"\r\n", start)]):
            self._pending = data
            return
        self._pending = b""
        self.answers += 1
        self._answered(self)

    def connection_lost(self, error: Exception | None) -> None:
        """After the end of the run nobody minds."""
        self._failed(UnexpectedAnswer(f"the connection was closed: {error}"))


def closed_loop(
    port: int, next_request: NextRequest, *, seconds: float, connections: int, answers: int | None = None
) -> Load:
    """For so many seconds, or until there were so many answers. Whatever was asked is answered and counted."""
    return uvloop.run(_closed_loop(port, next_request, seconds, connections, answers))


async def _closed_loop(
    port: int, next_request: NextRequest, seconds: float, connections: int, answers: int | None
) -> Load:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    open_requests, wanted, ends_at = connections, answers, 0.0

    def answered(connection: _Connection) -> None:
        nonlocal open_requests, wanted
        if wanted is not None:
            wanted -= 1
        if (wanted is None and time.perf_counter() < ends_at) or (wanted is not None and wanted > 0):
            connection.send(next_request())
            return
        open_requests -= 1
        if open_requests == 0 and not over.done():
            over.set_result(None)

    opened = await _connect(loop, port, connections, answered, over)
    started, cpu = time.perf_counter(), time.process_time()
    ends_at = started + seconds
    for connection in opened:
        connection.send(next_request())
    await asyncio.wait_for(over, seconds + _DEADLINE_S)
    took, used = time.perf_counter() - started, time.process_time() - cpu
    per_connection = tuple(connection.answers for connection in opened)
    await _close(opened)
    return Load(sum(per_connection), took, used, per_connection)


def open_loop(port: int, next_request: NextRequest, *, per_s: float, seconds: float, connections: int) -> list[float]:
    """Latencies in seconds, Poisson arrivals with a fixed seed."""
    return uvloop.run(_open_loop(port, next_request, per_s, seconds, connections))


async def _open_loop(port: int, next_request: NextRequest, per_s: float, seconds: float, count: int) -> list[float]:
    """The loop spins instead of sleeping until the next arrival: timers are a millisecond coarse, and the core is ours."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    arrivals = deque(_arrivals(per_s, seconds))
    expected = len(arrivals)
    latencies: list[float] = []
    idle: deque[_Connection] = deque()

    def answered(connection: _Connection) -> None:
        latencies.append(time.perf_counter() - connection.due)
        idle.append(connection)

    idle.extend(await _connect(loop, port, count, answered, over))
    opened = list(idle)
    started = time.perf_counter()
    while len(latencies) < expected and not over.done():
        now = time.perf_counter()
        while arrivals and idle and started + arrivals[0] <= now:
            connection = idle.popleft()
            connection.due = started + arrivals.popleft()
            connection.send(next_request())
        if now - started > seconds + _DEADLINE_S:
            raise UnexpectedAnswer("requests are still open long after the last was sent")
        await asyncio.sleep(0)
    if over.done():
        over.result()
    over.done() or over.set_result(None)
    await _close(opened)
    return latencies


def _arrivals(per_s: float, seconds: float) -> Iterator[float]:
    draw, at = random.Random(7), 0.0
    while (at := at + draw.expovariate(per_s)) < seconds:
        yield at


async def _connect(
    loop: asyncio.AbstractEventLoop,
    port: int,
    count: int,
    answered: Callable[[_Connection], None],
    over: "asyncio.Future[None]",
) -> list[_Connection]:
    def failed(error: Exception) -> None:
        if not over.done():
            over.set_exception(error)

    made = [
        await loop.create_connection(lambda: _Connection(answered, failed), "127.0.0.1", port) for _ in range(count)
    ]
    return [connection for _, connection in made]


async def _close(opened: Iterable[_Connection]) -> None:
    for connection in opened:
        connection.transport.close()
    await asyncio.sleep(0)
