"""The guarantee card, and the digest of its figures."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from postern.client.tables import cell, html_table, printable, text_table

WORDING = frozenset({"lines", "not_promised", "vacuous", "status", "digest"})
"""What may change without changing the guarantee; everything else of a card is digested."""


@dataclass(frozen=True, slots=True)
class CardLine:
    name: str
    value: Any
    basis: str
    assumption: str
    text: str
    part: str | None = None
    """Of several models: which one it is about."""


@dataclass(frozen=True, slots=True)
class Card:
    """What is promised to the people in the data. `figures` is what `digest` covers."""

    release: str
    status: str
    n: int
    samples: int
    neighbours: str
    privacy_unit_rows: int
    epsilon: float
    delta: float
    best_order: float | None
    pure_epsilon: float | None
    vacuous: bool
    lines: tuple[CardLine, ...]
    not_promised: tuple[str, ...]
    digest: str
    parts: tuple[dict[str, Any], ...] | None = None
    """Of several models: what each costs by itself; the card's own figures are of all together."""
    figures: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def zcdp_rho(self) -> float | None:
        """ρ with D_α ≤ ρ·α at every order, for composing elsewhere; None if there is none."""
        return self._value("zcdp_rho")

    @property
    def gdp_mu(self) -> float | None:
        """Certified μ of Gaussian differential privacy; None if there is none."""
        return self._value("gdp_mu")

    @property
    def recomputed_digest(self) -> str:
        return digest_of_card(self.figures)

    def __str__(self) -> str:
        promised = [f"- {line.text}" if line.part is None else f"- {line.part}: {line.text}" for line in self.lines]
        lines = [self._title(), *promised, "Not promised:", *(f"- {line}" for line in self.not_promised)]
        return "\n".join(map(printable, lines))

    def _repr_html_(self) -> str:
        rows = [(line.name, cell(line.value), line.text, line.assumption) for line in self.lines]
        return html_table(("", "value", "promise", "assumption"), rows, caption=self._title())

    def table(self) -> str:
        return text_table(("name", "value", "basis"), [(x.name, cell(x.value), x.basis) for x in self.lines])

    def _value(self, name: str) -> float | None:
        return next((line.value for line in self.lines if line.name == name), None)

    def _title(self) -> str:
        return f"{self.release}: ε = {self.epsilon:.6g} at δ = {self.delta:.3g}, {self.samples} samples of n = {self.n}"


def digest_of_card(card: Mapping[str, Any]) -> str:
    """SHA-256 of the card's figures as JSON with sorted keys and no spaces."""
    figures = {name: value for name, value in card.items() if name not in WORDING}
    text = json.dumps(figures, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_card(body: bytes) -> Card:
    raw = json.loads(body)
    figures = {name: value for name, value in raw.items() if name not in WORDING}
    return msgspec.convert(raw | {"figures": figures}, Card)
