"""Datasets: a public schema, a budget and a source."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.api.schemas.accounts import BUDGET, Budget, OpenedBudgetBody
from app.api.schemas.populations import PopulationName
from app.api.schemas.shapes import PEOPLE_MAX, Answer, Count, Delta, Description, Name, PageOf, Slack, Time
from app.core.privacy.release_cost import SAMPLES_MAX
from app.core.schema import Columns, OtherColumns, PrivacyUnitSpec
from app.core.specs import Maybe, Spec
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
    "strata": None,
    "budget": BUDGET,
    "privacy_unit": None,
    "source": {"kind": "upload", "retain": False},
    "other_columns": "ignore",
    "data": "ready",
    "created_at": "2026-03-01T09:30:00.000000Z",
    "description": "Patients of the second trial, as admitted.",
    "archived_at": None,
    "changes": [],
    "rehearsal": False,
    "population": None,
}
PUBLIC_DATASET: JsonDict = {
    name: DATASET[name]
    for name in (
        "id",
        "name",
        "description",
        "columns",
        "n",
        "privacy_unit",
        "archived_at",
        "created_at",
        "rehearsal",
        "population",
    )
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
    description: Description | None = None
    rehearsal: bool = Field(
        default=False,
        description="Make up the rows from the schema instead of taking any: `n` people, 1,000 if that is left out.",
    )
    seed: Maybe[Annotated[int, Field(ge=0, le=2**63 - 1)]] = Field(
        default=None, description="Of a rehearsal: the same seed makes up the same rows; 0 if left out."
    )

    population: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="The name or id of a population of yours, whose account is then charged too; never of a rehearsal.",
    )


class RehearsalBody(Spec):
    """All of it may be left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"name": "trial-42 rehearsed", "seed": 7}]})

    name: Maybe[Name] = Field(default=None, description="`rehearsal of` the dataset's name, if left out.")
    description: Description | None = None
    budget: OpenedBudgetBody | None = Field(
        default=None, description="null: the dataset's for its steward, for an analyst the cap they have on it."
    )
    n: int | None = Field(
        default=None,
        ge=1,
        le=PEOPLE_MAX,
        description="How many people are made up; null: as many as the dataset has, or as a rehearsal may have.",
    )
    seed: Maybe[Annotated[int, Field(ge=0, le=2**63 - 1)]] = Field(
        default=None, description="The same seed makes up the same rows; 0 if left out."
    )


class DatasetChange(Spec):
    """What is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "trial-42b", "description": "Patients of the second trial, as admitted."},
                {"columns": COLUMNS},
                {"archived": True},
            ]
        }
    )

    name: Maybe[Name] = Field(default=None)
    description: Description | None = None
    columns: Maybe[Columns] = Field(
        default=None, description="All of them anew, before the first release; rows that were uploaded are discarded."
    )
    privacy_unit: PrivacyUnitSpec | None = Field(
        default=None, description="Anew, before the first release; null: one row a person. Rows are discarded."
    )
    n: Maybe[Annotated[int, Field(ge=1, le=PEOPLE_MAX)]] = Field(
        default=None,
        description="The public number of people, together with a new schema; otherwise an upload says it.",
    )
    other_columns: Maybe[OtherColumns] = Field(
        default=None, description="Of columns in a file that are not declared: read past them, or refuse the file."
    )
    archived: Maybe[Literal[True]] = Field(
        default=None,
        description="Rows are wiped for good and no more releases are made; published ones go on answering.",
    )

    population: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="The name or id of a population to be in from now on, or null for none; before the first release.",
    )


class SchemaChange(Answer):
    """Made after rows had been uploaded or checked; every card tells it."""

    at: Time = Field(validation_alias="at_us")
    fields: list[dict[str, str | float]] = Field(description="What was changed; of numbers, from what to what.")


class StratumSize(Answer):
    """People who have these levels of the public columns."""

    group: dict[str, str] = Field(examples=[{"arm": "drug"}])
    n: Count


class Dataset(Answer):
    model_config = ConfigDict(json_schema_extra={"examples": [DATASET]})

    id: str
    name: str
    columns: Columns
    n: Count | None = Field(description="The public number of people; null until it is declared or uploaded.")
    strata: list[StratumSize] | None = Field(
        description="How many people each combination of public columns has, where anyone does: public, as n is. null without "
        "public columns, and until rows are uploaded."
    )
    budget: Budget
    privacy_unit: PrivacyUnitSpec | None = Field(description="null: one row a person.")
    source: Source
    other_columns: OtherColumns = Field(description="Of columns in a file that are not declared.")
    data: str = Field(description="State of the data behind the source.")
    created_at: Time = Field(validation_alias="created_us")
    description: str | None
    archived_at: Time | None = Field(validation_alias="archived_us")
    changes: list[SchemaChange] = Field(
        description="What was changed in the schema after rows had been uploaded or checked."
    )
    rehearsal: bool = Field(description="Whether its rows are made up.")
    population: PopulationName | None = Field(description="Whose account is charged too; null if it is in none.")


class PublicDataset(Answer):
    """What is public: seen by everyone with a right on the dataset."""

    model_config = ConfigDict(json_schema_extra={"examples": [PUBLIC_DATASET]})

    id: str
    name: str
    description: str | None
    columns: Columns
    n: Count | None = Field(description="The public number of people; null until it is declared or uploaded.")
    strata: list[StratumSize] | None = Field(description="People by public columns; null where there are none.")
    privacy_unit: PrivacyUnitSpec | None = Field(description="null: one row a person.")
    archived_at: Time | None = Field(validation_alias="archived_us")
    created_at: Time = Field(validation_alias="created_us")
    rehearsal: bool = Field(description="Whether its rows are made up.")
    population: PopulationName | None = Field(description="Whose account is charged too; null if it is in none.")


class DatasetPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [DATASET], "next_cursor": None}]})

    items: list[Dataset]


class PublicDatasetPage(PageOf):
    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [PUBLIC_DATASET], "next_cursor": None}]})

    items: list[PublicDataset]


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
    samples: Annotated[int, Field(ge=1, le=SAMPLES_MAX)] | None = None
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
