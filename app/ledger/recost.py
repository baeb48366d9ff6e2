"""What each charge would be now, computed again from the event its line records, by the law that drew it then.

A charge below what its event costs under this version's certified bounds is a fault: either the line was tampered
with by someone who could sign, or a bound was wrong when it was made. A charge above is history: bounds got tighter.
Charges are compared with a tolerance of two units or 10⁻¹¹, for mathematics libraries that round differently.

A certified bound is no cost: searches end once they stand no more than `SEARCHED` above what some datasets reach, and an
earlier version's may have ended closer at some order. A charge so little below a bound that was searched for is called that.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from app.ledger.amounts import Amounts, upgrade_charge
from app.ledger.canonical import part_in, regime_in
from app.ledger.entry import CHARGES, Entry, EntryKind
from app.ledger.filters import GAUSSIAN
from app.ledger.law_costs import cost_by_law, lenient
from app.ledger.reading import reading_of

Outcome = Literal["exact", "over_charged", "closer_then", "under_charged", "not_recomputable"]

SEARCHED = 1.035
"""As far as searches leave a bound above what was reached where they finish (`core/privacy/units/cells.py`)."""


@dataclass(frozen=True, slots=True)
class Recost:
    """One charge: what it was, and what it would be now, as pure ε and as ε at the account's δ; None: no finite bound.

    `law` drew it; `lowered`: a later line took back what it cost too much; `why` says why it cannot be computed.
    """

    sequence: int
    account: str
    kind: EntryKind
    release: str | None
    law: int | None
    outcome: Outcome
    delta: float
    charged_pure_nano: int | None
    computed_pure_nano: int | None
    charged_epsilon: float | None
    computed_epsilon: float | None
    lowered: bool = False
    why: str | None = None
    part: str | None = None
    """Of an access to one of several models."""

    @property
    def epsilon_less(self) -> float | None:
        """How much smaller it would be, at the account's δ."""
        if self.charged_epsilon is None or self.computed_epsilon is None:
            return None
        return self.charged_epsilon - self.computed_epsilon


class Recoster:
    """Takes lines in order; remembers the schema each release was reserved with, and every account's δ."""

    def __init__(self) -> None:
        self._columns: dict[str, Mapping[str, Any]] = {}
        self._deltas: dict[str, float] = {}
        self._lowered: set[tuple[str, str | None, str | None]] = set()
        self.counts: dict[Outcome, int] = dict.fromkeys(get_args(Outcome), 0)

    def feed(self, entry: Entry) -> Recost | None:
        """None for a line that charges nothing."""
        if entry.kind in ("open", "cap"):
            self._deltas[entry.account] = _delta(entry)
        if entry.kind == "recost":
            self._lowered.add((entry.account, entry.release, part_in(entry.event)))
        if entry.kind not in CHARGES:
            return None
        found = self._recost(entry)
        self.counts[found.outcome] += 1
        return found

    def finished(self, found: Iterable[Recost | None]) -> list[Recost]:
        """What `feed` gave for every line, once all were fed: the charges among them, saying which were lowered since."""
        charges = [each for each in found if each is not None]
        return [replace(each, lowered=(each.account, each.release, each.part) in self._lowered) for each in charges]

    def _recost(self, entry: Entry) -> Recost:
        charged, delta = entry.amounts, self._deltas.get(entry.account, 0.0)
        law, expected, gaussian, searched = self._expected(entry)
        if isinstance(expected, str):
            outcome, computed, why = _NOT_RECOMPUTABLE, None, expected
        else:
            outcome, computed, why = _compared(charged, expected, searched), expected, None
            if _claims_gaussian(entry) and not gaussian:
                outcome, why = "under_charged", "it was admitted as Gaussian noise, which it is not"
        return Recost(
            sequence=entry.sequence,
            account=entry.account,
            kind=entry.kind,
            release=entry.release,
            law=law,
            outcome=outcome,
            delta=delta,
            charged_pure_nano=charged.finite_pure_nano,
            computed_pure_nano=None if computed is None else computed.finite_pure_nano,
            charged_epsilon=_shown(charged, delta, gaussian),
            computed_epsilon=None if computed is None else _shown(computed, delta, gaussian),
            why=why,
            part=part_in(entry.event),
        )

    def _expected(self, entry: Entry) -> tuple[int | None, Amounts | str, bool, bool]:
        """(law, the charge or why it cannot be computed, whether it is Gaussian noise, whether its bound was searched for)."""
        try:
            event = json.loads(entry.event)
            if "columns" in event and entry.release is not None:
                self._columns[entry.release] = event["columns"]
            law = event.get("law", 1)
            columns = self._columns.get(entry.release or "")
            if columns is None:
                return law, "the event has no schema: it was written by an earlier version", False, False
            cost = cost_by_law(columns, event)
            if isinstance(cost, str):
                return law, cost, False, False
            searched = event["mechanism"]["kind"] in _DRAWS and cost.method.startswith("certified")
            due = upgrade_charge(cost.per_sample, event["held"], event["samples"], cost.once)
            return law, due, cost.gaussian, searched
        except (ValueError, KeyError, TypeError, AttributeError):
            return None, "the event is not one this version can read", False, False


_NOT_RECOMPUTABLE: Outcome = "not_recomputable"


_DRAWS = ("baps", "map")


def _compared(charged: Amounts, expected: Amounts, searched: bool) -> Outcome:
    if charged == expected:
        return "exact"
    if lenient(charged).covers(expected):
        return "over_charged" if charged.covers(expected) else "exact"
    return "closer_then" if searched and lenient(_as_far_as_searched(charged)).covers(expected) else "under_charged"


def _as_far_as_searched(charged: Amounts) -> Amounts:
    """δ-slack is no bound that anyone searches for."""
    pure, *curve = (math.floor(amount * SEARCHED) for amount in (charged.pure_nano, *charged.curve_nano))
    return Amounts(pure, tuple(curve), charged.slack_atto)


def _claims_gaussian(entry: Entry) -> bool:
    return bool(regime_in(json.loads(entry.event)) == GAUSSIAN)


def _shown(amounts: Amounts, delta: float, gaussian: bool) -> float | None:
    epsilon = reading_of(amounts, delta, gaussian=gaussian).epsilon
    return epsilon if math.isfinite(epsilon) else None


def _delta(entry: Entry) -> float:
    try:
        return float(json.loads(entry.event)["delta"])
    except (ValueError, KeyError, TypeError):
        return 0.0
