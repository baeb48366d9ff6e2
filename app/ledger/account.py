"""A privacy budget as a filter: which charges an account admits, whatever was seen before.

An account fixes **one** Rényi order α* when it is opened, the one where (ε, δ) buys most of a cost shaped like
ρ·α: α* = argmax c(α)/α with c(α) = ε − ln(1−1/α) + ln(δ′α)/(α−1). Its capacity c(α*) bounds Σ D(α*), and beside
it Σ pure ≤ ε is checked. Neighbours: the same number of people, one person's data replaced.

Either filter admits, and that is sound though the choice may depend on everything released so far. Call a
transcript *pure* if its pure sum is at most ε, *Rényi* if its sum at α* is at most c. Sums only grow, and the
last admitted charge passed one filter with the whole sum so far, so every transcript is pure or Rényi. On pure
transcripts the privacy loss is at most ε point by point, hence they add nothing to E[(1 − exp(ε − loss))₊]. On
the others the run never left the Rényi filter, so they are also transcripts, with the same loss, of the run that
halts at the first charge outside it; that run is (ε, δ′) by the single-order filter, hence they add at most δ′.
(With two Rényi orders the second part would be paid twice. That is why there is only one.)

δ-slack of inexact samplers is set aside when the account is opened: δ′ = δ − σ and Σ slack ≤ σ. Taking
δ′ = δ − Σ slack at the time of the charge would let slack be spent exactly on those transcripts where the
Rényi part is unlikely to be, up to 2δ in all: the split has to be as fixed as the order is.
"""

import math
from dataclasses import dataclass, replace

from app.core.privacy import ORDERS, ZERO_COST, Cost, conversion_offset
from app.errors import BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.amounts import (
    CEILING_NANO,
    MAX_EPSILON,
    NANO,
    ZERO,
    Amounts,
    atto_down,
    nano_down,
    upgrade_charge,
)


@dataclass(frozen=True, slots=True)
class Account:
    """A dataset's budget for everyone together (`analyst` None), or one analyst's cap on that dataset.

    `revision` counts the postings so far; storage refuses to save an account over a newer one.
    """

    id: str
    dataset: str
    analyst: str | None
    epsilon: float
    delta: float
    slack_delta: float
    order: float | None
    capacity_nano: int
    pure_capacity_nano: int
    spent: Amounts = ZERO
    revision: int = 0

    @property
    def kind(self) -> str:
        return "dataset" if self.analyst is None else "analyst"

    @property
    def spent_renyi_nano(self) -> int:
        """Σ D(α*); 0 for an account without a Rényi filter (δ = 0)."""
        return 0 if self.order is None else self.spent.curve_nano[ORDERS.index(self.order)]

    @property
    def spent_pure_nano(self) -> int | None:
        return self.spent.finite_pure_nano


def account_id(dataset: str, analyst: str | None = None) -> str:
    return dataset if analyst is None else f"{analyst}@{dataset}"


def open_account(
    dataset: str, analyst: str | None = None, *, epsilon: float, delta: float, slack_delta: float = 0.0
) -> Account:
    """A new account with its order fixed. `slack_delta` is the part of δ kept for inexact samplers."""
    _check_budget(epsilon, delta, slack_delta)
    order = best_order(epsilon, delta - slack_delta)
    return Account(
        id=account_id(dataset, analyst),
        dataset=dataset,
        analyst=analyst,
        epsilon=epsilon,
        delta=delta,
        slack_delta=slack_delta,
        order=order,
        capacity_nano=capacity_nano(epsilon, delta - slack_delta, order),
        pure_capacity_nano=nano_down(epsilon),
    )


def with_cap(account: Account, *, epsilon: float, delta: float) -> Account:
    """The same account under another cap. The order stays as it was fixed, and what is spent stays spent.

    A cap below what is spent is allowed: nothing more is admitted. An account opened with δ = 0 never used an
    order, so its first positive δ fixes one. The part of δ set aside stays too: were it lowered with δ, raising δ again
    would hand it to the Rényi filter, after slack was spent. So δ stays at least that, and ε is what lowers a cap.
    """
    if delta < account.slack_delta:
        least = f"at least {account.slack_delta:g}, the part of it kept for inexact samplers; lower epsilon instead"
        raise InvalidInput("delta", least)
    return recorded_cap(account, epsilon=epsilon, delta=delta)


