"""A refused charge, with what its owner needs to ask for something that fits.

Everything said is made of public numbers: caps, charges and sums of charges.
"""

from collections.abc import Mapping
from typing import Any

from app.core.mechanisms import ReleaseCost
from app.errors import BudgetExhausted
from app.ledger.account import Account, largest_prefix
from app.ledger.amounts import Amounts, atto_down


def explained(
    refusal: BudgetExhausted, *, account: Account, charge: Amounts, cost: ReleaseCost, samples: int, held: int = 0
) -> BudgetExhausted:
    """The same refusal, naming the dataset, the filters that are short and the longest prefix that would fit.

    A charge passes if *one* filter admits it. So a refusal means that both are short, or that the part of δ set
    aside for inexact samplers is. `samples_affordable` equals `samples_held` where nothing more fits.
    """
    fits = largest_prefix(account, cost.per_sample, held, cost.samples, cost.once)
    slack_is_short = account.spent.slack_atto + charge.slack_atto > atto_down(account.slack_delta)
    short = ["slack"] if slack_is_short else ["pure"] if account.order is None else ["renyi", "pure"]
    words = " and ".join(_shortage(refusal.facts, name) for name in short)
    return BudgetExhausted(
        f"{refusal.detail}: {words}; {_advice(fits, held)}",
        **refusal.facts,
        dataset=account.dataset,
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
