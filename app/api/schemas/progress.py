"""How far work is, for the steward alone."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Count, Time

_DONE = Field(description="null where it is not known.")
_TOTAL = Field(description="Of how many; null where it is not known.")
_RELEASE: JsonDict = {
    "release": "rel_p5n6t2dy4hgakq2m",
    "status": "pending",
    "stage": "opening",
    "bytes_done": 20_971_520,
    "bytes_total": 46_137_344,
    "attempts": 1,
    "attempts_max": 5,
    "next_attempt_at": None,
    "reason": None,
}
_UPLOAD: JsonDict = {
    "dataset": "ds_4kq2mz7w5x3ahgnd",
    "stage": "receiving",
    "bytes_done": 1_048_576,
    "bytes_total": 2_097_152,
}


class ReleaseProgress(Answer):
    """Everyone else sees `pending`: bytes, stages and attempts depend on rows."""

    model_config = ConfigDict(json_schema_extra={"examples": [_RELEASE]})

    release: str
    status: Literal["pending", "published", "withdrawn"]
    stage: Literal["waiting", "working", "opening", "reading", "drawing", "holding", "done"] = Field(
        description="`working` where the worker cannot tell more; `holding` until the public moment."
    )
    bytes_done: Count | None = _DONE
    bytes_total: Count | None = _TOTAL
    attempts: Count = Field(description="Begun until now.")
    attempts_max: Count = Field(description="After so many it is given up, with a reason.")
    next_attempt_at: Time | None = Field(
        validation_alias="next_attempt_us", description="Where an attempt has ended and another is due; else null."
    )
    reason: str | None = Field(description="Why it was withdrawn; else null.")


class UploadProgress(Answer):
    """Nobody else sees it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_UPLOAD]})

    dataset: str
    stage: Literal["idle", "working", "receiving", "checking"] = Field(
        description="`idle` where no upload is under way."
    )
    bytes_done: Count | None = _DONE
    bytes_total: Count | None = _TOTAL
