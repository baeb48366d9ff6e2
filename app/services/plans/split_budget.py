"""One budget for several releases: what each needs for its accuracy, or how much wider all have to be, by the same factor.

Every trial is charged to an account as the ledger would charge it, release by release in the order they were asked for, by
`app.ledger.account.charge` itself: what fits here fits there. Inside an account ε is no price: what counts is the part of the
filter's capacity, so each release takes the mechanism that is cheapest at the order in force, or by pure ε, whichever leaves
more. Public numbers only.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.core.kinds.accuracy_goal import AccuracySearch, Goal, Offer, Price, cheapest_first
from app.core.privacy import ORDERS
from app.errors import BudgetExhausted
from app.ledger.account import Account, charge, open_account
from app.ledger.amounts import MAX_EPSILON, ZERO, prefix_charge
from app.ledger.reading import spent_epsilon

WIDTH = 0.005
"""To which a common factor is found."""
FREE_FACTOR = 2.0
"""A model without a target of its own is content with answers this many times as wide as without noise."""
FACTOR_MAX = 2.0**20
GROWTH = 3.0
EXCESS_MIN = 1e-4
"""What noise adds at least: the last parts of it cost most, so that the excess is what is looked for, not the whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """`sd` is what has to be reached by formula (`Reached.correction`); `wanted` False: it shares what others leave."""

    search: AccuracySearch
    goal: Goal
    sd: float
    wanted: bool


@dataclass(frozen=True, slots=True)
class Split:
    """`offers[i]` are those of part i, the one taken first. `short_by`: all are so many times wider than wanted; 1: none is.
    `beside`: the other accounts that are charged too, as they would be then."""

    offers: list[list[Offer]]
    account: Account
    short_by: float
    price: Price
    beside: tuple[Account, ...] = ()


def split_within(account: Account, parts: Sequence[Part], beside: Sequence[Account] = ()) -> Split:
    """The best that fits what is left of the account, and of those charged `beside` it. Raises BudgetExhausted where nothing
    does."""

    def at(short_by: float, free: float) -> Split | None:
        factors = [short_by * (1.0 if part.wanted else free) for part in parts]
        return _tried(account, parts, factors, short_by, beside)

    whole = at(1.0, FREE_FACTOR)
    if whole is None:
        found = _least(lambda factor: at(factor, FREE_FACTOR), 1.0, FACTOR_MAX)
        if found is None:
            raise BudgetExhausted("nothing is left that these releases would fit in", account=account.kind)
        return found
    if all(part.wanted for part in parts):
        return whole
    return _least(lambda excess: at(1.0, 1 + excess), EXCESS_MIN, FREE_FACTOR - 1) or whole


def smallest_budget(dataset: str, delta: float, parts: Sequence[Part]) -> tuple[Account, Split] | None:
    """The smallest ε at δ at which every part reaches its target, on an account of its own; None where none is large enough."""
    low, high = 1e-6, float(MAX_EPSILON)

    def at(epsilon: float) -> tuple[Account, Split] | None:
        account = open_account(dataset, epsilon=epsilon, delta=delta)
        split = _tried(account, parts, [1.0] * len(parts), 1.0)
        return None if split is None else (account, split)

    best = at(high)
    if best is None:
        return None
    while high / low > 1 + WIDTH / 5:
        middle = float(f"{math.sqrt(low * high):.4g}")
        if not low < middle < high:
            break
        found = at(middle)
        low, high, best = (middle, high, best) if found is None else (low, middle, found)
    return best


def _least(at: Callable[[float], Split | None], low: float, high: float) -> Split | None:
    """The smallest that fits: grown until one does, then halved on a logarithmic scale."""
    step, best = low, None
    while best is None and step < high:
        low, step = step, min(GROWTH * step, high)
        best = at(step)
    while best is not None and step / low > 1 + WIDTH:
        middle = math.sqrt(low * step)
        found = at(middle)
        low, step, best = (middle, step, best) if found is None else (low, middle, found)
    return best


def _tried(
    account: Account,
    parts: Sequence[Part],
    factors: Sequence[float],
    short_by: float,
    beside: Sequence[Account] = (),
) -> Split | None:
    found = []
    for price in [price for each in (account, *beside) for price in _prices(each, len(parts))]:
        offers = [
            cheapest_first(part.search, part.sd * factor, price) for part, factor in zip(parts, factors, strict=True)
        ]
        if not all(offers):
            continue
        after = [_charged(each, [best for best, *_ in offers]) for each in (account, *beside)]
        charged = [each for each in after if each is not None]
        if len(charged) == len(after):
            found.append(Split(offers, charged[0], short_by, price, tuple(charged[1:])))
    return min(found, key=lambda split: spent_epsilon(split.account).epsilon, default=None)


def _prices(account: Account, parts: int) -> list[Price]:
    order = account.order_in_force
    prices: list[Price] = [lambda cost: cost.pure]
    if account.rest_delta > 0 and order is not None:
        place = ORDERS.index(order)
        prices.append(lambda cost: cost.curve[place])
        if account.spent == ZERO and parts == 1:  # a first charge fixes the filter that suits it
            prices.append(lambda cost: cost.epsilon(account.delta))
    return prices


def _charged(account: Account, offers: Sequence[Offer]) -> Account | None:
    try:
        for offer in offers:
            cost = offer.cost
            amounts = prefix_charge(cost.per_sample, cost.samples, cost.once)
            account = charge(account, amounts, gaussian=cost.gaussian)
    except BudgetExhausted:
        return None
    return account
