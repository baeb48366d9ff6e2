"""A few requests to a running service; the address and the key come from the environment."""

import json
import os
import urllib.error
import urllib.request
from typing import Any

from app.errors import PosternError, Unauthenticated, Unavailable

URL_DEFAULT = "http://127.0.0.1:8000"
_TIMEOUT_S = 60
_BYTES_MAX = 64 * 1024 * 1024


def call(method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Any:
    """The decoded answer. A problem becomes an error with the service's own sentence."""
    key = os.environ.get("POSTERN_KEY")
    if not key:
        raise Unauthenticated("set POSTERN_KEY to a key (and POSTERN_URL unless the service is local)")
    url = os.environ.get("POSTERN_URL", URL_DEFAULT).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise Unavailable("POSTERN_URL should start with http:// or https://")
    sent = {"Authorization": f"Bearer {key}", "Accept": "application/json", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json"
    request = urllib.request.Request(  # noqa: S310
        url + path, method=method, headers=sent, data=None if body is None else json.dumps(body).encode()
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            return json.loads(answer.read(_BYTES_MAX))
    except urllib.error.HTTPError as error:
        refusal = _sentence(error)
    except urllib.error.URLError as error:
        raise Unavailable(f"nothing answers at {url} ({error.reason})") from None
    raise PosternError(refusal)


def _sentence(error: urllib.error.HTTPError) -> str:
    with error:
        try:
            problem = json.loads(error.read(_BYTES_MAX))
            return f"{problem['code']}: {problem['detail']}"
        except (ValueError, KeyError, TypeError):
            return f"the service answered {error.code}"
