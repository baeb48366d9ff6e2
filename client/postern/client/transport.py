"""What both wires make of httpx2: its settings, its failures, and bodies up to a limit.

Redirects are not followed, bodies are counted while they arrive (after decompression, so a small bomb stays small), and the
key is put into the request by an `Auth` that nothing prints. A failure of the transport is an outcome here, not an exception
that would carry the request, and the key in it, through everybody's tracebacks.
"""

import ssl
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import httpx2

from postern import __version__
from postern.client.address import Address, Key
from postern.client.call import Call, Reply
from postern.client.problems import UnexpectedReply
from postern.client.retrying import Lost, Retries

USER_AGENT = f"pypostern/{__version__}"
TIMEOUT_S = 60.0
REPLY_BYTES_MAX = 256 * 1024 * 1024
REFUSAL_BYTES_MAX = 1024 * 1024
_CONNECT_S = 10.0
_IDLE_S = 3.0
"""A server closes idle connections after five seconds or so; reusing one at that moment loses a request."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a client behaves: times, retries, and how much it is ready to read."""

    timeout_s: float
    retries: Retries
    reply_bytes_max: int


class _Bearer(httpx2.Auth):
    def __init__(self, key: Key) -> None:
        self._key = key

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["Authorization"] = self._key.header()
        yield request


def http_options(address: Address, manners: Manners) -> dict[str, Any]:
    """Authorities are loaded only where TLS is spoken: that takes 30 ms and more. A proxy from the environment is no way to
    this machine itself: the key would leave it in the clear."""
    return {
        "auth": _Bearer(address.key),
        "headers": {"User-Agent": USER_AGENT},
        "timeout": httpx2.Timeout(manners.timeout_s, connect=min(_CONNECT_S, manners.timeout_s)),
        "limits": httpx2.Limits(max_connections=100, keepalive_expiry=_IDLE_S),
        "follow_redirects": False,
        "trust_env": not address.local,
        "verify": True if address.secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
    }


def lost(error: httpx2.TransportError) -> Lost:
    unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError)
    return Lost(str(error).partition("\n")[0][:200] or type(error).__name__, received=not unsent)


def garbled(call: Call[Any]) -> UnexpectedReply:
    return UnexpectedReply(f"the answer to {call.name} is compressed in a way that cannot be undone")


class Body:
    """Bytes of one answer, up to a limit."""

    def __init__(self, call: Call[Any], response: httpx2.Response, bytes_max: int) -> None:
        self._parts = bytearray()
        self._response = response
        self._call = call
        self._bytes_max = bytes_max if response.status_code < 400 else min(bytes_max, REFUSAL_BYTES_MAX)

    def add(self, chunk: bytes) -> None:
        self._parts += chunk
        if len(self._parts) > self._bytes_max:
            raise UnexpectedReply(f"the answer to {self._call.name} has more than {self._bytes_max} bytes")

    def reply(self) -> Reply:
        return Reply(self._response.status_code, dict(self._response.headers), bytes(self._parts))