def recorded_cap(account: Account, *, epsilon: float, delta: float) -> Account:
    """As `with_cap`, for lines on record: earlier versions let σ fall with δ, and their lines still have to verify."""
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


def best_order(epsilon: float, delta: float) -> float | None:
    """argmax over the public orders of c(α)/α, the smallest if several; None without any δ."""
    if not delta > 0:
        return None
    return float(max(ORDERS, key=lambda order: (epsilon - conversion_offset(order, delta)) / order))


def capacity_nano(epsilon: float, delta: float, order: float | None) -> int:
    """c(α) = ε − ln(1−1/α) + ln(δα)/(α−1), clamped at 0.

    One unit is kept back: it is more than the logarithms can be wrong by, so rounding never lends budget.
    """
    if order is None or not delta > 0:
        return 0
    capacity = max(0.0, epsilon - conversion_offset(order, delta))
    return max(0, min(nano_down(capacity), CEILING_NANO - 1) - 1)


def admits(account: Account, charge: Amounts) -> bool:
    """True if the charge passes one of the two filters and its slack fits what was set aside.

    Sums are exact, so that a void is exact too, and have 63 bits: after 9,223 charges without a finite pure bound, each
    admitted by the Rényi filter, the next is refused like any other that does not fit.
    """
    if not charge.is_charge:
        raise IntegrityFailure("a charge cannot be negative")
    try:
        after = account.spent.plus(charge)
    except IntegrityFailure:
        return False
    if after.slack_atto > atto_down(account.slack_delta):
        return False
    if after.pure_nano <= account.pure_capacity_nano:
        return True
    order = account.order
    return order is not None and after.curve_nano[ORDERS.index(order)] <= account.capacity_nano


def charge(account: Account, amounts: Amounts) -> Account:
    """The account after an admitted charge; `BudgetExhausted` says what is left otherwise."""
    if admits(account, amounts):
        return replace(account, spent=account.spent.plus(amounts))
    left = remaining(account)
    asked_pure = amounts.finite_pure_nano
    raise BudgetExhausted(
        f"the {account.kind} budget does not cover this charge",
        account=account.kind,
        order=account.order,
        asked_pure=None if asked_pure is None else asked_pure / NANO,
        asked_renyi=None if account.order is None else amounts.curve_nano[ORDERS.index(account.order)] / NANO,
        remaining_pure=left.pure,
        remaining_renyi=left.renyi,
        remaining_slack=left.slack_delta,
    )


def refund(account: Account, amounts: Amounts) -> Account:
    """The exact inverse of `charge`, for a reservation that released nothing. The ledger allows it once."""
    after = account.spent.minus(amounts)
    if not amounts.is_charge or not after.is_charge:
        raise IntegrityFailure("an account cannot be refunded more than it was charged")
    return replace(account, spent=after)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What each filter still admits on its own, in nats rounded down: `renyi` at the account's order."""

    pure: float
    renyi: float
    order: float | None
    slack_delta: float


def remaining(account: Account) -> Remaining:
    pure = max(0, account.pure_capacity_nano - account.spent.pure_nano)
    renyi = max(0, account.capacity_nano - account.spent_renyi_nano)
    slack = max(0, atto_down(account.slack_delta) - account.spent.slack_atto)
    return Remaining(_nats(pure), _nats(renyi), account.order, slack / 10**18)


def largest_prefix(account: Account, per_sample: Cost, held: int, limit: int, once: Cost = ZERO_COST) -> int:
    """The longest prefix, at most `limit`, that an owner of `held` samples could still buy; `held` if none.

    Charges grow with the prefix, so the answer is found by bisection.
    """
    low, high = held, max(held, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if admits(account, upgrade_charge(per_sample, held, middle, once)):
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
