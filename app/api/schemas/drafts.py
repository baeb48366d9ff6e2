"""A schema that its steward has yet to fill in."""

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Answer, Count

DRAFT: JsonDict = {
    "columns": {"cured": {"type": "binary"}, "days": {"type": "real", "lower": None, "upper": None}},
    "fill_in": [
        {"field": "columns.days.lower", "expected": "the least that is possible at all, from public knowledge"},
        {"field": "columns.days.upper", "expected": "the most that is possible at all, from public knowledge"},
    ],
    "left_out": [],
    "why": "Bounds and levels are public: they decide how much noise protects a person, and anyone may read them. …",
}


class OpenField(Answer):
    field: str = Field(description="Where it stands in the body of `POST /v1/datasets`.")
    expected: str = Field(description="What to fill in, and where to take it from.")


class LeftOut(Answer):
    place: Count = Field(description="Which column of the file, from 1.")
    why: str


class SchemaDraft(Answer):
    """Names and types, and null for whatever only public knowledge can say."""

    model_config = ConfigDict(json_schema_extra={"examples": [DRAFT]})

    columns: dict[str, dict[str, Any]] = Field(
        description="As in `POST /v1/datasets`, which takes them once no null is left."
    )
    fill_in: list[OpenField]
    left_out: list[LeftOut] = Field(description="Columns that cannot be declared as they are named.")
    why: str = Field(description="Why nothing was taken from the rows.")
