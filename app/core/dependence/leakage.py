"""Leakage, guesses, gains and reconstruction: what follows for one secret from bounds between releases given its values.

Of a secret with v values, releases given any two of which are within e^{±ε} apart from δ:

**Bits** log₂ v − log₂(1 + (v−1)e^{−ε}): min-entropy leakage for every prior, gain and function of the secret; reached.
**Guess** V ≤ δ + (1−δ)·max_t P_t/(1 + (t−1)e^{−ε}), P_t the t largest prior masses; reached.
**Gain** in [0, 1]: V_g ≤ V_g(prior)·v/(1 + (v−1)e^{−ε}) + δ·(v−1)e^{−ε}/(1 + (v−1)e^{−ε}).
**Graph** of values with distances d, Q = e^{−εd}: the largest sum of column maxima of a mechanism of that ε is 1·w for Qw = 1
where w ≥ 0, and at most max{1·w: Qw ≤ 1, w ≥ 0} elsewhere. (Lemma 5.3.2(2) and Theorem 5.3.3 of the papers need a
transitive group.)
**Reconstruction** (Le Cam): some dataset is missed by at least max_k (k/2)(1 − TV_k) people on average.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.losses import Losses, group_size, variation

Array = NDArray[np.float64]

GROUPS_TRIED_MAX = 40


def bits(epsilon: float, values: int) -> float:
    return min(
        math.log2(values),
        (math.log(values) - math.log1p((values - 1) * math.exp(-epsilon))) / math.log(2) * (1 + 1e-12),
    )


def guess(prior: Sequence[float], known: Iterable[tuple[float, float]]) -> float:
    """At most how often the best guess is right afterwards; `known` are (ε, δ) that hold."""
    masses = np.minimum(np.cumsum(np.sort(np.asarray(prior, dtype=np.float64))[::-1]), 1.0)
    ranks = np.arange(len(masses))
    best = 1.0
    for epsilon, delta in known:
        held = float((masses / (1 + ranks * math.exp(-epsilon))).max())
        best = min(best, delta + (1 - delta) * held)
    return min(1.0, best * (1 + 1e-12))


def gained(prior_value: float, values: int, known: Iterable[tuple[float, float]]) -> float:
    """At most the best expected gain afterwards, for gains in [0, 1]."""
    best = 1.0
    for epsilon, delta in known:
        far = (values - 1) * math.exp(-epsilon)
        best = min(best, (prior_value * values + delta * far) / (1 + far))
    return min(1.0, best * (1 + 1e-12))


def prior_gain(prior: Sequence[float], gain: Sequence[Sequence[float]]) -> float:
    """The best action's expected gain: `gain` has a row for each action, a column for each value."""
    return max(math.fsum(p * g for p, g in zip(prior, row, strict=True)) for row in gain)


def graph_vulnerability(epsilon: float, distance: Array) -> tuple[float, bool]:
    """(the largest sum of column maxima, whether it is reached) for a mechanism within e^{ε·d} of itself."""
    from scipy.optimize import linprog

    similar = np.exp(-epsilon * distance)
    weights = np.linalg.solve(similar, np.ones(len(similar)))
    if (weights >= -1e-12).all():
        return float(weights.sum()) * (1 + 1e-12), True
    # a column q with maximum m is at least m·Q_x somewhere: any u ≥ 0 with Qᵀu ≥ 1 bounds the sum by 1·u
    found = linprog(np.ones(len(similar)), A_ub=-similar.T, b_ub=-np.ones(len(similar)), method="highs")
    cover = np.maximum(np.asarray(found.x, dtype=np.float64), 0.0)
    return float(cover.sum() / (similar.T @ cover).min()) * (1 + 1e-12), False


def reconstruction_floor(losses: Losses) -> tuple[float, int]:
    """(people missed on average in some dataset, the size of the group that shows it)."""
    best, at, size = 0.0, 1, 1
    for _ in range(GROUPS_TRIED_MAX):
        distance = variation(losses.kl(size))
        if size / 2 * (1 - distance) > best:
            best, at = size / 2 * (1 - distance), size
        if size >= losses.people or distance > 0.999:
            break
        size = group_size(2 * size, losses.people)
    return best * (1 - 1e-12), at
