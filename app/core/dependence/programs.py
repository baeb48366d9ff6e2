"""The worst mechanism for any joint law, by a linear program, with a certificate (**A**).

    max Σ_y μ(y|z₁)·f(y)   subject to   Σ_y μ(y|z₀)·f(y) = 1,   f(y) ≤ e^{ε_j}·f(y′) where y, y′ differ in person j only.

What the solver returns is not believed. Any u ≥ 0 on the constraints Gf ≤ 0 proves sup ≤ max_y (μ₁ − Gᵀu)_y/μ₀(y); where
μ₀(y) = 0 what is left over is moved to a neighbour nearer the support, times e^{ε_j}, which is another u. And f, raised to
max(f, e^{−ε_j}·max_j f) one person after the other, is a mechanism: the two agree to 10⁻⁹ where nothing is lost.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up
from app.core.dependence.joints import Joint

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

EPSILON_LARGEST = 15.0
"""Beyond it constraints span more than doubles hold."""
COLUMNS_MAX = 512
CONSTRAINTS_MAX = 6_000
WORK_MAX = 40_000
"""Constraints of all programs together."""
_AGREES = 1e-9
PROGRAM = "worst mechanism by a linear program with its certificate (A)"


def program_bound(joint: Joint, epsilons: Sequence[float], programs_max: int) -> tuple[float, bool] | None:
    """(an upper bound of ν over every two values of the secret, whether a mechanism reaches it); None where there are too many
    programs, or they are too large, or one has no certificate."""
    if not joint.levels or max(epsilons) > EPSILON_LARGEST or len(joint.points) > COLUMNS_MAX:
        return None
    before, after, factors = _neighbours(joint, epsilons)
    values = len(joint.given)
    programs = values * (values - 1)
    if len(before) > CONSTRAINTS_MAX or programs > programs_max or programs * len(before) > WORK_MAX:
        return None
    upper, lower = 0.0, 0.0
    for first in range(values):
        for second in range(values):
            if first != second:
                found = _ratio(joint, joint.given[first], joint.given[second], before, after, factors, epsilons)
                if found is None:
                    return None
                upper, lower = max(upper, found[0]), max(lower, found[1])
    own = sum(epsilons[each] for each in joint.members)
    return rounded_up(own + upper, 1e-12), upper - lower <= _AGREES


def _neighbours(joint: Joint, epsilons: Sequence[float]) -> tuple[Whole, Whole, Array]:
    """Ordered pairs of columns that differ in one person, and e^ε of that person."""
    before, after, factors = [], [], []
    places = np.arange(len(joint.points)).reshape(joint.levels)
    for axis, person in enumerate(joint.others):
        moved = np.moveaxis(places, axis, 0).reshape(joint.levels[axis], -1)
        for a in range(len(moved)):
            for b in range(len(moved)):
                if a != b:
                    before.append(moved[a])
                    after.append(moved[b])
                    factors.append(np.full(moved.shape[1], math.exp(epsilons[person])))
    return np.concatenate(before), np.concatenate(after), np.concatenate(factors)


def _ratio(
    joint: Joint, above: Array, below: Array, before: Whole, after: Whole, factors: Array, epsilons: Sequence[float]
) -> tuple[float, float] | None:
    """(certified upper, reached) of ln max Σ above·f / Σ below·f."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    count, size = len(before), len(above)
    rows = np.concatenate([np.arange(count)] * 2)
    entries = np.concatenate([np.ones(count), -factors])
    matrix = coo_array((entries, (rows, np.concatenate([before, after]))), shape=(count, size)).tocsr()
    found = linprog(-above, A_ub=matrix, b_ub=np.zeros(count), A_eq=below[None, :], b_eq=[1.0], method="highs")
    if not found.success:
        return None
    duals = np.maximum(-np.asarray(found.ineqlin.marginals, dtype=np.float64), 0.0)
    upper = _certified(above - matrix.T @ duals, below, before, after, factors)
    reached = _raised(joint, np.maximum(np.asarray(found.x, dtype=np.float64), 0.0), epsilons)
    mass, least = float(above @ reached), float(below @ reached)
    if upper is None or not mass > 0 or not least > 0:
        return None
    return math.log(upper), math.log(mass / least)


def _certified(excess: Array, below: Array, before: Whole, after: Whole, factors: Array) -> float | None:
    """max_y excess/μ₀, what is over where μ₀ = 0 moved towards the support first."""
    left, distance = excess.copy(), _distance(below, before, after)
    for step in range(int(distance.max()), 0, -1):
        chosen = (distance[before] == step) & (distance[after] == step - 1)
        for y, nearer, factor in zip(before[chosen], after[chosen], factors[chosen], strict=True):
            if left[y] > 0:
                left[nearer] += left[y] * factor
                left[y] = 0.0
    support = below > 0
    upper = float((left[support] / below[support]).max())
    return upper * (1 + 1e-13) if upper > 0 and math.isfinite(upper) else None


def _distance(below: Array, before: Whole, after: Whole) -> Whole:
    """In changed people, from the support; everything is within reach of it."""
    far = len(below)
    distance = np.where(below > 0, 0, far)
    for _ in range(far):
        nearer = distance.copy()
        np.minimum.at(nearer, before, distance[after] + 1)
        if (nearer == distance).all():
            break
        distance = nearer
    return np.asarray(distance, dtype=np.int64)


def _raised(joint: Joint, mechanism: Array, epsilons: Sequence[float]) -> Array:
    """The least mechanism above, a legal one."""
    found = mechanism.reshape(joint.levels)
    for axis, person in enumerate(joint.others):
        found = np.maximum(found, math.exp(-epsilons[person]) * found.max(axis=axis, keepdims=True))
    return np.asarray(found.ravel())
