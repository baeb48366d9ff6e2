"""No body but an upload may be larger than the configured limit, whether it says so or not."""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import PayloadTooLarge

_UPLOAD = re.compile(r"PUT /v1/datasets/[^/]+/data|POST /v1/schemas/draft")
"""Uploads are streamed to disk and have a limit of their own."""


class BodyLimitMiddleware:
    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self.app = app
        self.bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _UPLOAD.fullmatch(f"{scope['method']} {scope['path']}"):
            await self.app(scope, receive, send)
            return
        if _declared_length(scope) > self.bytes_max:
            error = self._too_large()
            request_id = str(scope.get("state", {}).get("request_id", "unknown"))
            refusal = problem_response(error.code, error.detail, request_id=request_id)
            await refusal(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.bytes_max:
                raise self._too_large()
            return message

        await self.app(scope, receive_counted, send)

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge("body", f"at most {self.bytes_max} bytes")


def _declared_length(scope: Scope) -> int:
    """0 if absent (chunked); the server has already refused a garbled one."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
