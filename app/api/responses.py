"""Answers that are more than a model: pages with a `Link`, and bodies a cache may keep."""

import hashlib
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.services.views import Page

T = TypeVar("T")


def page_headers(request: Request, page: Page[Any]) -> dict[str, str]:
    """`Link: <…>; rel="next"` with the caller's own filters, unless this page is the last."""
    if page.next_cursor is None:
        return {}
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    query = [*kept, ("cursor", page.next_cursor)]
    return {"Link": f'<{request.url.path}?{urlencode(query)}>; rel="next"'}


def model_response(model: BaseModel, *, headers: dict[str, str] | None = None, status: int = 200) -> Response:
    """Serialised once, straight to bytes; the route's `response_model` documents it."""
    return Response(model.model_dump_json(), status, headers, "application/json")


def json_response(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def cacheable_response(
    model: BaseModel, *, if_none_match: str | None, headers: dict[str, str] | None = None
) -> Response:
    """Private caches may keep it, and ask again with its strong ETag.

    The tag hashes the response's own bytes, which the caller holds anyway and which are made of public numbers only:
    it says nothing about samples beyond the caller's prefix.
    """
    body = model.model_dump_json().encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization", **(headers or {})}
    if if_none_match is not None and _matches(if_none_match, etag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _matches(if_none_match: str, etag: str) -> bool:
    """Weak comparison (RFC 9110 §13.1.2): a `W/` prefix added on the way does not matter for GET."""
    candidates = [candidate.strip().removeprefix("W/") for candidate in if_none_match.split(",")]
    return "*" in candidates or etag in candidates
