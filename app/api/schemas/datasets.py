"""Datasets: a public schema, a budget and a source."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, Budget, OpenedBudgetBody
from app.api.schemas.shapes import PEOPLE_MAX, Answer, Count, Delta, Name, PageOf, Slack, Time
from app.core.privacy.release_cost import SAMPLES_MAX
from app.core.schema import Columns, OtherColumns, PrivacyUnitSpec
from app.core.specs import Spec
from app.sources.source_spec import Source

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
    "other_columns": "ignore",
    "data": "ready",
    "created_at": "2026-03-01T09:30:00.000000Z",
}


class DatasetBody(Spec):
    model_config = ConfigDict(json_schema_extra={"examples": [DATASET_BODY]})

    name: Name
    columns: Columns
    budget: OpenedBudgetBody
    privacy_unit: PrivacyUnitSpec | None = Field(default=None, description="null: one row a person.")
    source: Source = Field(description="Where rows come from.")
    other_columns: OtherColumns = Field(
        default="ignore", description="Of columns in a file that are not declared: read past them, or refuse the file."
    )
    n: int | None = Field(default=None, ge=1, le=PEOPLE_MAX, description="The public number of people, if declared.")
    force: bool = Field(default=False, description="Accept a guarantee above the configured ceiling on ε.")


class Dataset(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [DATASET]})

    id: str
    name: str
    columns: Columns
    n: Count | None = Field(description="The public number of people; null until it is declared or uploaded.")
    budget: Budget
    privacy_unit: PrivacyUnitSpec | None = Field(description="null: one row a person.")
    source: Source
    other_columns: OtherColumns = Field(description="Of columns in a file that are not declared.")
    data: str = Field(description="State of the data behind the source.")
    created_at: Time = Field(validation_alias="created_us")


class DatasetPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [DATASET], "next_cursor": None}]})

    items: list[Dataset]


class Upload(Answer):
    """Seen by the steward alone: counts of an upload are not public until `n` is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "dataset": "ds_4kq2mz7w5x3ahgnd",
                    "rows": 1000,
                    "people": 1000,
                    "clipped_people": 0,
                    "ignored_columns": ["ward"],
                    "missing": {"visits": 14},
                    "outside": {"days": 2},
                    "stored": True,
                }
            ]
        }
    )

    dataset: str
    rows: Count
    people: Count
    clipped_people: Count = Field(description="People with more rows than the privacy unit allows.")
    ignored_columns: list[str] = Field(description="Columns of the file that are not declared.")
    missing: dict[str, Count] = Field(description="Cells without a value, by column; told here and nowhere else.")
    outside: dict[str, Count] = Field(
        description="Cells beyond the bounds or levels that a policy gave a value, by column; told here and nowhere else."
    )
    stored: bool = Field(description="Whether these are the dataset's rows now; not after a check.")


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
