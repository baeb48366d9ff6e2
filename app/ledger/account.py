"""A privacy budget as a filter: which charges an account admits, whatever was seen before.

An account fixes **one** Rényi order α* when it is opened, the one where (ε, δ) buys most of a cost shaped like
ρ·α: α* = argmax c(α)/α with c(α) = ε − ln(1−1/α) + ln(δ′α)/(α−1). Its capacity c(α*) bounds Σ D(α*), and beside
it Σ pure ≤ ε is checked: either admits. A first charge that neither admits may fix another filter, for ever. Why all of this is
sound though every choice may depend on everything released so far is proven in `filters.py`.

δ-slack of inexact samplers is set aside when the account is opened: δ′ = δ − σ and Σ slack ≤ σ. Taking
δ′ = δ − Σ slack at the time of the charge would let slack be spent exactly on those transcripts where the
Rényi part is unlikely to be, up to 2δ in all: the split has to be as fixed as the order is.
"""

import math
from dataclasses import dataclass, replace

from app.core.privacy import ORDERS, ZERO_COST, Cost
from app.errors import BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.amounts import MAX_EPSILON, NANO, ZERO, Amounts, atto_down, nano_down, upgrade_charge
from app.ledger.filters import (
    GAUSSIAN,
    LATE_ORDER,
    UNUSED_DELTA,
    Regime,
    best_order,
    capacity_nano,
    first_regime,
    regime_capacity_nano,
)


@dataclass(frozen=True, slots=True)
class Account:
    """A dataset's budget for everyone together (`analyst` None), one analyst's cap on that dataset, or a population's budget
    for all of its datasets together (`dataset` None).

    `order` and `capacity_nano` are those of the opening and the last cap; `regime` is what the first standing charge fixed
    instead, if it did. `revision` counts the postings so far; storage refuses to save an account over a newer one.
    """

    id: str
    dataset: str | None
    analyst: str | None
    epsilon: float
    delta: float
    slack_delta: float
    order: float | None
    capacity_nano: int
    pure_capacity_nano: int
    spent: Amounts = ZERO
    revision: int = 0
    regime: Regime | None = None
    population: str | None = None

    @property
    def rest_delta(self) -> float:
        """δ′: what is not kept for inexact samplers."""
        return self.delta - self.slack_delta

    @property
    def order_in_force(self) -> float | None:
        """Where the filter beside the pure one takes its sum."""
        return self.order if self.regime is None or self.regime == GAUSSIAN else float(self.regime)

    @property
    def capacity_in_force_nano(self) -> int:
        if self.regime is None:
            return self.capacity_nano
        return regime_capacity_nano(self.epsilon, self.rest_delta, self.order, self.regime)

    @property
    def kind(self) -> str:
        if self.population is not None:
            return "population"
        return "dataset" if self.analyst is None else "analyst"

    @property
    def spent_renyi_nano(self) -> int:
        """Σ D(α) at the order in force; 0 for an account of an earlier version without any (δ = 0)."""
        order = self.order_in_force
        return 0 if order is None else self.spent.curve_nano[ORDERS.index(order)]

    @property
    def spent_pure_nano(self) -> int | None:
        return self.spent.finite_pure_nano


def account_id(dataset: str, analyst: str | None = None) -> str:
    return dataset if analyst is None else f"{analyst}@{dataset}"


def open_account(
    dataset: str | None,
    analyst: str | None = None,
    *,
    epsilon: float,
    delta: float,
    slack_delta: float = 0.0,
    population: str | None = None,
) -> Account:
    """A new account with its order fixed: of a dataset, an analyst on it, or else a population. `slack_delta` is the part of δ
    kept for inexact samplers.

    Without any δ the order has no use yet; it is fixed all the same, for `UNUSED_DELTA`: a later cap may bring a δ after
    releases were seen, and must not choose then.
    """
    _check_budget(epsilon, delta, slack_delta)
    if (dataset is None) == (population is None) or (analyst is not None and dataset is None):
        raise IntegrityFailure("an account is of a dataset, of an analyst on one, or of a population")
    order = best_order(epsilon, delta - slack_delta) or best_order(epsilon, UNUSED_DELTA)
    return Account(
        id=str(population) if dataset is None else account_id(dataset, analyst),
        dataset=dataset,
        analyst=analyst,
        epsilon=epsilon,
        delta=delta,
        slack_delta=slack_delta,
        order=order,
        capacity_nano=capacity_nano(epsilon, delta - slack_delta, order),
        pure_capacity_nano=nano_down(epsilon),
        population=population,
    )


