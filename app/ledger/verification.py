"""Checking a ledger line by line: the chain, the sums and the rules, from the entries alone.

Every fault has a name: `unknown_version`, `out_of_sequence` (a line is missing, repeated or moved),
`broken_link` (the line before was replaced), `edited`, `malformed_event`, `unknown_account`, `opened_twice`,
`wrong_amounts`, `wrong_totals`, `wrong_capacity`, `overdrawn`, `negative_balance`, `reserved_twice`,
`settled_without_reserve`, `settled_twice`, `wrong_filter` (an account's charges name two), `wrong_recost` (lowers what was
not paid, or below what it costs), `wrong_population` (a charge to a dataset without the same to its population, or taken back
from the population alone), and against a known head `truncated`, `grown` or `replaced`.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from app.core.privacy import ORDERS
from app.errors import IntegrityFailure, PosternError
from app.ledger.account import Account, lower, open_account, recorded_cap, recorded_charge, refund
from app.ledger.amounts import ZERO, Amounts
from app.ledger.canonical import part_in, regime_in
from app.ledger.entry import VERSION, Entry, Head
from app.ledger.filters import GAUSSIAN, Regime, capacity_nano
from app.ledger.hash_chain import GENESIS, digest_of
from app.ledger.paid_releases import BOUNDS, PaidReleases
from app.ledger.shared_charges import SharedCharges, Unshared


@dataclass(frozen=True, slots=True)
class Verification:
    """`count` lines were sound and end in `head`; `reason` names the fault at `first_bad`."""

    ok: bool
    count: int
    head: Head
    first_bad: int | None = None
    reason: str | None = None


class _Fault(Exception):
    """The name of what is wrong with the line at hand."""


class Verifier:
    """Takes lines in order, from any iterator, and stops believing at the first bad one."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._revisions: dict[str, int] = {}
        self._reserved: dict[tuple[str, str], Amounts | None] = {}  # None once it is settled
        self._paid = PaidReleases()
        self._shared = SharedCharges()
        self._head = GENESIS
        self._first_bad: int | None = None
        self._reason: str | None = None

    def feed(self, entry: Entry) -> bool:
        """True while every line so far is sound."""
        if self._reason is not None:
            return False
        try:
            self._check_link(entry)
            self._accounts[entry.account] = self._replay(entry)
            self._revisions[entry.account] = self._revisions.get(entry.account, 0) + 1
        except _Fault as fault:
            self._first_bad, self._reason = self._head.sequence + 1, str(fault)
            return False
        except Exception:  # a field of another type, a text that has no bytes: no line of ours
            self._first_bad, self._reason = self._head.sequence + 1, "edited"
            return False
        self._head = Head(entry.sequence, entry.digest)
        return True

    def result(self, expected: Head | None = None) -> Verification:
        """The verdict; `expected` is a head known from elsewhere, which the chain must end in."""
        head, first_bad, reason = self._head, self._first_bad, self._reason
        if reason is None and expected is not None and expected != head:
            if head.sequence == expected.sequence:
                first_bad, reason = head.sequence, "replaced"
            else:
                reason = "truncated" if head.sequence < expected.sequence else "grown"
                first_bad = min(head.sequence, expected.sequence) + 1
        return Verification(reason is None, head.sequence, head, first_bad, reason)

    def accounts(self) -> dict[str, Account]:
        """The accounts as the sound lines leave them, to compare with what is stored."""
        return {name: replace(account, revision=self._revisions[name]) for name, account in self._accounts.items()}

    def _check_link(self, entry: Entry) -> None:
        if entry.version != VERSION:
            raise _Fault("unknown_version")
        if entry.sequence != self._head.sequence + 1:
            raise _Fault("out_of_sequence")
        if entry.previous != self._head.digest:
            raise _Fault("broken_link")
        if entry.digest != digest_of(entry):
            raise _Fault("edited")

    def _replay(self, entry: Entry) -> Account:
        before = self._accounts.get(entry.account)
        if entry.kind == "open":
            if before is not None:
                raise _Fault("opened_twice")
            after = _opened(entry)
        elif before is None:
            raise _Fault("unknown_account")
        elif entry.kind == "cap":
            after = _capped(before, entry)
        elif entry.kind in ("commit", "void"):
            after = self._settled(before, entry)
        elif entry.kind == "recost":
            after = self._recosted(before, entry)
        else:
            after = self._charged(before, entry)
        if after.spent != entry.totals:
            raise _Fault("wrong_totals")
        return after

    def _charged(self, account: Account, entry: Entry) -> Account:
        key = (entry.account, entry.release or "")
        if entry.kind == "reserve":
            if key in self._reserved:
                raise _Fault("reserved_twice")
            self._reserved[key] = entry.amounts
        regime = _regime(entry)
        if account.spent != ZERO and regime != account.regime:
            raise _Fault("wrong_filter")
        try:
            after = recorded_charge(account, entry.amounts, regime)
        except IntegrityFailure:
            raise _Fault("wrong_amounts") from None
        if after is None:
            raise _Fault("overdrawn")
        try:
            self._shared.charge(account, entry)
        except Unshared:
            raise _Fault("wrong_population") from None
        self._paid.charge(entry)
        return after

    def _recosted(self, account: Account, entry: Entry) -> Account:
        """Only what was paid for good, never below what the same samples cost by their own law under today's bounds."""
        bounds = _facts(entry).get("bounds")
        if type(bounds) is not int or not 1 <= bounds <= BOUNDS:
            raise _Fault("malformed_event")
        release, part = entry.release or "", part_in(entry.event)
        if self._paid.paid(entry.account, release, part) is None:
            raise _Fault("wrong_recost")
        try:
            after = lower(account, entry.amounts.negated())
            self._paid.lower(entry)
        except IntegrityFailure:
            raise _Fault("wrong_recost") from None
        if bounds == BOUNDS and not self._paid.covers_cost(entry.account, release, part):
            raise _Fault("wrong_recost")
        return after

    def _settled(self, account: Account, entry: Entry) -> Account:
        key = (entry.account, entry.release or "")
        if key not in self._reserved:
            raise _Fault("settled_without_reserve")
        reserved = self._reserved[key]
        if reserved is None:
            raise _Fault("settled_twice")
        self._reserved[key] = None
        self._paid.settle(entry)
        if entry.kind == "commit":
            return _unmoved(account, entry)
        if entry.amounts != reserved.negated():
            raise _Fault("wrong_amounts")
        try:
            self._shared.void(account, entry)
            return refund(account, reserved)
        except Unshared:
            raise _Fault("wrong_population") from None
        except IntegrityFailure:
            raise _Fault("negative_balance") from None


