"""What is claimed of two laws P and Q of neighbours, and what it implies: for every function of an output, one inequality.

A payoff Y = left(x) − right(y) of draws x of P and y of Q has mean at most 0 whatever the function, if the claim is true:

  pure, (ε,δ)   f(x) − e^ε·f(y) − δ,  f into [0, 1]
  KL ≤ c        g(x) − (e^{g(y)} − 1) − c,  g bounded                               (Donsker and Varadhan, its tangent)
  D_α ≤ c       s·e^{(α−1)g(x)}/u − (s−1) − e^{c + αg(y)}/u^s,  s = α/(α−1), any u > 0   (variational formula, its tangent)

`cost` is what is charged: ε, or c. A claim of order 1 is one of KL.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidAudit

Array = NDArray[np.float64]

COST_MAX = 1e4
ORDER_MAX = 1e4
EXPONENT_MAX = 500.0


@dataclass(frozen=True, slots=True)
class Approximate:
    """Pure ε where `delta` is 0."""

    cost: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check(self.cost)
        if not 0 <= self.delta < 1:
            raise InvalidAudit("claim.delta", "a number from 0 to below 1")

    @property
    def kind(self) -> Literal["pure", "approximate"]:
        return "approximate" if self.delta > 0 else "pure"

    def costing(self, cost: float) -> "Approximate":
        return replace(self, cost=cost)

    def sides(self, f_x: Array, f_y: Array) -> tuple[Array, Array]:
        """(left, right) for values f of an event or of a function into [0, 1]."""
        return f_x, np.exp(min(self.cost, EXPONENT_MAX)) * f_y + self.delta

    @property
    def loss_max(self) -> float:
        """How far below 0 a payoff can be."""
        return math.exp(min(self.cost, EXPONENT_MAX)) + self.delta

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": self.cost} | ({"delta": self.delta} if self.delta > 0 else {})


@dataclass(frozen=True, slots=True)
class Renyi:
    """D_α(P‖Q) ≤ cost, in the direction the samples are given; audits try both."""

    order: float
    cost: float
    kind: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        _check(self.cost)
        if not 1 <= self.order <= ORDER_MAX:
            raise InvalidAudit("claim.order", f"a number from 1 to {ORDER_MAX:g}")

    def costing(self, cost: float) -> "Renyi":
        return replace(self, cost=cost)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "order": self.order, "epsilon": self.cost}


Claim = Approximate | Renyi


@dataclass(frozen=True, slots=True)
class RandomPairs:
    """`claim` holds of all but a part γ of the pairs that a public generator makes."""

    claim: Claim
    gamma: float
    generator: str
    kind: ClassVar[str] = "random"

    def __post_init__(self) -> None:
        if not 0 <= self.gamma < 1:
            raise InvalidAudit("claim.gamma", "a number from 0 to below 1")
        if not 1 <= len(self.generator) <= 200:
            raise InvalidAudit("claim.generator", "what made the pairs, in 1 to 200 characters")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "claim": self.claim.as_json(), "gamma": self.gamma, "generator": self.generator}


@dataclass(frozen=True, slots=True)
class Score:
    """A real function of an output, held to [low, high]; as an event it is f, as a log-ratio it is g.

    `u` is about E_P e^{(α−1)g}, fixed before the draws that decide: any positive number is sound, that one is best.
    """

    low: float
    high: float
    u: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and self.low <= self.high < math.inf and 0 < self.u < math.inf):
            raise ValueError("a score has finite ends and a positive tangent point")


def payoffs(claim: Claim, x: Array, y: Array, score: Score) -> Array:
    """Y for paired scores of draws; every claim has its own. Whatever is not a number is not compared: callers refuse it."""
    if isinstance(claim, Approximate):
        left, right = claim.sides(np.clip(x, 0.0, 1.0), np.clip(y, 0.0, 1.0))
        return np.asarray(left - right)
    x, y = np.clip(x, score.low, score.high), np.clip(y, score.low, score.high)
    if claim.order == 1:
        return np.asarray(x - np.expm1(y) - claim.cost)
    s = claim.order / (claim.order - 1)
    left = s * np.exp((claim.order - 1) * x) / score.u - (s - 1)
    return np.asarray(left - np.exp(claim.cost + claim.order * y) / score.u**s)


def loss_max(claim: Claim, score: Score) -> float:
    """How far below 0 a payoff can be: stakes stay under one in so much."""
    if isinstance(claim, Approximate):
        return claim.loss_max
    ends = payoffs(claim, np.array([score.low]), np.array([score.high]), score)
    return max(float(-ends[0]), 1e-12)


def _check(cost: float) -> None:
    if not 0 <= cost <= COST_MAX:
        raise InvalidAudit("claim.epsilon", f"a number from 0 to {COST_MAX:g}")
