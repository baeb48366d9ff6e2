"""Datasets: a public schema, a budget and a source."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, Budget, OpenedBudgetBody
from app.api.schemas.shapes import PEOPLE_MAX, Answer, Count, Delta, Name, PageOf, Slack, Time
from app.core.privacy.release_cost import SAMPLES_MAX
from app.core.schema import COLUMNS_MAX, LEVELS_MAX, NAME_LENGTH_MAX, ROWS_PER_PERSON_MAX
from app.core.specs import Spec

COLUMNS: JsonDict = {
    "cured": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"]},
    "days": {"type": "real", "lower": 0, "upper": 365},
    "visits": {"type": "integer", "lower": 0, "upper": 40},
}
DATASET_BODY: JsonDict = {
    "name": "trial-42",
    "columns": COLUMNS,
    "budget": {"epsilon": 3.0, "delta": 1e-6},
    "privacy_unit": None,
    "source": {"kind": "upload", "retain": False},
}
DATASET: JsonDict = {
    "id": "ds_4kq2mz7w5x3ahgnd",
    "name": "trial-42",
    "columns": COLUMNS,
    "n": 1000,
    "budget": BUDGET,
    "privacy_unit": None,
    "source": {"kind": "upload", "retain": False},
    "data": "ready",
    "created_at": "2026-03-01T09:30:00.000000Z",
}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_LEVEL = {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH_MAX}
_COLUMN = {
    "oneOf": [
        _closed({"type": {"const": "binary"}}),
        _closed(
            {
                "type": {"const": "categorical"},
                "levels": {
                    "type": "array",
                    "items": _LEVEL,
                    "minItems": 2,
                    "maxItems": LEVELS_MAX,
                    "uniqueItems": True,
                },
            }
        ),
        _closed({"type": {"const": "real"}, "lower": {"type": "number"}, "upper": {"type": "number"}}),
        _closed({"type": {"const": "integer"}, "lower": {"type": "integer"}, "upper": {"type": "integer"}}),
    ]
}
Columns = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "description": "Public columns with declared bounds or levels.",
            "additionalProperties": _COLUMN,
            "minProperties": 1,
            "maxProperties": COLUMNS_MAX,
        }
    ),
]


class SourceBody(Spec):
    """Where rows come from. Further fields depend on the kind and are checked by it."""

    model_config = ConfigDict(extra="allow")

    kind: str = Field(min_length=1, max_length=40, examples=["upload"])


class UnitBody(Spec):
    """A person is a value of `column` and owns at most `max_rows` rows."""

    column: Name
    max_rows: int = Field(ge=1, le=ROWS_PER_PERSON_MAX)


class DatasetBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [DATASET_BODY]})

    name: Name
    columns: Columns
    budget: OpenedBudgetBody
    privacy_unit: UnitBody | None = Field(default=None, description="null: one row a person.")
    source: SourceBody
    n: int | None = Field(default=None, ge=1, le=PEOPLE_MAX, description="The public number of people, if declared.")
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")


class Dataset(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [DATASET]})

    id: str
    name: str
    columns: Columns
    n: Count | None = Field(description="The public number of people; null until it is declared or uploaded.")
    budget: Budget
    privacy_unit: dict[str, Any] | None
    source: dict[str, Any]
    data: str = Field(description="State of the data behind the source.")
    created_at: Time = Field(validation_alias="created_us")


class DatasetPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [DATASET], "next_cursor": None}]})

    items: list[Dataset]


class Upload(Answer):
    """Seen by the steward alone: counts of an upload are not public until `n` is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"dataset": "ds_4kq2mz7w5x3ahgnd", "rows": 1000, "people": 1000, "clipped_people": 0}]
        }
    )

    dataset: str
    rows: Count
    people: Count
    clipped_people: Count = Field(description="People with more rows than the privacy unit allows.")


class CapBody(Spec):
    """A budget for an analyst, or a number of samples for a dashboard."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"epsilon": 1.0, "delta": 1e-6}, {"samples": 50}]})

    epsilon: Annotated[float, Field(gt=0, le=1e6)] | None = None
    delta: Delta | None = None
    slack_delta: Slack | None = Field(default=None, description="Only with the first cap: it stays as it was opened.")
    samples: Annotated[int, Field(ge=0, le=SAMPLES_MAX)] | None = None
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")


class Cap(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"dataset": "ds_4kq2mz7w5x3ahgnd", "analyst": "an_7v3c5qk2b6jmw4xz", "budget": BUDGET, "samples": None}
            ]
        }
    )

    dataset: str
    analyst: str
    budget: Budget | None = Field(description="An analyst's cap; null for a dashboard.")
    samples: Count | None = Field(description="A dashboard's prefix; null for an analyst.")
