"""Budgets and costs."""

from dataclasses import dataclass

from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class Budget(Shown):
    """The cap is the guarantee; what is spent is a reading at one order."""

    epsilon: float
    delta: float
    order: float | None
    spent_epsilon: float
    spent_pure_epsilon: float | None
    left_renyi: float
    left_pure_epsilon: float
    slack_delta: float = 0.0
    left_slack_delta: float = 0.0
    guarantee_epsilon: float | None = None
    guarantee: str = "the cap"
    filter: str = "renyi"


@dataclass(frozen=True, slots=True)
class SampleCost:
    epsilon: float
    pure_epsilon: float | None
    renyi: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Cost(Shown):
    epsilon: float
    delta: float
    pure_epsilon: float | None
    per_sample: SampleCost
    charged_epsilon: float | None = None
    """What an account that holds nothing else must have."""
