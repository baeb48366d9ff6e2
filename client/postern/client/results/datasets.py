"""Datasets, populations and uploads."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postern.client.results.accounts import Budget
from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Dataset(Shown):
    id: str
    name: str
    columns: dict[str, dict[str, Any]]
    n: int | None
    budget: Budget
    privacy_unit: dict[str, Any] | None
    source: dict[str, Any]
    other_columns: str
    data: str
    created_at: datetime
    strata: list[dict[str, Any]] | None = None
    """How many people each combination of public columns has."""
    description: str | None = None
    archived_at: datetime | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    """What was changed in the schema after rows had been uploaded or checked; every card tells it."""
    rehearsal: bool = False
    population: dict[str, str] | None = None
    """Id and name of the population whose account is charged too."""


@dataclass(frozen=True, slots=True)
class PublicDataset(Shown):
    """What everyone with a right on a dataset sees of it."""

    id: str
    name: str
    description: str | None
    columns: dict[str, dict[str, Any]]
    n: int | None
    privacy_unit: dict[str, Any] | None
    archived_at: datetime | None
    created_at: datetime
    strata: list[dict[str, Any]] | None = None
    rehearsal: bool = False
    population: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Population(Shown):
    """The same people in several datasets, whose ids are `datasets`: whatever is charged to one is charged to `budget` too."""

    id: str
    name: str
    description: str | None
    budget: Budget
    datasets: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SchemaDraft(Shown):
    """Names and types of a file, and None for what only public knowledge can say; `why`."""

    columns: dict[str, dict[str, Any]]
    fill_in: list[dict[str, str]]
    left_out: list[dict[str, Any]]
    why: str


@dataclass(frozen=True, slots=True)
class Upload(Shown):
    """For the steward alone: counts of an upload are not public until `n` is."""

    dataset: str
    rows: int
    people: int
    clipped_people: int
    ignored_columns: list[str]
    missing: dict[str, int]
    outside: dict[str, int]
    stored: bool = True


@dataclass(frozen=True, slots=True)
class UploadProgress(Shown):
    """For the steward alone; `stage` is `idle` where no upload is under way."""

    dataset: str
    stage: str
    bytes_done: int | None
    bytes_total: int | None
