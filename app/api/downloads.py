"""A built file on its way to a caller: in pieces, compressed if they like, never from memory.

A caller who stops reading, reads too slowly or loses the right to read is sent no more. What they have is then visibly
incomplete: the connection ends before the length or the last chunk that was announced.
"""

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.conditional import tag_headers, takes_gzip, unchanged
from app.api.paced_send import STALL_S_MAX, PacedSend, TooSlow
from app.errors import PosternError
from app.services.reading import build_export, right_to, worth_compressing
from app.services.reading.built_files import BuiltFile, PlannedFile
from app.services.runtime.runtime import Runtime

PIECE_BYTES = 256 * 1024
GZIP_LEVEL = 1
"""A file is read once, while it is sent: the fastest level, within a few hundredths of the smallest size for digits."""
RATE_MIN = 64 * 1024
"""Bytes a second, on average: whoever is slower holds a place, and disk, that others wait for."""
CHECK_S = 0.25
_GZIP_WBITS = 31

_log = structlog.get_logger("postern.api")

Check = Callable[[], Awaitable[object]]


class Download(Response):
    """`check` raises once the caller may no longer read; asked before the first piece and then as time passes."""

    def __init__(
        self,
        built: BuiltFile,
        *,
        headers: Mapping[str, str],
        media_type: str,
        gzipped: bool,
        check: Check,
        check_s: float = CHECK_S,
        stall_s: float = STALL_S_MAX,
        rate_min: float = RATE_MIN,
    ) -> None:
        super().__init__(None, 200, headers, media_type)
        del self.headers["content-length"]
        if not gzipped:
            self.headers["content-length"] = str(built.size)
        self._built = built
        self._gzipped = gzipped
        self._check = check
        self._check_s = check_s
        self._stall_s, self._rate_min = stall_s, rate_min
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        send = PacedSend(send, stall_s=self._stall_s, rate_min=self._rate_min)
        try:
            await self._check()
            self._begun = True
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._pieces(Request(scope, receive), send)
        except (PosternError, TooSlow) as reason:
            if not self._begun:
                raise
            _log.info("download given up", reason=type(reason).__qualname__)
        finally:
            await asyncio.to_thread(self._built.close)

    async def _pieces(self, request: Request, send: Send) -> None:
        pieces = compressed(self._built) if self._gzipped else plain(self._built)
        checked = time.monotonic()
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            if time.monotonic() - checked >= self._check_s:
                await self._check()
                if await request.is_disconnected():
                    return
                checked = time.monotonic()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def file_response(
    request: Request, runtime: Runtime, planned: PlannedFile, more: Mapping[str, str] | None = None
) -> Response:
    """304 if the caller holds it; otherwise it is built now, and sent while the right to it lasts. `more` are headers."""
    gzipped = worth_compressing(planned) and takes_gzip(request.headers)
    headers = tag_headers(planned.etag, gzipped)
    known = unchanged(request, headers)
    if known is not None:
        return known
    named = {"Content-Disposition": f'attachment; filename="{planned.filename}"'}
    return Download(
        await build_export(runtime, planned),
        headers=headers | named | dict(more or {}),
        media_type=planned.format.media_type,
        gzipped=gzipped,
        check=right_to(runtime, planned),
    )


def plain(built: BuiltFile) -> Iterator[bytes]:
    built.file.seek(0)
    while piece := built.file.read(PIECE_BYTES):
        yield piece


def compressed(built: BuiltFile) -> Iterator[bytes]:
    """The same bytes on every worker: no time and no name in the header."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WBITS)
    for piece in plain(built):
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()
