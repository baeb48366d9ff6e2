"""Refusals as RFC 9457 `application/problem+json`. The table below is the only place a code meets a status.

A body carries `type`, `title`, `status`, `detail`, `instance` (the request's id, so that a caller can quote it
and the operator find the log line) and `code`; then `errors` for fields, `rows` and `columns` for an upload's bad cells, and
the facts of the error under their own names, with times (`…_us`) as RFC 3339 (`…_at`). Refusals that pass by
themselves carry `Retry-After`.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route

from app.api.schemas.shapes import rfc3339
from app.core.specs import field_problems
from app.errors import (
    InvalidInput,
    InvalidRows,
    PosternError,
    RateLimited,
    ReleaseNotReady,
    Unauthenticated,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"

PROBLEMS: dict[str, tuple[int, str]] = {
    "malformed_request": (400, "This is not an HTTP request"),
    "malformed_body": (400, "The body is not the JSON it should be"),
    "unauthenticated": (401, "A valid key is needed"),
    "key_revoked": (401, "This key was revoked"),
    "key_expired": (401, "This key has expired"),
    "forbidden": (403, "This key may not do that"),
    "access_required": (403, "Pay for access to this release first"),
    "not_found": (404, "No such thing"),
    "method_not_allowed": (405, "This address does not take that method"),
    "not_acceptable": (406, "That format cannot be written here"),
    "request_timeout": (408, "The request took too long to arrive"),
    "conflict": (409, "The request contradicts the present state"),
    "idempotency_conflict": (409, "This idempotency key was used with another body"),
    "name_taken": (409, "That name is taken"),
    "data_missing": (409, "The dataset has no data yet"),
    "release_not_ready": (409, "The release is not published yet"),
    "release_withdrawn": (409, "The release was withdrawn"),
    "calibrated_unavailable": (409, "This release has no calibrated view"),
    "synthetic_unavailable": (409, "No synthetic rows can be made from this release"),
    "check_not_bought": (409, "No check of fit was paid for with this release"),
    "statistics_used": (409, "These statistics were used for another release"),
    "audit_failed": (409, "An audit of the mechanism does not let this release pass"),
    "budget_exhausted": (409, "The privacy budget does not cover this"),
    "payload_too_large": (413, "The body is too large"),
    "unsupported_format": (415, "That format is not understood here"),
    "invalid_request": (422, "Some fields are not as expected"),
    "invalid_schema": (422, "The dataset's schema is not valid"),
    "invalid_rows": (422, "Some rows do not fit the schema"),
    "invalid_model": (422, "The model is not valid"),
    "invalid_mechanism": (422, "The mechanism is not valid"),
    "invalid_audit": (422, "The audit is not valid"),
    "invalid_check": (422, "The check of fit is not valid"),
    "check_not_offered": (422, "There is no check of fit for this model"),
    "accuracy_unreachable": (422, "No release of this many people is that accurate"),
    "invalid_statistics": (422, "The sealed statistics are not what was asked for"),
    "invalid_query": (422, "The question is not valid"),
    "invalid_expression": (422, "The expression cannot be read"),
    "vacuous_guarantee": (422, "The guarantee would promise nothing"),
    "numerical_failure": (422, "The cost cannot be computed safely, so the release is refused"),
    "rate_limited": (429, "Too many requests; try again when told"),
    "headers_too_large": (431, "The request line and headers are too large"),
    "internal": (500, "Something went wrong on our side"),
    "integrity_failure": (500, "The ledger does not verify"),
    "unavailable": (503, "Something this needs is away; try again later"),
    "ledger_untrusted": (503, "The ledger cannot be trusted, so nothing is charged on it"),
    "too_busy": (503, "Too much work at once; try again later"),
}

BORN_OF_HTTP = frozenset({"method_not_allowed", "malformed_request", "request_timeout", "headers_too_large"})
"""Codes that exist only because of HTTP; every other one is in `app/errors.py`."""

_CODE_OF_STATUS = {
    400: "malformed_body",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_format",
    503: "unavailable",
}
_OWN_MEMBERS = frozenset({"type", "title", "status", "detail", "instance", "code", "errors", "rows", "columns"})
_log = structlog.get_logger("postern.api")


def problem_response(
    code: str,
    detail: str,
    *,
    request_id: str,
    members: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    status, title = PROBLEMS[code]
    body: dict[str, Any] = {
        "type": f"urn:postern:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": f"urn:postern:request:{request_id}",
        "code": code,
        **(members or {}),
    }
    return Response(msgspec.json.encode(body), status, dict(headers or {}), MEDIA_TYPE)


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", "unknown"))


def install_problem_handlers(app: FastAPI) -> None:
    app.add_exception_handler(PosternError, refuse)
    app.add_exception_handler(RequestValidationError, refuse_parameters)
    app.add_exception_handler(HTTPException, refuse_http)


async def refuse(request: Request, error: Exception) -> Response:
    """Any error of the tree; a code missing from the table answers as `internal` and says nothing."""
    if not isinstance(error, PosternError) or error.code not in PROBLEMS or error.code == "internal":
        return last_resort(error, request_id=request_id_of(request))
    if PROBLEMS[error.code][0] >= 500:
        _log.error("refused", code=error.code, request_id=request_id_of(request))
    return problem_response(
        error.code,
        error.detail,
        request_id=request_id_of(request),
        members=_members(error),
        headers=_headers(error),
    )


async def refuse_parameters(request: Request, error: Exception) -> Response:
    """Path, query and header parameters. Bodies are read by `json_body`, which raises the tree's own errors."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    problems = field_problems(found)
    return problem_response(
        "invalid_request",
        "; ".join(f"{problem.field}: expected {problem.expected}" for problem in problems),
        request_id=request_id_of(request),
        members={"errors": [asdict(problem) for problem in problems]},
    )


