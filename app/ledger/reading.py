"""How much an account seems to have spent: a reading for people, never a rule.

Under adaptive use only the cap is a guarantee. Converting the summed curve at its best order, chosen after the
fact, may come out below what a filter would have to promise, so this number is labelled wherever it is shown.
"""

import math
from dataclasses import dataclass

from app.core.privacy.cost import epsilon_of_curve
from app.ledger.account import Account
from app.ledger.amounts import ATTO, NANO, Amounts


@dataclass(frozen=True, slots=True)
class Reading:
    """`epsilon` at `delta`, infinite where nothing finite is known; `order` None where the pure sum is smaller."""

    epsilon: float
    delta: float
    order: float | None
    pure_epsilon: float | None


def spent_epsilon(account: Account) -> Reading:
    """min over α of Σ D(α) converted at the account's δ less the slack used, or the pure sum if smaller."""
    return reading_of(account.spent, account.delta)


def reading_of(spent: Amounts, delta: float) -> Reading:
    pure_nano = spent.finite_pure_nano
    pure = math.inf if pure_nano is None else pure_nano / NANO
    shown = None if pure_nano is None else pure
    rest = delta - spent.slack_atto / ATTO
    if not rest >= 0:
        return Reading(math.inf, delta, None, shown)
    epsilon, order = epsilon_of_curve(tuple(value / NANO for value in spent.curve_nano), rest)
    if pure <= epsilon:
        return Reading(pure, delta, None, shown)
    return Reading(epsilon, delta, order, shown)
