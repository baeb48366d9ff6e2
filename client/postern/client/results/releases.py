"""Releases as public facts, and access to them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postern.client.results.accounts import Budget, Cost
from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter between its public bounds."""

    name: str
    lower: float
    upper: float
    group: dict[str, str] | None = None
    """Whose it is, in a release by groups."""
    part: str | None = None
    """Whose it is, of several models together."""


@dataclass(frozen=True, slots=True)
class ReleasePart(Shown):
    """One of several models; parameters are called as they are where it is asked alone."""

    name: str
    model: dict[str, Any]
    mechanism: dict[str, Any]
    parameters: tuple[Parameter, ...]
    cost: Cost
    samples: int
    views: tuple[str, ...] = ("samples",)
    by: tuple[str, ...] | None = None
    where: str | None = None
    groups: tuple[dict[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True)
class ReleaseFacts(Shown):
    id: str
    dataset: str
    status: str
    model: dict[str, Any] | None
    mechanism: dict[str, Any] | None
    parameters: tuple[Parameter, ...]
    cost: Cost
    n: int
    samples: int
    created_at: datetime
    published_at: datetime | None
    views: tuple[str, ...] = ("samples",)
    check: dict[str, Any] | None = None
    by: tuple[str, ...] | None = None
    where: str | None = None
    groups: tuple[dict[str, Any], ...] | None = None
    """Every group with its public number of people; None of one that is private."""
    title: str | None = None
    description: str | None = None
    rehearsal: bool = False
    models: tuple[ReleasePart, ...] | None = None
    """Of a release of several, each with a mechanism of its own; `model` and `mechanism` are None then."""


Progress = Callable[[ReleaseFacts, float], None]
"""Called with what is known and the seconds since the start, after every look."""


@dataclass(frozen=True, slots=True)
class Access(Shown):
    """`charged` is what this call added: nothing if the prefix was paid for already."""

    release: str
    samples: int
    charged: Cost
    budget: Budget
    parts: dict[str, int] | None = None
    """Of several models: how many samples of each are paid for now."""


@dataclass(frozen=True, slots=True)
class SealingKey(Shown):
    """The public half of the key that statistics are sealed to; compare it with what the operator told you."""

    key_id: str
    key: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class ReleaseProgress(Shown):
    """For the steward alone; everyone else sees `pending`."""

    release: str
    status: str
    stage: str
    bytes_done: int | None
    bytes_total: int | None
    attempts: int
    attempts_max: int
    next_attempt_at: datetime | None
    reason: str | None
