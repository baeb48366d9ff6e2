"""The edge in front of a small application, on a real port, in a thread of its own."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from uvicorn import Server

from app.api.edge import EdgeConfig, EdgeLimits
from app.api.edge.refusals import REFUSED

LARGE = b"x" * 8_000_000


@dataclass
class Application:
    """Answers health, tells what it was asked, and remembers how each body ended."""

    ends: list[str] = field(default_factory=list)
    held: "asyncio.Event | None" = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = LARGE if scope["path"] == "/large" else await self._read(scope, receive)
        if body is None:
            return
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _read(self, scope: Any, receive: Any) -> bytes | None:
        size, more = 0, scope["path"] != "/refused"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.ends.append("gone")
                return None
            size += len(message["body"])
            more = message["more_body"]
        if scope["path"] == "/held":
            await asyncio.sleep(30)
        names = [name.decode() for name, _ in scope["headers"]]
        return json.dumps({"client": scope["client"][0], "size": size, "headers": names}).encode()


class Edge:
    def __init__(self, **limits: Any) -> None:
        self.application = Application()
        config = EdgeConfig(self.application, EdgeLimits(**limits), loop="uvloop", host="127.0.0.1", port=0)
        self._listening = config.bind_socket()
        self.port: int = self._listening.getsockname()[1]
        self.server = Server(config)
        self._thread = threading.Thread(target=self.server.run, args=([self._listening],))
        self._thread.start()
        while not self.server.started:
            time.sleep(0.005)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10, source_address=(source, 0))

    def ask(self, request: bytes, source: str = "127.0.0.1") -> tuple[int, bytes]:
        with self.connect(source) as caller:
            caller.sendall(request)
            return answer_of(caller)

    def healthy(self, source: str = "127.0.0.1") -> bool:
        return self.ask(get("/healthz"), source)[0] == 200

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join(30)


@contextlib.contextmanager
def edge(**limits: Any) -> Iterator[Edge]:
    served = Edge(**limits)
    try:
        yield served
    finally:
        served.close()


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: here", *headers, "", ""]).encode()


def answer_of(caller: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer; status 0 if the connection ended without one."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in data:
            more = caller.recv(65536)
            if not more:
                return 0, data
            data += more
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return 0, b""
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += caller.recv(65536)
    return int(head.split()[1]), body


def is_over(caller: socket.socket, within_s: float = 5) -> bool:
    """True once the other side has hung up."""
    caller.settimeout(within_s)
    try:
        while caller.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def refused(reason: str) -> float:
    return REFUSED.labels(reason)._value.get()
