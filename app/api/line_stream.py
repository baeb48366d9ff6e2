"""Lines on their way to a caller as they are found."""

from collections.abc import AsyncGenerator, Mapping

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.paced_send import STALL_S_MAX, PacedSend, TooSlow

NDJSON = "application/x-ndjson"

_log = structlog.get_logger("postern.api")


class LineStream(StreamingResponse):
    """Ends with its reader: one who takes nothing for `stall_s` is sent no more, so the last line is missing.

    However it ends, the generator is closed at once, and with it what it holds, not when the collector next passes.
    """

    def __init__(
        self,
        lines: AsyncGenerator[bytes, None],
        *,
        stall_s: float = STALL_S_MAX,
        media_type: str = NDJSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(lines, media_type=media_type, headers=headers)
        self._lines = lines
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._lines.aclose()

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(PacedSend(send, stall_s=self._stall_s))
        except TooSlow:
            _log.info("stream given up", reason=TooSlow.__qualname__)