async def refuse_http(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: unknown addresses, wrong methods."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    code = _CODE_OF_STATUS.get(status)
    if code is None:
        return last_resort(error, request_id=request_id_of(request))
    headers = {"Allow": ", ".join(_methods_at(request))} if status == 405 else None
    detail = {404: "nothing answers at this address", 405: f"{request.method[:20]} is not among the methods"}
    return problem_response(
        code, detail.get(status, PROBLEMS[code][1]), request_id=request_id_of(request), headers=headers
    )


def last_resort(error: Exception, *, request_id: str) -> Response:
    """Nothing of the error leaves but its type: a message or a traceback may hold private values."""
    _log.error("unexpected", error=type(error).__qualname__, request_id=request_id)
    return problem_response(
        "internal", "an unexpected failure; quote the request id to the operator", request_id=request_id
    )


def _members(error: PosternError) -> dict[str, Any]:
    members = {name: value for name, value in map(_told, error.facts.items()) if name not in _OWN_MEMBERS}
    if isinstance(error, InvalidRows):
        members["rows"] = [asdict(row) for row in error.rows]
        members["columns"] = [asdict(fault) | {"text": fault.text} for fault in error.columns]
    elif isinstance(error, InvalidInput):
        members["errors"] = [asdict(problem) for problem in error.problems]
    return members


def _told(fact: tuple[str, Any]) -> tuple[str, Any]:
    name, value = fact
    if not name.endswith("_us"):
        return fact
    return f"{name[:-3]}_at", None if value is None else rfc3339(value)


def _headers(error: PosternError) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        failed = "" if error.code == "unauthenticated" else ', error="invalid_token"'
        return {"WWW-Authenticate": f'Bearer realm="postern"{failed}'}
    if isinstance(error, Unavailable | RateLimited | ReleaseNotReady):
        return {"Retry-After": str(error.retry_after_s)}
    return {}


def _methods_at(request: Request) -> list[str]:
    """All methods of the address: the framework names only those of the first route that shares the path."""
    allowed: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            allowed |= set(route.methods or ())
    return sorted(allowed)
