"""What every account has paid for every release, kept small while a ledger is replayed, and what it would have to pay now.

A release is charged to its dataset once, to an analyst in steps that telescope to the longest prefix (`amounts.upgrade_charge`),
and lowered by `recost` lines. All that is needed to judge such a line is therefore the sum so far and the event of the last
charge. Ledgers have a million lines, so sums are packed, and equal sums and equal events kept once. An analyst pays for the parts
of a release of several models one by one: each has a sum of its own.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.privacy import ORDERS
from app.errors import IntegrityFailure
from app.ledger.amounts import Amounts, prefix_charge
from app.ledger.canonical import part_in
from app.ledger.entry import CHARGES, Entry
from app.ledger.law_costs import cost_by_law, lenient

_VECTOR = struct.Struct(f"{2 + len(ORDERS)}q")

BOUNDS = 1
"""Of the certified bounds. A version that has to *widen* one raises this: recost lines that were right by narrower bounds then
still verify by every other rule, and `postern ledger recost` names what they left too low."""


@dataclass(frozen=True, slots=True)
class Paid:
    """One account's payments for one release, or a `part` of it; `event` is that of the last charge, `reserved` that of the
    release."""

    account: str
    release: str
    part: str | None
    amounts: Amounts
    event: Mapping[str, Any]
    reserved: Mapping[str, Any]

    @property
    def samples(self) -> int:
        return int(self.event["samples"])


class PaidReleases:
    """Takes charges, voids and recosts in order. Pending reservations are known by `settle` not having been called."""

    def __init__(self) -> None:
        self._sums: dict[_Key, tuple[bytes, str]] = {}
        self._reserved: dict[str, str] = {}
        self._settled: set[str] = set()
        self._kept: dict[Any, Any] = {}

    def replay(self, entry: Entry) -> None:
        """A line of any kind, of a ledger that verifies."""
        if entry.kind in CHARGES:
            self.charge(entry)
        elif entry.kind in ("commit", "void"):
            self.settle(entry)
        elif entry.kind == "recost":
            self.lower(entry)

    def charge(self, entry: Entry) -> None:
        key, event = self._key(entry), self._once(entry.event)
        if entry.kind == "reserve":
            self._reserved[key[1]] = event
        self._put(key, entry.amounts, event)

    def settle(self, entry: Entry) -> None:
        key = self._key(entry)
        self._settled.add(key[1])
        if entry.kind == "void":
            self._sums.pop(key, None)

    def lower(self, entry: Entry) -> None:
        """Raises IntegrityFailure for what was never paid."""
        key = self._key(entry)
        if key not in self._sums or not entry.amounts.negated().is_charge:
            raise IntegrityFailure("only what was paid can be lowered")
        if not _unpacked(self._sums[key][0]).plus(entry.amounts).is_charge:
            raise IntegrityFailure("only what was paid can be lowered")
        self._put(key, entry.amounts, self._sums[key][1])

    def paid(self, account: str, release: str, part: str | None = None) -> Paid | None:
        """None for what is not paid for, or not for good: a pending reservation may still be voided, whole."""
        found = self._sums.get((account, release, part))
        reserved = self._reserved.get(release)
        if found is None or reserved is None or release not in self._settled:
            return None
        return Paid(account, release, part, _unpacked(found[0]), json.loads(found[1]), json.loads(reserved))

    def all_paid(self) -> list[Paid]:
        found = (self.paid(*key) for key in self._sums)
        return [each for each in found if each is not None]

    def owed(self, paid: Paid) -> Amounts | str:
        """What the same prefix costs by its own law under today's bounds, or why that cannot be said."""
        columns = paid.reserved.get("columns")
        if columns is None:
            return "the event has no schema: it was written by an earlier version"
        cost = cost_by_law(columns, paid.event)
        return cost if isinstance(cost, str) else prefix_charge(cost.per_sample, paid.samples, cost.once)

    def covers_cost(self, account: str, release: str, part: str | None = None) -> bool:
        """Whether what stands paid is at least what is owed, up to rounding on other machines."""
        paid = self.paid(account, release, part)
        owed = "unpaid" if paid is None else self.owed(paid)
        return paid is not None and not isinstance(owed, str) and lenient(paid.amounts).covers(owed)

    def _put(self, key: "_Key", amounts: Amounts, event: str) -> None:
        before = self._sums.get(key)
        after = amounts if before is None else _unpacked(before[0]).plus(amounts)
        packed = _VECTOR.pack(after.pure_nano, after.slack_atto, *after.curve_nano)
        self._sums[key] = (self._once(packed), event)

    def _once(self, value: Any) -> Any:
        return self._kept.setdefault(value, value)

    def _key(self, entry: Entry) -> "_Key":
        part = part_in(entry.event)
        return (self._once(entry.account), self._once(entry.release or ""), None if part is None else self._once(part))


_Key = tuple[str, str, str | None]


def _unpacked(packed: bytes) -> Amounts:
    pure, slack, *curve = _VECTOR.unpack(packed)
    return Amounts(pure, tuple(curve), slack)
