"""Ledger lines, the head of the chain, its verification."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class LedgerEntry(Shown):
    sequence: int
    account: str
    kind: str
    release: str | None
    epsilon_pure_nano: int | None
    renyi_nano: int
    actor: str
    reason: str
    event: dict[str, Any]
    at: datetime
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class LedgerHead(Shown):
    """Keep it somewhere else: a ledger cut short cannot produce it again."""

    sequence: int
    digest: str
    at: datetime | None
    ledger: str | None
    algorithm: str | None
    key_id: str | None
    public_key: str | None
    signature: str | None


@dataclass(frozen=True, slots=True)
class LedgerFault:
    name: str
    sequence: int | None
    detail: str
    advice: str


@dataclass(frozen=True, slots=True)
class Verification(Shown):
    ok: bool
    entries: int
    head: str
    first_bad_sequence: int | None
    reason: str | None
    signature: str
    key_id: str | None
    faults: tuple[LedgerFault, ...]

    def __bool__(self) -> bool:
        return self.ok
