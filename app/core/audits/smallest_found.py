"""The least under-charge that a test would have found, with probability .99: κ, the true cost over the claimed.

Of a black box nothing is known, so it is said for the pair of laws that shows a pure ε best, randomised response: whoever hides
an under-charge better than it needs more runs.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.audits.claims import Approximate, Claim, Score
from app.core.audits.events import coin_divergence
from app.core.audits.wealth import growth, wealth_cap

Array = NDArray[np.float64]

KAPPA_MAX = 1e6
_HALVINGS = 40
_LEAST = 1e-3


@lru_cache(maxsize=256)
def smallest_found(claim: Claim, draws: int, level: float) -> float | None:
    """None where so few draws would find nothing."""

    def found(kappa: float) -> bool:
        coin = _coin(claim, max(claim.cost, _LEAST) * kappa)
        return coin is not None and _runs(claim, coin, level) <= draws

    low, high = 1.0, 1.001
    while not found(high):
        low, high = high, 1 + (high - 1) * 2
        if high > KAPPA_MAX:
            return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _coin(claim: Claim, cost: float) -> float | None:
    """p of the coin, against 1 − p, that costs so much; None where none does."""
    if isinstance(claim, Approximate):
        return (1 - claim.delta) / (1 + math.exp(-min(cost, 500.0))) + claim.delta
    low, high = 0.5, 1 - 1e-15
    if coin_divergence(high, 1 - high, claim.order) < cost:
        return None
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if coin_divergence(middle, 1 - middle, claim.order) > cost else (middle, high)
    return high


def _runs(claim: Claim, p: float, level: float) -> float:
    """By the best function of that coin."""
    law = np.array([p, 1 - p]), np.array([1 - p, p])
    if isinstance(claim, Approximate):
        values, score = np.array([1.0, 0.0]), Score(0.0, 1.0)
    else:
        ratio = min(math.log(p / (1 - p)), 30.0)
        values = np.array([ratio, -ratio])
        tilt = np.exp((claim.order - 1) * values) if claim.order > 1 else np.ones(2)
        score = Score(-ratio, ratio, float(law[0] @ tilt))
    return wealth_cap(*growth(claim, law, (values, values), score), level)
