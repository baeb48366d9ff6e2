"""What each charge should have been, computed again from the event the line records.

A charge below what its event costs under this version's certified bounds is a fault: either the line was tampered
with by someone who could sign, or a bound was wrong when it was made. A charge above is history: bounds got tighter.
Charges are compared with a tolerance of two units or 10⁻¹¹, for mathematics libraries that round differently.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.core.kinds import parse_mechanism, parse_model
from app.core.privacy.release_cost import ReleaseCost
from app.core.schema import parse_columns
from app.errors import PosternError
from app.ledger.amounts import Amounts, upgrade_charge
from app.ledger.canonical import canonical_json
from app.ledger.entry import Entry

Outcome = Literal["exact", "over_charged", "under_charged", "not_recomputable"]
UNITS, RELATIVE = 2, 10**11


@dataclass(frozen=True, slots=True)
class Recost:
    sequence: int
    release: str | None
    outcome: Outcome
    charged_pure_nano: int | None
    computed_pure_nano: int | None
    why: str | None = None


class Recoster:
    """Takes lines in order; remembers the schema each release was reserved with, and every cost it computed."""

    def __init__(self) -> None:
        self._columns: dict[str, Mapping[str, Any]] = {}
        self._costs: dict[str, ReleaseCost | str] = {}
        self.counts: dict[Outcome, int] = {"exact": 0, "over_charged": 0, "under_charged": 0, "not_recomputable": 0}

    def feed(self, entry: Entry) -> Recost | None:
        """None for a line that charges nothing."""
        if entry.kind not in ("reserve", "access"):
            return None
        found = self._recost(entry)
        self.counts[found.outcome] += 1
        return found

    def _recost(self, entry: Entry) -> Recost:
        charged = entry.amounts
        expected = self._expected(entry)
        if isinstance(expected, str):
            shown = charged.finite_pure_nano
            return Recost(entry.sequence, entry.release, "not_recomputable", shown, None, expected)
        outcome: Outcome = "under_charged"
        if charged == expected:
            outcome = "exact"
        elif _lenient(charged).covers(expected):
            outcome = "over_charged" if charged.covers(expected) else "exact"
        return Recost(entry.sequence, entry.release, outcome, charged.finite_pure_nano, expected.finite_pure_nano, None)

    def _expected(self, entry: Entry) -> Amounts | str:
        """The charge, or why it cannot be computed."""
        try:
            event = json.loads(entry.event)
            if "columns" in event and entry.release is not None:
                self._columns[entry.release] = event["columns"]
            columns = self._columns.get(entry.release or "")
            if columns is None:
                return "the event has no schema: it was written by an earlier version"
            cost = self._cost(columns, event)
            if isinstance(cost, str):
                return cost
            return upgrade_charge(cost.per_sample, event["held"], event["samples"], cost.once)
        except (ValueError, KeyError, TypeError):
            return "the event is not one this version can read"

    def _cost(self, columns: Mapping[str, Any], event: Mapping[str, Any]) -> ReleaseCost | str:
        facts = [columns, event["model"], event["mechanism"], event["n"], event["unit_rows"]]
        memo = canonical_json(facts)
        if memo not in self._costs:
            self._costs[memo] = _compute(columns, event)
        return self._costs[memo]


def _compute(columns: Mapping[str, Any], event: Mapping[str, Any]) -> ReleaseCost | str:
    try:
        model = parse_model(event["model"], parse_columns(columns))
        return parse_mechanism(event["mechanism"], model).cost(model, event["n"], event["unit_rows"])
    except PosternError as refusal:
        return f"this version refuses the event ({refusal.code})"


def _lenient(charged: Amounts) -> Amounts:
    """A little more than was charged: what rounding on another machine may come to."""

    def more(value: int) -> int:
        return value + UNITS + value // RELATIVE

    return Amounts(more(charged.pure_nano), tuple(map(more, charged.curve_nano)), more(charged.slack_atto))
