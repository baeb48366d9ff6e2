"""A small HTTP server on loopback that misbehaves as told: drops connections, refuses, redirects, talks too much, or stands
between the client and a real service and loses its answers."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this; `cut` closes the connection in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class Drop:
    """Close the connection without a word."""


@dataclass(frozen=True, slots=True)
class PassOn:
    """Let a real service do it; `lose` its answer."""

    url: str
    lose: bool = False


Behaviour = Callable[[int, Seen], "Say | Drop | PassOn"]
"""What to do with the n-th request, counted from 0."""


@dataclass
class Misbehaving:
    url: str
    seen: list[Seen]


@contextmanager
def misbehaving(behave: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Misbehaving]:
    seen: list[Seen] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Seen(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            with lock:
                seen.append(request)
                number = len(seen) - 1
            self._do(behave(number, request), request)

        do_GET = do_POST = do_PUT = do_DELETE = do_any  # noqa: N815

        def _do(self, action: "Say | Drop | PassOn", request: Seen) -> None:
            if isinstance(action, PassOn):
                answer = passed_on(action.url, request)
                if not action.lose:
                    return self._say(answer)
                action = Drop()
            if isinstance(action, Drop):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return None
            return self._say(action)

        def _say(self, answer: Say) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
            if answer.cut:
                self.close_connection = True

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # a handshake that the client broke off, with good reason
                super().handle()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Misbehaving(f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}", seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def passed_on(url: str, request: Seen) -> Say:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
    try:
        kept = {name: value for name, value in request.headers.items() if name not in ("host", "connection")}
        connection.request(request.method, request.path, body=request.body or None, headers=kept)
        answer = connection.getresponse()
        body = answer.read()
        drop = ("content-length", "transfer-encoding", "connection")
        return Say(answer.status, body, {k: v for k, v in answer.getheaders() if k.lower() not in drop})
    finally:
        connection.close()
