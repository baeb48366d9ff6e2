"""How long an answer waits for whoever reads it.

Only time in which the reader takes nothing counts, never what the service needs to find the next piece.
"""

import asyncio
import time

from starlette.types import Message, Send

STALL_S_MAX = 60.0


class TooSlow(Exception):
    """The reader took too little for too long."""


class PacedSend:
    """An ASGI `send` that raises TooSlow when the reader is.

    One message waits for at most `stall_s`; with `rate_min`, in bytes a second, all messages together wait for at most
    `stall_s` + bytes taken / `rate_min`, so that an answer of a known size has an end however it is read.
    """

    def __init__(self, send: Send, *, stall_s: float = STALL_S_MAX, rate_min: float | None = None) -> None:
        self._send = send
        self._stall_s = stall_s
        self._rate_min = rate_min
        self._taken = 0
        self._waited_s = 0.0

    async def __call__(self, message: Message) -> None:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._patience_s()):
                await self._send(message)
        except TimeoutError:
            raise TooSlow from None
        self._waited_s += time.monotonic() - begun
        self._taken += len(message.get("body", b""))

    def _patience_s(self) -> float:
        if self._rate_min is None:
            return self._stall_s
        left_s = self._stall_s + self._taken / self._rate_min - self._waited_s
        return max(0.0, min(self._stall_s, left_s))
