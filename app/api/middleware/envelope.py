"""Every response carries its request's id, safe defaults and what is left of its key's rate limit.

The id is in every log line of the request. Limits are told as in the IETF's draft of RateLimit header fields.
"""

import re
import secrets

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

RATE_LIMIT = "rate_limit"
"""Where in a request's state the values of `RateLimit-Policy` and `RateLimit` are left, if it was counted."""

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_UNLESS_SET = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
)
"""A page names what it may load; anything else, opened by a browser, may load nothing."""
_OURS = frozenset({b"x-request-id", *(name for name, _ in _ALWAYS)})
_SANE = re.compile(rb"[A-Za-z0-9_-]{1,64}")


class EnvelopeMiddleware:
    """`X-Request-Id` in is kept if it is sane, so one id can follow a request through several services."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _incoming_id(scope) or secrets.token_hex(8)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        structlog.contextvars.bind_contextvars(request_id=request_id)

        async def send_enveloped(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = [pair for pair in message["headers"] if pair[0] not in _OURS]
                headers.append((b"x-request-id", request_id.encode()))
                headers.extend(_ALWAYS)
                named = {name for name, _ in headers}
                headers.extend(pair for pair in _UNLESS_SET if pair[0] not in named)
                counted = state.get(RATE_LIMIT)
                if counted is not None:
                    headers.append((b"ratelimit-policy", counted[0]))
                    headers.append((b"ratelimit", counted[1]))
            await send(message)

        await self.app(scope, receive, send_enveloped)


def _incoming_id(scope: Scope) -> str | None:
    """None if absent, garbled or given more than once."""
    given = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(given) == 1 and _SANE.fullmatch(given[0]):
        return str(given[0], "ascii")
    return None
