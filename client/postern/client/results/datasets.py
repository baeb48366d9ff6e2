"""Datasets and uploads."""

from dataclasses import dataclass
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
