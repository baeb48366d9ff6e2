"""Audits: what was asked, and what they found."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Audit(Shown):
    """`pending`, then `done` with a verdict: refuted, not_refuted, inconclusive or certified."""

    id: str
    number: int
    status: str
    subject: dict[str, Any]
    claim: dict[str, Any] | None
    level: float
    verdict: str | None
    lower_bound: float | None
    detects: float | None
    detects_for: str | None
    tests: tuple[dict[str, Any], ...]
    certificates: tuple[dict[str, Any], ...]
    reasons: tuple[str, ...]
    code: str
    seed: str
    created: datetime
    finished: datetime | None
