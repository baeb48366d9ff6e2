"""One connection: the web server's HTTP/1.1 protocol with everything counted before it is kept."""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.edge.limits import EdgeLimits
from app.api.edge.refusals import refusal
from app.api.edge.room import Phase, Room

HEALTH = frozenset({b"/healthz", b"/readyz", b"/metrics"})
HEADER_OVERHEAD = 4
"""A colon, a space and the end of the line."""
SLICE_BYTES = 16_384
LEFT_BYTES_MAX, LEFT_S_MAX = 1_048_576, 2.0
"""So much of a body may still come, for so long, and is thrown away, once its request has been answered."""
LINGER_BYTES_MAX = 262_144
"""So much is thrown away of a caller who was refused and still sends; without this they might never read why."""


class Refused(Exception):
    """Ends the parser where it stands."""


class EdgeProtocol(HttpToolsProtocol):
    """`_parsing` says what the parser waits for: a head, the rest of a body, or (between the two) nothing in particular.

    `_unseen` counts bytes that went in without anything coming out: an unfinished header, blank lines, what is written
    behind the size of a chunk, trailers.
    """

    def __init__(
        self,
        config: Any,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._room: Room = config.room(self.loop)
        self._limits: EdgeLimits = self._room.limits
        self._parsing: Phase = "head"
        self._begun = False
        self._unseen = 0
        self._head_bytes = 0
        self._headers_seen = 0
        self._body_bytes = 0
        self._body_since = 0.0
        self._left_bytes = 0
        self._deaf: str | None = None
        self._dropped = 0
        self._unread = 0
        self._aside = False

    # Coming and going.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._aside = not self._room.enter(self, None if self.client is None else self.client[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The process stops: a request whose body is still coming is told so now, not when patience ends."""
        if self._parsing == "body" and not self._is_answering_nothing() and not self.cycle.response_started:
            self.end("stopping")
        else:
            super().shutdown()

    # What comes in.

    def data_received(self, data: bytes) -> None:
        if self._deaf is not None:
            self._drop(len(data))
            return
        view = memoryview(data)
        try:
            for begin in range(0, len(data), SLICE_BYTES):
                self._feed(view[begin : begin + SLICE_BYTES])
        except httptools.HttpParserUpgrade:
            # No other protocol is spoken here: this request is answered, whatever follows is not read.
            self._deaf = "upgraded"
            if self.cycle is not None:
                self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self._refuse(self._deaf or "malformed")
        self._stand()

    def _feed(self, piece: memoryview) -> None:
        self._unseen += len(piece)
        self.parser.feed_data(piece)
        if self._unseen > self._limits.header_bytes_max:
            self._deaf = "headers_too_large"
            raise httptools.HttpParserError

    def _stand(self) -> None:
        if self._deaf is None:
            answering = not self._is_answering_nothing()
            if self._parsing == "head":
                waiting: Phase = "head" if self._begun or self.cycle is None else "idle"
                self._room.stand(self, "busy" if answering else waiting)
            else:
                self._room.stand(self, self._parsing)

    def _is_answering_nothing(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun = True
        self._parsing = "head"
        self._head_bytes = 0
        self._headers_seen = 0

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also of trailers, which are counted and then forgotten: the application has its headers already."""
        self._headers_seen += 1
        if self._headers_seen > self._limits.headers_max:
            self._stop("headers_too_large")
        self._count_head(len(name) + len(value) + HEADER_OVERHEAD)
        if self._parsing == "head":
            super().on_header(name, value)

    def _count_head(self, more: int) -> None:
        self._unseen = 0
        self._head_bytes += more
        if self._head_bytes > self._limits.header_bytes_max:
            self._stop("headers_too_large")

    def on_headers_complete(self) -> None:
        self._unseen = 0
        if self._aside and self.url.partition(b"?")[0] not in HEALTH:
            self._stop("full")
        super().on_headers_complete()
        if self._aside:
            self.cycle.keep_alive = False
        self._begun = False
        self._parsing = "body"
        self._body_since = self.loop.time()
        self._body_bytes = self._left_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._unseen = 0
        self._body_bytes += len(body)
        if self.cycle.response_complete:
            self._left_bytes += len(body)
            if self._left_bytes > LEFT_BYTES_MAX:
                self._stop("body_left")
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unseen = 0
        self._parsing = "head"
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """As the web server's own, without its timer: the sweep of the room is the only clock."""
        self.server_state.total_requests += 1
        if self._parsing == "body":
            self._body_since, self._body_bytes = self.loop.time(), 0
        if self.transport.is_closing() or self._deaf is not None:
            self._room.stand(self, "idle")
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        self._stand()

    # What ends.

    def _stop(self, reason: str) -> None:
        self._deaf = reason
        raise Refused

    def end(self, reason: str) -> None:
        """Time is up."""
        if reason == "header_timeout" and not self._begun:
            reason = "idle"
        elif reason == "body_timeout" and self._is_answering_nothing():
            reason = "body_left"
        self._refuse(reason)

    def _refuse(self, reason: str) -> None:
        self._deaf = reason
        self._room.refusals.note(reason)
        if self.transport.is_closing():
            self._room.stand(self, "idle")
        elif self._parsing == "head" and not self._is_answering_nothing():
            self.cycle.keep_alive = False  # something earlier is being answered: that, and no more
        elif self.cycle is not None and not self.cycle.response_complete and self.cycle.response_started:
            self.cut()
        else:
            self._say_why(reason)

    def _say_why(self, reason: str) -> None:
        if not self._is_answering_nothing():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if reason == "idle":
            self.transport.close()
            self._room.stand(self, "idle")
            return
        self.transport.write(refusal(reason) or b"")
        self.flow.resume_reading()
        self.transport.write_eof()
        self._room.stand(self, "lingering")

    def _drop(self, count: int) -> None:
        self._dropped += count
        if self._dropped > LINGER_BYTES_MAX:
            self.cut()

    def cut(self) -> None:
        self.transport.abort()

    def body_is_late(self, now: float) -> bool:
        """Only time in which this side reads counts."""
        if self.flow.read_paused:
            self._body_since, self._body_bytes = now, 0
            return False
        if self._is_answering_nothing():
            return now - self._body_since > LEFT_S_MAX
        patience_s = self._limits.body_s + self._body_bytes / self._limits.body_bytes_per_s_min
        return now - self._body_since > patience_s

    def is_stalled(self) -> bool:
        """True if nothing was taken of what is left to read since this was last asked; asked once an idle time."""
        unread = self.transport.get_write_buffer_size()
        stalled = unread > 0 and unread == self._unread
        self._unread = unread
        return stalled
