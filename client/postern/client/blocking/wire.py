# Written by client/write_blocking.py: change awaiting/wire.py and run `make format`.
"""Where the blocking client touches sockets: a call sent, again where that is safe, on httpx2."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from typing import Any, TypeVar

import httpx2

from postern.client.address import Address
from postern.client.call import Call, Chunks, Reply
from postern.client.problems import UnexpectedReply
from postern.client.retrying import Lost, pause_before_next
from postern.client.transport import Body, Manners, garbled, http_options, lost

T = TypeVar("T")


class Opened:
    """A success whose body has not been read; closed by whoever reads it."""

    def __init__(self, response: httpx2.Response, call: Call[Any]) -> None:
        self._response = response
        self._call = call

    def chunks(self) -> Generator[bytes, None]:
        try:
            yield from self._response.iter_bytes()
        except httpx2.TransportError as error:
            reason = lost(error).reason
        except httpx2.DecodingError:
            raise garbled(self._call) from None
        else:
            return
        raise UnexpectedReply(f"the answer to {self._call.name} broke off ({reason})")

    def close(self) -> None:
        self._response.close()


class Wire:
    def __init__(self, address: Address, manners: Manners) -> None:
        self.address = address
        self._manners = manners
        self._http = httpx2.Client(**http_options(address, manners))

    def send(self, call: Call[T]) -> T:
        found = self._persist(call, open_body=False)
        if isinstance(found, Opened):
            raise RuntimeError("a body that nobody asked to leave unread")
        return call.result(found)

    def open(self, call: Call[Any]) -> Opened:
        found = self._persist(call, open_body=True)
        if isinstance(found, Opened):
            return found
        call.result(found)
        raise UnexpectedReply(f"{call.name} was answered {found.status}")

    def _persist(self, call: Call[Any], *, open_body: bool) -> Reply | Opened:
        began, attempt = time.monotonic(), 1
        while True:
            outcome = self._attempt(call, open_body=open_body)
            if isinstance(outcome, Opened):
                return outcome
            elapsed_s = time.monotonic() - began
            pause_s = pause_before_next(call, outcome, self._manners.retries, attempt, elapsed_s, random.uniform)
            if pause_s is not None:
                time.sleep(pause_s)
                attempt += 1
            elif isinstance(outcome, Reply):
                return outcome
            else:
                raise outcome.unreachable(self.address.url, attempt)

    def _attempt(self, call: Call[Any], *, open_body: bool) -> Reply | Lost | Opened:
        content = call.body.open() if isinstance(call.body, Chunks) else call.body
        url = self.address.url + call.target
        request = self._http.build_request(call.method, url, content=content, headers=call.headers())
        try:
            response = self._http.send(request, stream=True)
            if open_body and response.status_code == 200:
                return Opened(response, call)
            try:
                body = Body(call, response, self._manners.reply_bytes_max)
                for chunk in response.iter_bytes():
                    body.add(chunk)
            finally:
                response.close()
        except httpx2.TransportError as error:
            return lost(error)
        except httpx2.DecodingError:
            raise garbled(call) from None
        return body.reply()

    def close(self) -> None:
        self._http.close()
