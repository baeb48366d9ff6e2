"""What the edge says itself: complete answers as bytes, a count of each reason, and a log that a flood cannot fill."""

import secrets
import time

import structlog
from prometheus_client import Counter
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from app.api.problems import problem_response

REFUSED = Counter("postern_edge_refused", "Sockets that the edge closed or turned away, by reason", ["reason"])
TOLD_EVERY_S = 10.0
RETRY_AFTER_S = 1
_log = structlog.get_logger("postern.edge")

REASONS: dict[str, tuple[str, str] | None] = {
    "headers_too_large": ("headers_too_large", "the request line and headers are too long, or too many"),
    "header_timeout": ("request_timeout", "the request line and headers took too long"),
    "body_timeout": ("request_timeout", "the body came too slowly"),
    "malformed": ("malformed_request", "this is not a request that HTTP/1.1 knows"),
    "full": ("too_busy", "too many connections at once"),
    "stopping": ("unavailable", "the service is stopping; send the whole request again"),
    "idle": None,
    "made_room": None,
    "stalled": None,
    "body_left": None,
    "descriptors": None,
}
"""Why a socket ends here: the problem that is answered, or None where nothing was asked or nobody reads."""
_QUIET = frozenset({"idle"})
"""Ends of connections that are nobody's fault."""


class Refusals:
    """Counts each; tells the log at most once every ten seconds a reason, with how many there were."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}
        self._since: dict[str, int] = {}

    def note(self, reason: str) -> None:
        REFUSED.labels(reason).inc()
        if reason in _QUIET:
            return
        now = time.monotonic()
        self._since[reason] = self._since.get(reason, 0) + 1
        if now - self._told.get(reason, -TOLD_EVERY_S) < TOLD_EVERY_S:
            return
        self._told[reason] = now
        _log.warning("refused at the edge", reason=reason, times=self._since.pop(reason))


def refusal(reason: str) -> bytes | None:
    """A whole answer that ends the connection."""
    told = REASONS[reason]
    if told is None:
        return None
    response = problem_response(*told, request_id=secrets.token_hex(8))
    headers = [
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *response.raw_headers,
    ]
    if response.status_code == 503:
        headers.append((b"retry-after", str(RETRY_AFTER_S).encode()))
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    return STATUS_LINE[response.status_code] + lines + b"\r\n" + bytes(response.body)
