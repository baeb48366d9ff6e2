"""The seven things that can happen to an account, each as a new account and the line that records it.

Pure: storage seals a posting into the chain and saves its account in one transaction. The verifier replays
sealed lines through the same account rules.
"""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.ledger.account import Account, charge, lower, refund, with_cap
from app.ledger.amounts import ZERO, Amounts, nano_down
from app.ledger.canonical import NEIGHBOURS, canonical_json, event_under, population_in, regime_in
from app.ledger.entry import CHARGES, EntryKind


@dataclass(frozen=True, slots=True)
class Posting:
    """`account` is the state afterwards; its revision is one more than the state it was made from."""

    account: Account
    kind: EntryKind
    release: str | None
    amounts: Amounts
    event: str
    actor: str
    reason: str
    at_us: int


def open_posting(account: Account, *, actor: str, reason: str, at_us: int) -> Posting:
    """The first line of an account: the budget, the order fixed for it and the capacity that follows."""
    return _posting(account, "open", None, ZERO, cap_event(account), actor, reason, at_us)


def _charge_posting(
    kind: EntryKind,
    account: Account,
    release: str,
    amounts: Amounts,
    *,
    event: str,
    actor: str,
    reason: str,
    at_us: int,
    gaussian: bool = False,
) -> Posting:
    """`BudgetExhausted` if no filter admits it. `gaussian`: all of it is Gaussian noise."""
    after = charge(account, amounts, gaussian=gaussian)
    return _posting(after, kind, release, amounts, event_under(event, after.regime), actor, reason, at_us)


reserve_posting = partial(_charge_posting, "reserve")
"""Charge a dataset, or its population, before anything is read."""
access_posting = partial(_charge_posting, "access")
"""Charge an analyst for a prefix, or for the difference to a longer one."""


def commit_posting(account: Account, release: str, *, actor: str, reason: str, at_us: int) -> Posting:
    """The reservation became a charge for good: samples are stored. Moves nothing."""
    return _posting(account, "commit", release, ZERO, "{}", actor, reason, at_us)


def void_posting(account: Account, release: str, reserved: Amounts, *, actor: str, reason: str, at_us: int) -> Posting:
    """Take a reservation back, for a failure that cannot depend on the data and stored nothing."""
    after = refund(account, reserved)
    return _posting(after, "void", release, reserved.negated(), "{}", actor, reason, at_us)


def recost_posting(
    account: Account, release: str, lowered: Amounts, *, event: str, actor: str, reason: str, at_us: int
) -> Posting:
    """What a release was charged falls by `lowered`, to what it costs by its own law under today's bounds."""
    after = lower(account, lowered)
    return _posting(after, "recost", release, lowered.negated(), event, actor, reason, at_us)


def cap_posting(account: Account, *, epsilon: float, delta: float, actor: str, reason: str, at_us: int) -> Posting:
    """Another cap from here on; the order and what is spent stay."""
    after = with_cap(account, epsilon=epsilon, delta=delta)
    return _posting(after, "cap", None, ZERO, cap_event(after), actor, reason, at_us)


def cap_event(account: Account) -> str:
    facts: dict[str, Any] = {
        "analyst": account.analyst,
        "capacity_nano": account.capacity_nano,
        "dataset": account.dataset,
        "delta": account.delta,
        "epsilon": account.epsilon,
        "neighbours": NEIGHBOURS,
        "order": account.order,
        "slack_delta": account.slack_delta,
    }
    return canonical_json(facts if account.population is None else facts | {"population": account.population})


def continues(posting: Posting, totals: Amounts | None, cap: str | None, charged: str | None) -> bool:
    """Whether a posting was made from the account its lines leave: `totals` of the account's last line, `cap`, the event of
    its last `open` or `cap` line, and `charged`, that of its last charge, if anything is spent. Balances are kept in a table
    of their own, where an edit leaves no trace.

    Facts are compared as numbers: what was opened with 3 is read back from the table as 3.0.
    """
    after = posting.account
    if totals is None or cap is None:
        return posting.kind == "open" and totals is None and cap is None
    if posting.kind == "open" or totals.plus(posting.amounts) != after.spent:
        return False
    if after.pure_capacity_nano != nano_down(after.epsilon) or not _keeps_regime(posting, totals, charged):
        return False
    if not _keeps_population(posting, totals, charged):
        return False
    found, told = json.loads(cap), json.loads(cap_event(after))
    kept = ["dataset", "analyst", "slack_delta"]
    if posting.kind != "cap":
        kept += ["epsilon", "delta", "order", "capacity_nano"]
    elif found["order"] is not None:
        kept.append("order")
    return all(found.get(name) == told.get(name) for name in ["population", *kept])


def _keeps_regime(posting: Posting, totals: Amounts, charged: str | None) -> bool:
    """Every charge names the filter its account was left under; only one to an empty account may have chosen it."""
    after = posting.account
    if after.spent == ZERO:
        return after.regime is None
    if totals == ZERO:
        return posting.kind in CHARGES
    return charged is not None and bool(after.regime == regime_in(json.loads(charged)))


def _keeps_population(posting: Posting, totals: Amounts, charged: str | None) -> bool:
    """What was once charged to a population too is charged to it for ever, whatever the dataset's row says."""
    if posting.kind not in CHARGES or totals == ZERO or charged is None:
        return True
    return bool(population_in(json.loads(posting.event)) == population_in(json.loads(charged)))


def _posting(
    account: Account,
    kind: EntryKind,
    release: str | None,
    amounts: Amounts,
    event: str,
    actor: str,
    reason: str,
    at_us: int,
) -> Posting:
    after = replace(account, revision=account.revision + 1)
    return Posting(after, kind, release, amounts, event, actor, reason, at_us)
