"""From a Rényi curve between releases given two values of a secret to what an adversary's odds can do.

**I.** Given the truth z, the log-odds of z against any other value, or against all others together, rise by more than ν only with
probability δ′ over the release, for ν = min_α R(α) + ln(1/δ′)/(α−1): a likelihood ratio has a moment of order α−1, and Markov's
inequality does the rest; against all others together the release given "not z" is a mixture, and e^{(α−1)D_α} is convex in it.
They fall by ν with probability at most min(e^{−ν}, min_α e^{(α−1)R(α)−αν}).

**J.** With a sampler's slack: from (ε, δ), slack included, P(rise > ε + t) ≤ δ/(1 − e^{−t}).
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, conversion_offset, epsilon_of_curve

Array = NDArray[np.float64]

_ORDERS = np.array(ORDERS)
_SHARES = tuple(2.0**-i for i in range(1, 24))
EPSILONS_SHOWN = 48


def probable_rise(curve: Array, slack: float, exception: float) -> tuple[float, float | None] | None:
    """(ν, its order); None where the slack alone exceeds the exception."""
    if slack > 0:
        found = _rise_with_slack(curve, slack, exception)
        return None if found is None else (found, None)
    values = curve - math.log(exception) / (_ORDERS - 1)
    if not np.isfinite(values).any():
        return None
    best = int(np.argmin(values))
    return float(values[best]) * (1 + 1e-12), float(_ORDERS[best])


def _rise_with_slack(curve: Array, slack: float, exception: float) -> float | None:
    """J, the best of many ways to share the exception between δ and t."""
    found = math.inf
    for share in _SHARES:
        delta = exception * (1 - share)  # so that 1 − e^{−t} = δ/δ′
        if delta > slack:
            epsilon, _ = epsilon_of_curve(tuple(curve.tolist()), delta - slack)
            found = min(found, epsilon - math.log(share))
    return found * (1 + 1e-12) if math.isfinite(found) else None


def fall_probability(curve: Array, rise: float, slack: float) -> float:
    """At most how likely the log-odds of the truth fall by as much."""
    with np.errstate(over="ignore", invalid="ignore"):
        moments = float(np.exp(np.minimum((_ORDERS - 1) * curve - _ORDERS * rise, 0.0)).min())
    return min(1.0, math.exp(-rise), moments) + slack


def epsilon_at(curve: Array, slack: float, delta: float) -> float | None:
    """The ε that holds between the two at δ."""
    if not delta > slack:
        return None
    found, _ = epsilon_of_curve(tuple(curve.tolist()), delta - slack)
    return found if math.isfinite(found) else None


def points(curve: Array, slack: float, pure: float | None) -> list[tuple[float, float]]:
    """(ε, δ) pairs that hold, for whoever looks for the best: the pure one, and many of the curve."""
    found = [] if pure is None else [(pure, 0.0)]
    for epsilon in np.concatenate([[0.0], np.geomspace(1e-4, 50.0, EPSILONS_SHOWN)]).tolist():
        delta = delta_at(curve, epsilon) + slack
        if delta < 1:
            found.append((epsilon, delta))
    return found


def delta_at(curve: Array, epsilon: float) -> float:
    """min_α e^{(α−1)(D_α − ε)}·(1 − 1/α)^{α−1}/α: `conversion_offset` turned round."""
    best = 0.0
    for order, value in zip(ORDERS, curve.tolist(), strict=True):
        if math.isfinite(value):
            at_one = conversion_offset(order, 1.0)  # ε = D + at_one − ln δ/(α−1)
            best = min(best, (order - 1) * (value + at_one - epsilon))
    return math.exp(best)
