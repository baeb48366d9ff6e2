"""What every operation says about itself in OpenAPI, in one call per route."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from app.api.problems import MEDIA_TYPE, PROBLEMS

ANYONE = ("unavailable", "internal")
KEY = (*ANYONE, "unauthenticated", "key_revoked", "key_expired", "rate_limited", "ledger_untrusted")
ROLE = (*KEY, "forbidden")
PARAMETERS = ("invalid_request",)
JSON = ("malformed_body", "payload_too_large", "unsupported_format", "invalid_request")
THING = ("not_found", "invalid_request")
ONCE = ("idempotency_conflict", "invalid_request")
"""Takes an `Idempotency-Key`."""

CACHED = {"ETag": "Strong; send it back as `If-None-Match`.", "Cache-Control": "`private, no-cache`."}
UNCHANGED = {"responses": {"304": {"description": "Unchanged since the `ETag` you sent."}}}


def operation(
    name: str,
    summary: str,
    *problems: Iterable[str],
    body: type[BaseModel] | tuple[type[BaseModel], ...] | None = None,
    answers: tuple[type[BaseModel], ...] = (),
    headers: dict[str, str] | None = None,
    status: int = 200,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Keyword arguments for a route. The description is the function's docstring. `answers`: where there are several shapes."""
    codes = sorted({code for group in problems for code in group})
    responses: dict[int | str, dict[str, Any]] = {}
    for number in sorted({PROBLEMS[code][0] for code in codes}):
        responses[number] = _problem_response([code for code in codes if PROBLEMS[code][0] == number])
    if headers:
        shown = {key: {"description": text, "schema": {"type": "string"}} for key, text in headers.items()}
        responses[status] = {"headers": shown}
    if answers:
        shown_as = {"content": {"application/json": {"examples": _examples(answers)}}}
        responses[status] = responses.get(status, {}) | shown_as
    documented: dict[str, Any] = dict(extra or {})
    if body is not None:
        documented["requestBody"] = json_body(body)
    return {
        "operation_id": name,
        "summary": summary,
        "status_code": status,
        "responses": responses,
        "openapi_extra": documented,
    }


def json_body(body: type[BaseModel] | tuple[type[BaseModel], ...]) -> dict[str, Any]:
    """Of one shape, or of one of several."""
    models = body if isinstance(body, tuple) else (body,)
    shapes: list[dict[str, Any]] = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]
    schema = shapes[0] if len(shapes) == 1 else {"oneOf": shapes}
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": _examples(models)}}}


def _examples(models: tuple[type[BaseModel], ...]) -> dict[str, Any]:
    extras = [model.model_config.get("json_schema_extra") for model in models]
    lists = [extra.get("examples") for extra in extras if isinstance(extra, dict)]
    values = [value for each in lists if isinstance(each, list) for value in each]
    return {f"example {number}": {"value": value} for number, value in enumerate(values, 1)}


def _problem_response(codes: list[str]) -> dict[str, Any]:
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in codes},
    }
    described = "; ".join(f"`{code}`: {PROBLEMS[code][1]}" for code in codes)
    return {"description": described, "content": {MEDIA_TYPE: content}}


def problem_examples() -> dict[str, Any]:
    """Components that the problem responses of all operations point to."""
    return {code: {"summary": title, "value": _example(code)} for code, (_, title) in PROBLEMS.items()}


def _example(code: str) -> dict[str, Any]:
    status, title = PROBLEMS[code]
    return {
        "type": f"urn:postern:problem:{code}",
        "title": title,
        "status": status,
        "detail": title,
        "instance": "urn:postern:request:5f0c6a1b2d3e4f50",
        "code": code,
    }
