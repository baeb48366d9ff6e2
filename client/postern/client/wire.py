"""The only file that touches sockets: one attempt at a call, sync and async, on httpx2.

Redirects are not followed, bodies are counted while they arrive (after decompression, so a small bomb stays small), and the
key is put into the request by an `Auth` that nothing prints. A failure of the transport is an outcome here, not an exception
that would carry the request, and the key in it, through everybody's tracebacks.
"""

import asyncio
import random
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2

from postern import __version__
from postern.client.address import Address, Key
from postern.client.call import Call, Chunks, Reply
from postern.client.problems import UnexpectedReply
from postern.client.retrying import Attempt, Lost, Pause, Retries, persist

T = TypeVar("T")

USER_AGENT = f"postern-client/{__version__}"
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


def _options(address: Address, manners: Manners) -> dict[str, Any]:
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


def _lost(error: httpx2.TransportError) -> Lost:
    unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError)
    return Lost(str(error).partition("\n")[0][:200] or type(error).__name__, received=not unsent)


class _Body:
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


def _garbled(call: Call[Any]) -> UnexpectedReply:
    return UnexpectedReply(f"the answer to {call.name} is compressed in a way that cannot be undone")


def _whole(found: "Reply | Opened") -> Reply:
    if isinstance(found, Reply):
        return found
    raise RuntimeError("a body that nobody asked to leave unread")


class Opened:
    """A success whose body has not been read; closed by whoever reads it."""

    def __init__(self, response: httpx2.Response, call: Call[Any]) -> None:
        self._response = response
        self._call = call

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_bytes()
        except httpx2.TransportError as error:
            lost = _lost(error)
        except httpx2.DecodingError:
            raise _garbled(self._call) from None
        else:
            return
        raise UnexpectedReply(f"the answer to {self._call.name} broke off ({lost.reason})")

    async def chunks_async(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx2.TransportError as error:
            lost = _lost(error)
        except httpx2.DecodingError:
            raise _garbled(self._call) from None
        else:
            return
        raise UnexpectedReply(f"the answer to {self._call.name} broke off ({lost.reason})")

    def close(self) -> None:
        self._response.close()

    async def aclose(self) -> None:
        await self._response.aclose()


class _Sender:
    def __init__(self, address: Address, manners: Manners) -> None:
        self.address = address
        self.manners = manners

    def _steps(self, call: Call[Any]) -> Generator[Attempt | Pause, Reply | Lost | Opened | None, Reply | Opened]:
        return persist(call, self.manners.retries, where=self.address.url, now=time.monotonic, uniform=random.uniform)

    def _url(self, call: Call[Any]) -> str:
        return self.address.url + call.target


class Wire(_Sender):
    def __init__(self, address: Address, manners: Manners) -> None:
        super().__init__(address, manners)
        self._http = httpx2.Client(**_options(address, manners))

    def send(self, call: Call[T]) -> T:
        return call.result(_whole(self._persist(call, open_body=False)))

    def open(self, call: Call[Any]) -> Opened:
        found = self._persist(call, open_body=True)
        if isinstance(found, Opened):
            return found
        call.result(found)
        raise UnexpectedReply(f"{call.name} was answered {found.status}")

    def _persist(self, call: Call[Any], *, open_body: bool) -> Reply | Opened:
        steps = self._steps(call)
        told: Reply | Lost | Opened | None = None
        while True:
            try:
                step = steps.send(told)
            except StopIteration as end:
                kept: Reply | Opened = end.value
                return kept
            told = None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                told = self._attempt(call, open_body=open_body)

    def _attempt(self, call: Call[Any], *, open_body: bool) -> Reply | Lost | Opened:
        content = call.body.open() if isinstance(call.body, Chunks) else call.body
        request = self._http.build_request(call.method, self._url(call), content=content, headers=call.headers())
        try:
            response = self._http.send(request, stream=True)
            if open_body and response.status_code == 200:
                return Opened(response, call)
            try:
                body = _Body(call, response, self.manners.reply_bytes_max)
                for chunk in response.iter_bytes():
                    body.add(chunk)
            finally:
                response.close()
        except httpx2.TransportError as error:
            return _lost(error)
        except httpx2.DecodingError:
            raise _garbled(call) from None
        return body.reply()

    def close(self) -> None:
        self._http.close()


class AsyncWire(_Sender):
    """The same steps with `await` before them."""

    def __init__(self, address: Address, manners: Manners) -> None:
        super().__init__(address, manners)
        self._http = httpx2.AsyncClient(**_options(address, manners))

    async def send(self, call: Call[T]) -> T:
        return call.result(_whole(await self._persist(call, open_body=False)))

    async def open(self, call: Call[Any]) -> Opened:
        found = await self._persist(call, open_body=True)
        if isinstance(found, Opened):
            return found
        call.result(found)
        raise UnexpectedReply(f"{call.name} was answered {found.status}")

    async def _persist(self, call: Call[Any], *, open_body: bool) -> Reply | Opened:
        steps = self._steps(call)
        told: Reply | Lost | Opened | None = None
        while True:
            try:
                step = steps.send(told)
            except StopIteration as end:
                kept: Reply | Opened = end.value
                return kept
            told = None
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                told = await self._attempt(call, open_body=open_body)

    async def _attempt(self, call: Call[Any], *, open_body: bool) -> Reply | Lost | Opened:
        content = call.body.open_async() if isinstance(call.body, Chunks) else call.body
        request = self._http.build_request(call.method, self._url(call), content=content, headers=call.headers())
        try:
            response = await self._http.send(request, stream=True)
            if open_body and response.status_code == 200:
                return Opened(response, call)
            try:
                body = _Body(call, response, self.manners.reply_bytes_max)
                async for chunk in response.aiter_bytes():
                    body.add(chunk)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            return _lost(error)
        except httpx2.DecodingError:
            raise _garbled(call) from None
        return body.reply()

    async def aclose(self) -> None:
        await self._http.aclose()
