"""Health, readiness and the shape of every refusal."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.api.schemas.shapes import Answer


class FieldError(BaseModel):
    field: str
    expected: str


class RowError(BaseModel):
    line: int
    column: str
    expected: str


class Problem(BaseModel):
    """RFC 9457. `code` is stable; facts of the refusal stand beside it under their own names."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:postern:problem:not_found",
                    "title": "No such thing",
                    "status": 404,
                    "detail": "no release 'rel_p5n6t2dy4hgakq2m' that this key may see",
                    "instance": "urn:postern:request:5f0c6a1b2d3e4f50",
                    "code": "not_found",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    errors: list[FieldError] | None = Field(default=None, description="Fields that were not as expected.")
    rows: list[RowError] | None = Field(default=None, description="Bad cells of an upload, for its steward.")


class Health(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok", "version": "0.1.0"}]})

    status: str
    version: str


class Readiness(Answer):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ready": True, "checks": {"database": {"ok": True, "detail": "answers"}}}]}
    )

    ready: bool
    checks: dict[str, Any]