def with_cap(account: Account, *, epsilon: float, delta: float) -> Account:
    """The same account under another cap. The order stays as it was fixed, and what is spent stays spent.

    A cap below what is spent is allowed: nothing more is admitted. The part of δ set aside stays too: were it lowered with δ,
    raising δ again would hand it to the Rényi filter, after slack was spent. So δ stays at least that, and ε is what lowers
    a cap. Accounts that an earlier version opened without δ, and used, get a constant order with their first.
    """
    if delta < account.slack_delta:
        least = f"at least {account.slack_delta:g}, the part of it kept for inexact samplers; lower epsilon instead"
        raise InvalidInput("delta", least)
    after = recorded_cap(account, epsilon=epsilon, delta=delta)
    if account.order is None and account.spent != ZERO and after.order is not None:
        return replace(after, order=LATE_ORDER, capacity_nano=capacity_nano(epsilon, after.rest_delta, LATE_ORDER))
    return after


def recorded_cap(account: Account, *, epsilon: float, delta: float) -> Account:
    """As `with_cap`, for lines on record: earlier versions let σ fall with δ and fixed an order with the first δ, and their
    lines still have to verify."""
    slack_delta = min(account.slack_delta, delta)
    _check_budget(epsilon, delta, slack_delta)
    order = account.order if account.order is not None else best_order(epsilon, delta - slack_delta)
    return replace(
        account,
        epsilon=epsilon,
        delta=delta,
        slack_delta=slack_delta,
        order=order,
        capacity_nano=capacity_nano(epsilon, delta - slack_delta, order),
        pure_capacity_nano=nano_down(epsilon),
    )


def admits(account: Account, charge: Amounts, *, gaussian: bool = False) -> bool:
    """True if the charge passes one filter and its slack fits what was set aside. `gaussian`: it is all Gaussian noise.

    Sums are exact, so that a void is exact too, and have 63 bits: after 9,223 charges without a finite pure bound, each
    admitted by the Rényi filter, the next is refused like any other that does not fit.
    """
    return _admitted(account, charge, gaussian) is not None


def charge(account: Account, amounts: Amounts, *, gaussian: bool = False) -> Account:
    """The account after an admitted charge; `BudgetExhausted` says what is left otherwise."""
    after = _admitted(account, amounts, gaussian)
    if after is not None:
        return after
    left = remaining(account)
    asked_pure = amounts.finite_pure_nano
    order = account.order_in_force
    raise BudgetExhausted(
        f"the {account.kind} budget does not cover this charge",
        account=account.kind,
        order=order,
        asked_pure=None if asked_pure is None else asked_pure / NANO,
        asked_renyi=None if order is None else amounts.curve_nano[ORDERS.index(order)] / NANO,
        remaining_pure=left.pure,
        remaining_renyi=left.renyi,
        remaining_slack=left.slack_delta,
    )


def recorded_charge(account: Account, amounts: Amounts, regime: Regime | None) -> Account | None:
    """As `charge`, for a line that says which filter it came under; None if it does not pass that one.

    A first charge may have fixed any: that is no choice that data had a part in. Capacities of other machines may be rounded
    otherwise, by a unit at most.
    """
    if account.spent == ZERO:
        account = replace(account, regime=regime)
    elif regime != account.regime:
        return None
    after = _with_slack(account, amounts)
    if after is None or not _holds(after, spare_nano=0 if regime is None else 1):
        return None
    return replace(after, regime=None) if after.spent == ZERO else after


