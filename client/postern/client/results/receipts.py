"""The receipt that travels with exported samples, and what checking it found."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """The line at which the release's charge became final: known to a steward or an auditor by its digest."""

    id: str | None
    sequence: int
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt(Shown):
    """Which samples, what was promised about them, and where the ledger says so."""

    version: int
    release: str
    samples: int
    parameters: tuple[str, ...]
    values_sha256: str
    card_sha256: str
    ledger: LedgerLine
    dataset: str | None = None
    view: str = "samples"
    points: int | None = None

    @property
    def rows(self) -> int:
        """Of the values: draws, or points of the belief."""
        return self.samples if self.points is None else self.points

    def to_json(self) -> dict[str, Any]:
        found = asdict(self) | {"parameters": list(self.parameters)}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ReceiptCheck(Shown):
    """None where there was nothing to compare with: no values at hand, or no key that may read the ledger."""

    release: bool
    card: bool
    values: bool | None
    ledger: bool | None

    @property
    def ok(self) -> bool:
        """True if nothing that could be compared differs."""
        return False not in (self.release, self.card, self.values, self.ledger)

    def __bool__(self) -> bool:
        return self.ok


def digest_of_values(little_endian: bytes | memoryview) -> str:
    """SHA-256 of the float64 matrix, little-endian, one draw after the other."""
    return hashlib.sha256(little_endian).hexdigest()
