"""Answers that are more than a model: pages with a `Link`, and bytes that are JSON already."""

from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.storage.paging import Page


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