def _admitted(account: Account, amounts: Amounts, gaussian: bool) -> Account | None:
    """The account afterwards, with what a first charge fixes; None if nothing admits it."""
    after = _with_slack(account, amounts)
    if after is None:
        return None
    if (gaussian or account.regime != GAUSSIAN) and _holds(after):
        return after
    if account.spent != ZERO:
        return None
    regime = first_regime(account.epsilon, account.rest_delta, account.order, amounts, gaussian)
    return None if regime is None else replace(after, regime=regime)


def _with_slack(account: Account, amounts: Amounts) -> Account | None:
    if not amounts.is_charge:
        raise IntegrityFailure("a charge cannot be negative")
    try:
        after = account.spent.plus(amounts)
    except IntegrityFailure:
        return None
    return None if after.slack_atto > atto_down(account.slack_delta) else replace(account, spent=after)


def _holds(account: Account, spare_nano: int = 0) -> bool:
    """Whether one of its two filters holds what it has spent."""
    if account.spent.pure_nano <= account.pure_capacity_nano:
        return True
    return (
        account.order_in_force is not None and account.spent_renyi_nano <= account.capacity_in_force_nano + spare_nano
    )


def within_cap(account: Account) -> bool:
    """False for a cap that was lowered below what is spent: then it is no guarantee."""
    return _holds(account)


def refund(account: Account, amounts: Amounts) -> Account:
    """The exact inverse of `charge`, for a reservation that released nothing. The ledger allows it once."""
    after = account.spent.minus(amounts)
    if not amounts.is_charge or not after.is_charge:
        raise IntegrityFailure("an account cannot be refunded more than it was charged")
    return replace(account, spent=after, regime=None if after == ZERO else account.regime)


def lower(account: Account, amounts: Amounts) -> Account:
    """Less on the books for the same releases, under tighter bounds. Which filter is in force stays: releases were seen."""
    after = account.spent.minus(amounts)
    if not amounts.is_charge or not after.is_charge or after == ZERO != account.spent:
        raise IntegrityFailure("what was released costs something")
    return replace(account, spent=after)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What each filter still admits on its own, in nats rounded down: `renyi` at the order in force."""

    pure: float
    renyi: float
    order: float | None
    slack_delta: float


def remaining(account: Account) -> Remaining:
    pure = max(0, account.pure_capacity_nano - account.spent.pure_nano)
    renyi = max(0, account.capacity_in_force_nano - account.spent_renyi_nano)
    slack = max(0, atto_down(account.slack_delta) - account.spent.slack_atto)
    return Remaining(_nats(pure), _nats(renyi), account.order_in_force, slack / 10**18)


def largest_prefix(account: Account, per_sample: Cost, held: int, limit: int, once: Cost = ZERO_COST) -> int:
    """The longest prefix, at most `limit`, that an owner of `held` samples could still buy; `held` if none.

    Charges grow with the prefix, so the answer is found by bisection.
    """
    low, high = held, max(held, limit)
    gaussian = once.gaussian and per_sample.gaussian
    while low < high:
        middle = (low + high + 1) // 2
        if admits(account, upgrade_charge(per_sample, held, middle, once), gaussian=gaussian):
            low = middle
        else:
            high = middle - 1
    return low


def _nats(nano: int) -> float:
    """The largest float not above nano · 10⁻⁹."""
    value = nano / NANO
    numerator, denominator = value.as_integer_ratio()
    return value if numerator * NANO <= nano * denominator else math.nextafter(value, 0.0)


def _check_budget(epsilon: float, delta: float, slack_delta: float) -> None:
    if not 0 <= epsilon <= MAX_EPSILON:
        raise InvalidInput("budget.epsilon", f"a number from 0 to {MAX_EPSILON}")
    if not 0 <= delta < 1:
        raise InvalidInput("budget.delta", "a number from 0 to below 1")
    if not 0 <= slack_delta <= delta:
        raise InvalidInput("budget.slack_delta", "a part of delta")
