"""How much an account seems to have spent: a reading for people, never a rule.

Under adaptive use only the cap is a guarantee. Converting the summed curve at its best order, chosen after the
fact, may come out below what a filter would have to promise, so this number is labelled wherever it is shown.
"""

import math
from dataclasses import dataclass

from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.cost import epsilon_of_curve
from app.core.privacy.gaussian import gaussian_epsilon
from app.ledger.account import Account
from app.ledger.amounts import ATTO, CEILING_NANO, NANO, Amounts
from app.ledger.filters import GAUSSIAN


@dataclass(frozen=True, slots=True)
class Reading:
    """`epsilon` at `delta`, infinite where nothing finite is known; `order` None where the pure sum is smaller."""

    epsilon: float
    delta: float
    order: float | None
    pure_epsilon: float | None


def spent_epsilon(account: Account) -> Reading:
    """min over α of Σ D(α) converted at the account's δ less the slack used, or the pure sum if smaller."""
    return reading_of(account.spent, account.delta, gaussian=account.regime == GAUSSIAN)


def reading_of(spent: Amounts, delta: float, *, gaussian: bool = False) -> Reading:
    """`gaussian`: all of it is Gaussian noise, whose own law gives less than any order does."""
    pure_nano = spent.finite_pure_nano
    pure = math.inf if pure_nano is None else pure_nano / NANO
    shown = None if pure_nano is None else pure
    rest = delta - spent.slack_atto / ATTO
    if not rest >= 0:
        return Reading(math.inf, delta, None, shown)
    epsilon, order = epsilon_of_curve(tuple(value / NANO for value in spent.curve_nano), rest)
    if pure <= epsilon:
        return Reading(pure, delta, None, shown)
    if gaussian and (own := gaussian_epsilon(_gaussian_rho(spent), rest)) < epsilon:
        return Reading(own, delta, None, shown)
    return Reading(epsilon, delta, order, shown)


def admitting_epsilon(account: Account) -> float:
    """The smallest ε, at the account's δ, whose filters would hold what is spent; infinite where none does.

    Not a reading: the order is the one in force, fixed before anything was seen. Where a cap was lowered below what is spent,
    this is what was promised before, and still is what holds.
    """
    spent, order, rest = account.spent, account.order_in_force, account.rest_delta
    pure = spent.finite_pure_nano
    found = math.inf if pure is None else pure / NANO
    if account.regime == GAUSSIAN:
        return min(found, gaussian_epsilon(_gaussian_rho(spent), rest))
    if order is None or not rest > 0:
        return found
    return min(found, max(0.0, account.spent_renyi_nano / NANO + conversion_offset(order, rest)) + 2 / NANO)


def _gaussian_rho(spent: Amounts) -> float:
    """From the orders at which nothing was cut off at the ceiling of amounts."""
    known = [
        value / NANO / order for value, order in zip(spent.curve_nano, ORDERS, strict=True) if value < CEILING_NANO
    ]
    return min(known, default=math.inf)
