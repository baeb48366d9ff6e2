"""A stream of lines holds nothing for a reader who left or stopped reading."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from app.api.line_stream import LineStream


class Source:
    """Endless lines that say when they were let go."""

    closed = False

    async def lines(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"{}\n"
                await asyncio.sleep(0)
        finally:
            self.closed = True


@pytest.mark.parametrize("version", ["2.3", "2.4"])
@pytest.mark.parametrize("end", ["stalls", "leaves", "breaks"])
async def test_a_reader_who_is_gone_holds_no_line_a_moment_longer(version: str, end: str) -> None:
    source, gone, sent = Source(), asyncio.Event(), list[bytes]()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            return
        sent.append(message["body"])
        if end == "breaks":
            raise OSError
        if end == "leaves":
            gone.set()
        await asyncio.sleep(60)

    lines = source.lines()
    call = LineStream(lines, stall_s=0.05)({"type": "http", "asgi": {"spec_version": version}}, receive, send)
    await asyncio.gather(asyncio.wait_for(call, 10), return_exceptions=True)
    assert sent == [b"{}\n"]
    assert source.closed, "while something still refers to the generator"


async def test_a_reader_who_keeps_reading_gets_every_line() -> None:
    sent = list[bytes]()

    async def lines() -> AsyncGenerator[bytes, None]:
        for number in range(5):
            await asyncio.sleep(0.03)
            yield b"%d\n" % number

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Any:
        await asyncio.sleep(60)

    await LineStream(lines(), stall_s=0.1)({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
    assert b"".join(sent) == b"0\n1\n2\n3\n4\n"
