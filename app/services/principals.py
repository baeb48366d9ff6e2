"""Who is asking. Authorisation is a type in a service's signature, not a check inside it."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["steward", "analyst", "dashboard", "auditor"]
ROLES: tuple[Role, ...] = ("steward", "analyst", "dashboard", "auditor")


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified key: the person it belongs to and the role it acts in."""

    id: str
    name: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Steward(Principal):
    """Owns datasets and their budgets; sees every sample of their own releases."""

    role: Literal["steward"] = "steward"


@dataclass(frozen=True, slots=True)
class Analyst(Principal):
    """Pays for prefixes of releases against a cap the dataset's steward set."""

    role: Literal["analyst"] = "analyst"


@dataclass(frozen=True, slots=True)
class Rehearser(Steward):
    """An analyst as the steward of what they own: rehearsals, and nothing else. Their id owns no dataset of real rows."""

    @classmethod
    def of(cls, analyst: Analyst) -> "Rehearser":
        return cls(analyst.id, analyst.name, analyst.key_id)


@dataclass(frozen=True, slots=True)
class Dashboard(Principal):
    """Reads what it was granted; charges nothing and changes nothing."""

    role: Literal["dashboard"] = "dashboard"


@dataclass(frozen=True, slots=True)
class Auditor(Principal):
    """Reads ledgers and heads; sees no samples."""

    role: Literal["auditor"] = "auditor"


AnyPrincipal = Steward | Analyst | Dashboard | Auditor
Reader = Steward | Analyst | Dashboard
"""Those who may hold a right to some samples of a release."""

Overseer = Steward | Auditor
"""Those who may read ledgers."""
