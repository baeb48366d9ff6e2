"""Accounts and costs as people read them."""

import math

from app.core.mechanisms import ReleaseCost
from app.core.privacy import ORDERS, ZERO_COST, Cost
from app.ledger.account import Account, remaining
from app.ledger.amounts import ATTO, atto_down
from app.ledger.reading import spent_epsilon
from app.services.views import BudgetView, CostView


def budget_view(account: Account) -> BudgetView:
    left = remaining(account)
    reading = spent_epsilon(account)
    return BudgetView(
        epsilon=account.epsilon,
        delta=account.delta,
        order=account.order,
        spent_epsilon=min(reading.epsilon, account.epsilon) if admitted(account) else reading.epsilon,
        spent_pure_epsilon=reading.pure_epsilon,
        left_renyi=left.renyi,
        left_pure_epsilon=left.pure,
        slack_delta=account.slack_delta,
        left_slack_delta=max(0, atto_down(account.slack_delta) - account.spent.slack_atto) / ATTO,
    )


def admitted(account: Account) -> bool:
    """Whether one filter holds in full: then the cap itself bounds what was spent, however the sums convert."""
    pure_holds = account.spent.pure_nano <= account.pure_capacity_nano
    return pure_holds or (account.order is not None and account.spent_renyi_nano <= account.capacity_nano)


def cost_view(cost: ReleaseCost, samples: int, delta: float, held: int = 0) -> CostView:
    """What going from `held` to `samples` samples costs; `per_sample` is zero where samples are free."""
    added = added_cost(cost, held, samples)
    return CostView(
        epsilon=added.epsilon(delta),
        delta=delta,
        pure_epsilon=finite(added.pure),
        per_sample={
            "epsilon": cost.per_sample.epsilon(delta) if cost.per_sample.pure else 0.0,
            "pure_epsilon": finite(cost.per_sample.pure),
            "renyi": [[order, value] for order, value in zip(ORDERS, cost.per_sample.curve, strict=True)],
        },
    )


def added_cost(cost: ReleaseCost, held: int, samples: int) -> Cost:
    if samples <= held:
        return ZERO_COST
    each = cost.per_sample.times(samples - held)
    return each if held else cost.once.plus(each)


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
