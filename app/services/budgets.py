"""Accounts and costs as people read them, and a refused charge with what its owner needs to ask for something that fits."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.kinds.plan_figures import finite
from app.core.privacy import ORDERS, ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.errors import BudgetExhausted
from app.ledger.account import Account, largest_prefix, remaining, within_cap
from app.ledger.amounts import ATTO, Amounts, atto_down
from app.ledger.filters import GAUSSIAN
from app.ledger.reading import admitting_epsilon, spent_epsilon
from app.services.views import BudgetView, CostView


def budget_view(account: Account) -> BudgetView:
    left = remaining(account)
    reading = spent_epsilon(account)
    holds = within_cap(account)
    return BudgetView(
        epsilon=account.epsilon,
        delta=account.delta,
        guarantee_epsilon=guarantee_epsilon(account),
        guarantee="the cap" if holds else "what was spent before the cap was lowered",
        order=account.order_in_force if account.rest_delta > 0 else None,
        filter=_filter(account),
        spent_epsilon=min(reading.epsilon, account.epsilon) if holds else reading.epsilon,
        spent_pure_epsilon=reading.pure_epsilon,
        left_renyi=left.renyi,
        left_pure_epsilon=left.pure,
        slack_delta=account.slack_delta,
        left_slack_delta=max(0, atto_down(account.slack_delta) - account.spent.slack_atto) / ATTO,
    )


def guarantee_epsilon(account: Account) -> float | None:
    """What holds at the account's δ for all it admitted: its cap, or more where that was lowered below what is spent.

    None where nothing finite does: δ was lowered to 0 after it was used.
    """
    if within_cap(account):
        return account.epsilon
    return finite(max(account.epsilon, admitting_epsilon(account)))


def _filter(account: Account) -> str:
    if not account.rest_delta > 0:
        return "pure"
    return "gaussian" if account.regime == GAUSSIAN else "renyi"


def cost_view(cost: ReleaseCost, samples: int, delta: float, held: int = 0) -> CostView:
    """What going from `held` to `samples` samples costs; `per_sample` is zero where samples are free.

    From nothing it is what is known of them alone; a difference stands beside what is held, and only curves add. What an
    account must hold is what its curve comes to, either way.
    """
    added = added_cost(cost, held, samples)
    charged = added.epsilon(delta)
    return CostView(
        epsilon=charged if held else added.alone(delta),
        charged_epsilon=charged,
        delta=delta,
        pure_epsilon=finite(added.pure),
        per_sample={
            "epsilon": cost.per_sample.alone(delta) if cost.per_sample.pure else 0.0,
            "pure_epsilon": finite(cost.per_sample.pure),
            "renyi": [[order, value] for order, value in zip(ORDERS, cost.per_sample.curve, strict=True)],
        },
    )


def several_view(added: Cost, delta: float) -> CostView:
    """What parts of several models add together; samples of some may be free, of others not."""
    nothing = {"epsilon": 0.0, "pure_epsilon": 0.0, "renyi": [[order, 0.0] for order in ORDERS]}
    charged = added.epsilon(delta)
    return CostView(charged, charged, delta, finite(added.pure), nothing)


def once_view(cost: Cost, delta: float) -> dict[str, Any]:
    """A part of a release that is charged once, by itself."""
    return {"epsilon": cost.epsilon(delta), "delta": delta, "pure_epsilon": finite(cost.pure)}


def added_cost(cost: ReleaseCost, held: int, samples: int) -> Cost:
    if samples <= held:
        return ZERO_COST
    each = cost.per_sample.times(samples - held)
    return each if held else cost.once.plus(each)


def explained(
    refusal: BudgetExhausted,
    *,
    account: Account,
    charge: Amounts,
    cost: ReleaseCost,
    samples: int,
    held: int = 0,
    among: Sequence[Account] = (),
    dataset: str | None = None,
) -> BudgetExhausted:
    """The same refusal, naming the dataset, the filters that are short and the longest prefix that would fit: in this account, or
    in all of those it is `among`.

    A charge passes if *one* filter admits it. So a refusal means that both are short, or that the part of δ set
    aside for inexact samplers is. `samples_affordable` equals `samples_held` where nothing more fits.
    """
    fits = min(largest_prefix(each, cost.per_sample, held, cost.samples, cost.once) for each in among or (account,))
    slack_is_short = account.spent.slack_atto + charge.slack_atto > atto_down(account.slack_delta)
    short = ["slack"] if slack_is_short else ["renyi", "pure"] if account.rest_delta > 0 else ["pure"]
    words = " and ".join(_shortage(refusal.facts, name) for name in short)
    if account.regime == GAUSSIAN and not cost.gaussian:
        words = "it holds Gaussian noise only, for ever, because its first charge took nearly all of it as such"
    return BudgetExhausted(
        f"{refusal.detail}: {words}; {_advice(fits, held)}",
        **refusal.facts,
        dataset=dataset or account.dataset,
        **({} if account.population is None else {"population": account.population}),
        short=short,
        samples_asked=samples,
        samples_held=held,
        samples_affordable=fits,
    )


def _shortage(facts: Mapping[str, Any], name: str) -> str:
    if name == "slack":
        return "the part of δ set aside for inexact samplers is used up"
    asked, left = facts[f"asked_{name}"], facts[f"remaining_{name}"]
    return f"{name} needs {'more than any budget' if asked is None else f'{asked:.6g}'} and has {left:.6g} left"


def _advice(fits: int, held: int) -> str:
    if fits > held:
        return f"{fits} samples would fit"
    if held:
        return f"nothing fits beyond the {held} samples already paid for, which stay readable"
    return "no sample fits; POST /v1/plans shows what a lower temperature or another mechanism costs"
