"""People and their keys."""

from dataclasses import dataclass, field
from datetime import datetime

from postern.client.results.accounts import Budget
from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Analyst(Shown):
    """Whoever holds keys: an analyst, a dashboard, an auditor or a steward."""

    id: str
    role: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class KeyFacts(Shown):
    id: str
    principal: str
    role: str
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey(KeyFacts):
    """`token` is told this once and is left out of everything that prints."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Cap(Shown):
    """A budget for an analyst, or a number of samples for a dashboard."""

    dataset: str
    analyst: str
    budget: Budget | None
    samples: int | None


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first `samples` samples of a release, paid for."""

    release: str
    samples: int


@dataclass(frozen=True, slots=True)
class Me(Shown):
    """`key` is the id of the key that asked."""

    id: str
    role: str
    name: str
    key: str
    caps: tuple[Cap, ...]
    accesses: tuple[Prefix, ...]
