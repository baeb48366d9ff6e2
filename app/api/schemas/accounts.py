"""Budgets and costs, shared by datasets, releases, access and caps."""

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from app.api.schemas.shapes import Amount, Answer, Delta, Epsilon, Slack
from app.core.specs import Spec

BUDGET: JsonDict = {
    "epsilon": 3.0,
    "delta": 1e-6,
    "guarantee_epsilon": 3.0,
    "guarantee": "the cap",
    "filter": "renyi",
    "order": 12.0,
    "spent_epsilon": 0.62,
    "spent_pure_epsilon": 588.9,
    "left_renyi": 1.17,
    "left_pure_epsilon": 0.0,
    "slack_delta": 0.0,
    "left_slack_delta": 0.0,
}
COST: JsonDict = {
    "epsilon": 0.6,
    "charged_epsilon": 0.62,
    "delta": 1e-6,
    "pure_epsilon": 588.9,
    "per_sample": {"epsilon": 0.05, "pure_epsilon": 5.889, "renyi": [[2.0, 0.0009], [8.0, 0.0041]]},
}


class BudgetBody(Spec):
    """A cap on the privacy loss of everyone together."""

    epsilon: Epsilon
    delta: Delta


class OpenedBudgetBody(BudgetBody):
    """`slack_delta` is the part of δ kept for samplers that are exact only up to a declared probability."""

    slack_delta: Slack = 0.0


class Budget(Answer):
    """The cap is the guarantee, as long as it is not below what is spent. What is spent is a reading: converted at one order,
    after adaptive choices."""

    epsilon: Amount
    delta: Amount
    guarantee_epsilon: Amount | None = Field(
        description="What holds at `delta` for everything admitted: the cap, or more where the cap was lowered below what is "
        "spent; null where nothing finite holds at that δ any more."
    )
    guarantee: str = Field(description="Where `guarantee_epsilon` comes from, in words.")
    filter: Literal["renyi", "gaussian", "pure"] = Field(
        description="What admits charges beside the pure filter: Rényi sums at `order`; `gaussian`, for ever Gaussian noise "
        "only, because the first charge needed it; or nothing, without a δ."
    )
    order: float | None = Field(
        description="The Rényi order fixed when the account was opened, or by its first charge; null if only the pure "
        "filter can admit."
    )
    spent_epsilon: Amount
    spent_pure_epsilon: Amount | None = Field(description="null once something without a pure bound was charged.")
    left_renyi: Amount = Field(description="Rényi capacity left at `order`, rounded down.")
    left_pure_epsilon: Amount = Field(description="What the pure filter still admits, rounded down.")
    slack_delta: Amount = Field(description="The part of δ kept, when the account was opened, for inexact samplers.")
    left_slack_delta: Amount = Field(description="What of it is left, rounded down.")


class SampleCost(Answer):
    """One sample's cost: what each further sample of a prefix adds. Zero where samples are free and the release is paid
    for once."""

    epsilon: Amount
    pure_epsilon: Amount | None
    renyi: list[tuple[float, float]] = Field(description="Pairs of order α and D_α; curves add, ε does not.")


class Cost(Answer):
    epsilon: Amount = Field(description="What is promised by itself, at the dataset's δ.")
    charged_epsilon: Amount = Field(
        description="What an account that holds nothing else must have: curves are charged, because they add up, and may "
        "come to a little more than the release promises by itself."
    )
    delta: Amount
    pure_epsilon: Amount | None = Field(description="null if no pure bound exists.")
    per_sample: SampleCost
