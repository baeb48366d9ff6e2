"""Strong tags, conditional requests and compression, the same way for every table, curve and file.

A representation has one tag: that of its bytes, and with `-gzip` that of its compressed bytes.
"""

import hashlib

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from app.services.runtime.warm_cache import ReadyBody

VARY = "Authorization, Accept, Accept-Encoding"
GZIP = "gzip"


def takes_gzip(headers: Headers) -> bool:
    """RFC 9110 §12.5.3: named, or covered by `*`, with a weight above zero."""
    weights = dict(weighted(",".join(headers.getlist("accept-encoding"))))
    return weights.get(GZIP, weights.get("x-gzip", weights.get("*", 0.0))) > 0


def weighted(header: str) -> list[tuple[str, float]]:
    """`a;q=0.5, b` → [("a", 0.5), ("b", 1.0)], in the order given; a weight that is no number counts as 0."""
    found = []
    for item in header.split(","):
        value, *parameters = [part.strip() for part in item.lower().split(";")]
        if value:
            weights = [part[2:].strip() for part in parameters if part.startswith("q=")]
            found.append((value, _weight(weights[0]) if weights else 1.0))
    return found


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


def tag_headers(etag: str, gzipped: bool = False, vary: str = VARY) -> dict[str, str]:
    tag = f'"{etag}-{GZIP}"' if gzipped else f'"{etag}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": vary}
    return headers | ({"Content-Encoding": GZIP} if gzipped else {})


def unchanged(request: Request, headers: dict[str, str]) -> Response | None:
    """304 if the caller holds the very representation these headers describe.

    Weak comparison (RFC 9110 §13.1.2): a `W/` added on the way does not matter for GET.
    """
    given = [tag.strip().removeprefix("W/") for tag in ",".join(request.headers.getlist("if-none-match")).split(",")]
    if "*" not in given and headers["ETag"] not in given:
        return None
    return Response(status_code=304, headers={name: headers[name] for name in ("ETag", "Cache-Control", "Vary")})


def ready_response(request: Request, ready: ReadyBody, more: dict[str, str] | None = None) -> Response:
    """JSON that lies ready."""
    gzipped = ready.gzipped if takes_gzip(request.headers) else None
    headers = tag_headers(ready.etag, gzipped is not None)
    body = ready.body if gzipped is None else gzipped
    return unchanged(request, headers) or Response(body, headers=headers | (more or {}), media_type="application/json")


def cacheable_response(request: Request, model: BaseModel, more: dict[str, str] | None = None) -> Response:
    """The tag hashes the response's own bytes, which the caller holds anyway and which are made of public numbers only:
    it says nothing about samples beyond the caller's prefix."""
    body = model.model_dump_json().encode()
    headers = tag_headers(hashlib.sha256(body).hexdigest()[:32], vary="Authorization")
    return unchanged(request, headers) or Response(body, headers=headers | (more or {}), media_type="application/json")
