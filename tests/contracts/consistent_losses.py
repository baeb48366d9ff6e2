"""What any reading of a cost must show: the largest δ at an ε over all privacy losses that fit the whole of it.

A linear programme over laws of L on a grid: mass 1, E e^{−L} = 1, E e^{(α−1)L} ≤ e^{(α−1)D_α} and, for the other direction,
E e^{−αL} ≤ e^{(α−1)D_α} at every listed order, |L| at most the pure cost. Its value is reached by a law, so a conversion that
promised less than this δ would be wrong for some mechanism of the same cost, whichever orders it combines.
"""

import math

import numpy as np
from scipy.optimize import linprog

from app.core.privacy import ORDERS, Cost

POINTS = 900


def largest_delta(cost: Cost, epsilon: float) -> float:
    """At `epsilon`, of a grid that reaches 25 nats of the best order's tail beyond it: a lower bound, as grids are."""
    orders, curve = np.array(ORDERS), np.array(cost.curve)
    best = cost.best_order(1e-6)[1]
    far = min(epsilon + 25 / ((best or 2.0) - 1), cost.pure)
    loss = np.linspace(-far, far, POINTS)
    forward = (orders[:, None] - 1) * (loss - curve[:, None])
    backward = -orders[:, None] * loss - ((orders - 1) * curve)[:, None]
    powers = np.concatenate([forward, backward])
    # Each mass in units of the most that a single order, or E e^{−L}, leaves it: all coefficients are at most 1.
    units = np.minimum(np.minimum(-powers.max(axis=0), loss), 0)
    gone = 1e6 * np.exp(units) * -np.expm1(np.minimum(epsilon - loss, 0))
    found = linprog(
        -gone,
        A_ub=np.exp(np.maximum(powers + units, -80)),
        b_ub=np.ones(len(powers)),
        A_eq=np.array([np.exp(units), np.exp(units - loss)]),
        b_eq=[1, 1],
        method="highs",
    )
    return -float(found.fun) / 1e6 if found.status == 0 else math.nan