def _opened(entry: Entry) -> Account:
    facts = _facts(entry)
    try:
        fresh = open_account(
            facts["dataset"],
            facts["analyst"],
            epsilon=facts["epsilon"],
            delta=facts["delta"],
            slack_delta=facts["slack_delta"],
            population=facts.get("population"),
        )
    except (KeyError, TypeError, PosternError):
        raise _Fault("malformed_event") from None
    if fresh.id != entry.account:
        raise _Fault("malformed_event")
    return _unmoved(_with_recorded(fresh, facts, None), entry)


def _capped(account: Account, entry: Entry) -> Account:
    facts = _facts(entry)
    try:
        after = recorded_cap(account, epsilon=facts["epsilon"], delta=facts["delta"])
    except (KeyError, TypeError, PosternError):
        raise _Fault("malformed_event") from None
    return _unmoved(_with_recorded(after, facts, account.order), entry)


def _with_recorded(account: Account, facts: dict[str, Any], fixed: float | None) -> Account:
    """The account with the order and capacity of its line, which another machine may round otherwise.

    Which order was fixed does not matter to the guarantee, that it stays fixed does; a capacity may not
    exceed the formula's by more than one unit.
    """
    order, capacity = facts.get("order"), facts.get("capacity_nano")
    useless = not account.rest_delta > 0  # earlier versions fixed no order then
    if (order is None and not useless) or (order is not None and order not in ORDERS):
        raise _Fault("malformed_event")
    if fixed is not None and order != fixed:
        raise _Fault("wrong_capacity")
    allowed = capacity_nano(account.epsilon, account.rest_delta, order)
    if type(capacity) is not int or not 0 <= capacity <= allowed + 1:
        raise _Fault("wrong_capacity")
    return replace(account, order=order, capacity_nano=capacity)


def _regime(entry: Entry) -> Regime | None:
    """The filter a charge names. Few do, and events are long: a text without the word is not parsed."""
    if '"filter"' not in entry.event:
        return None
    named = regime_in(_facts(entry))
    if named is None or named == GAUSSIAN:
        return GAUSSIAN if named else None
    if type(named) is not float or named not in ORDERS:
        raise _Fault("malformed_event")
    return named


def _facts(entry: Entry) -> dict[str, Any]:
    try:
        facts = json.loads(entry.event)
    except ValueError:
        raise _Fault("malformed_event") from None
    if not isinstance(facts, dict):
        raise _Fault("malformed_event")
    return facts


def _unmoved(account: Account, entry: Entry) -> Account:
    if entry.amounts != ZERO:
        raise _Fault("wrong_amounts")
    return account
