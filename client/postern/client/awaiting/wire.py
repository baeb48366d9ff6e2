"""Where the asyncio client touches sockets: a call sent, again where that is safe, on httpx2."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

import httpx2

from postern.client.address import Address
from postern.client.call import Call, Chunks, Reply
from postern.client.problems import UnexpectedReply
from postern.client.retrying import Lost, pause_before_next
from postern.client.transport import Body, Manners, garbled, http_options, lost

T = TypeVar("T")


class AsyncOpened:
    """A success whose body has not been read; closed by whoever reads it."""

    def __init__(self, response: httpx2.Response, call: Call[Any]) -> None:
        self._response = response
        self._call = call

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx2.TransportError as error:
            reason = lost(error).reason
        except httpx2.DecodingError:
            raise garbled(self._call) from None
        else:
            return
        raise UnexpectedReply(f"the answer to {self._call.name} broke off ({reason})")

    async def aclose(self) -> None:
        await self._response.aclose()


class AsyncWire:
    def __init__(self, address: Address, manners: Manners) -> None:
        self.address = address
        self._manners = manners
        self._http = httpx2.AsyncClient(**http_options(address, manners))

    async def send(self, call: Call[T]) -> T:
        found = await self._persist(call, open_body=False)
        if isinstance(found, AsyncOpened):
            raise RuntimeError("a body that nobody asked to leave unread")
        return call.result(found)

    async def open(self, call: Call[Any]) -> AsyncOpened:
        found = await self._persist(call, open_body=True)
        if isinstance(found, AsyncOpened):
            return found
        call.result(found)
        raise UnexpectedReply(f"{call.name} was answered {found.status}")

    async def _persist(self, call: Call[Any], *, open_body: bool) -> Reply | AsyncOpened:
        began, attempt = time.monotonic(), 1
        while True:
            outcome = await self._attempt(call, open_body=open_body)
            if isinstance(outcome, AsyncOpened):
                return outcome
            elapsed_s = time.monotonic() - began
            pause_s = pause_before_next(call, outcome, self._manners.retries, attempt, elapsed_s, random.uniform)
            if pause_s is not None:
                await asyncio.sleep(pause_s)
                attempt += 1
            elif isinstance(outcome, Reply):
                return outcome
            else:
                raise outcome.unreachable(self.address.url, attempt)

    async def _attempt(self, call: Call[Any], *, open_body: bool) -> Reply | Lost | AsyncOpened:
        content = call.body.open_async() if isinstance(call.body, Chunks) else call.body
        url = self.address.url + call.target
        request = self._http.build_request(call.method, url, content=content, headers=call.headers())
        try:
            response = await self._http.send(request, stream=True)
            if open_body and response.status_code == 200:
                return AsyncOpened(response, call)
            try:
                body = Body(call, response, self._manners.reply_bytes_max)
                async for chunk in response.aiter_bytes():
                    body.add(chunk)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            return lost(error)
        except httpx2.DecodingError:
            raise garbled(call) from None
        return body.reply()

    async def aclose(self) -> None:
        await self._http.aclose()
