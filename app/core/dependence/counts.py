"""People who are alike: only how many of them have the value 1 is related to the secret.

By averaging over permutations the worst mechanism is a function f of the number h of others with the value 1, and its
constraint is |ln f(h) − ln f(h+1)| ≤ ε: a path. For a level λ, sup over f of Σ_h (a_h − λ·b_h)·f(h) is a recursion from the end,

    V_h = a_h − λ·b_h + e^{ε·sign V_{h+1}}·V_{h+1},

and λ is at least the largest ratio Σaf/Σbf exactly where V ≤ 0 at the start, for every f of that kind. So **A** is solved exactly
for any exchangeable law, log-convex or not; no linear program is needed. For relatives of one person, who agree with them
independently, the same law is a binomial, and the closed form of the papers' Theorem 3.4 for stars holds.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up

Array = NDArray[np.float64]

_HALVINGS = 200


def conditional_counts(weights: Sequence[float]) -> tuple[Array, Array]:
    """(given 1, given 0): the law of how many of the other m − 1 people have the value 1, from that of all m."""
    whole = np.asarray(weights, dtype=np.float64)
    counts = np.arange(len(whole))
    ones, zeros = (whole * counts)[1:], (whole * counts[::-1])[:-1]
    return ones / math.fsum(ones), zeros / math.fsum(zeros)


def exchangeable_exact(epsilon: float, weights: Sequence[float]) -> float:
    """A for the people of whom k have the value 1 with probability ∝ weights[k]; the larger of both directions."""
    given_one, given_zero = conditional_counts(weights)
    ratio = max(_largest_ratio(given_one, given_zero, epsilon), _largest_ratio(given_zero, given_one, epsilon))
    return rounded_up(epsilon + ratio, 1e-12)


def _largest_ratio(above: Array, below: Array, epsilon: float) -> float:
    """ln of the largest Σaf/Σbf; from above, by halving."""
    low, high = 0.0, epsilon * (len(above) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(above > 0, np.log(above) - np.log(below), -np.inf)
    high = min(high, float(ratios.max()))  # f has no more to offer than the best count alone
    if not high > 0:
        return max(high, 0.0)
    for _ in range(_HALVINGS):
        if high - low <= 1e-13 * (1 + high):
            break
        middle = (low + high) / 2
        if _is_above(above, below, epsilon, middle):
            high = middle
        else:
            low = middle
    return high


def _is_above(above: Array, below: Array, epsilon: float, log_level: float) -> bool:
    """Whether e^log_level is at least every ratio: V_0 ≤ 0, with logarithms of sizes so that nothing overflows."""
    sign, size = 0.0, -math.inf
    for a, b in zip(above[::-1].tolist(), below[::-1].tolist(), strict=True):
        own_sign, own = _difference(a, b, log_level)
        if sign:
            size += epsilon * sign
        sign, size = _sum(sign, size, own_sign, own)
    return sign <= 0


def _difference(a: float, b: float, log_level: float) -> tuple[float, float]:
    """(sign, ln of the size) of a − b·e^log_level."""
    first = math.log(a) if a > 0 else -math.inf
    second = math.log(b) + log_level if b > 0 else -math.inf
    return _sum(1.0 if a > 0 else 0.0, first, -1.0 if b > 0 else 0.0, second)


def _sum(sign: float, size: float, other_sign: float, other: float) -> tuple[float, float]:
    if sign == 0 or size == -math.inf:
        return other_sign, other
    if other_sign == 0 or other == -math.inf:
        return sign, size
    if other > size:
        sign, size, other_sign, other = other_sign, other, sign, size
    if sign == other_sign:
        return sign, size + math.log1p(math.exp(other - size))
    if other == size:
        return 0.0, -math.inf
    return sign, size + math.log(-math.expm1(other - size))


def star_exact(epsilon: float, relatives: int, agreement: float) -> float:
    """ε + g·ln[(p + (1−p)e^{−ε})/((1−p) + pe^{−ε})]."""
    shrunk = math.exp(-epsilon)
    agree, differ = agreement + (1 - agreement) * shrunk, (1 - agreement) + agreement * shrunk
    if differ == 0:
        return epsilon * (1 + relatives)
    return min(rounded_up(epsilon + relatives * math.log(agree / differ)), epsilon * (1 + relatives))


def star_differing(relatives: int, agreement: float) -> Array:
    """Given another value of the person in the middle, each relative differs with probability 2p − 1 in the best coupling."""
    passes = 2 * agreement - 1
    if passes in (0.0, 1.0):
        return np.asarray(np.eye(relatives + 1)[relatives if passes else 0])
    k = np.arange(relatives + 1)
    log_choose = math.lgamma(relatives + 1) - np.array([math.lgamma(i + 1) + math.lgamma(relatives - i + 1) for i in k])
    law = np.exp(log_choose + k * math.log(passes) + (relatives - k) * math.log1p(-passes))
    return np.asarray(law / math.fsum(law))


def counts_differing(weights: Sequence[float]) -> Array:
    """Quantile coupling of the two laws of counts: sets of ones are nested, so that as many differ as the counts do."""
    first, second = (np.cumsum(law) for law in conditional_counts(weights))
    cuts = np.unique(np.minimum(np.concatenate([[0.0], first, second]), 1.0))
    middle, width = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    apart = np.abs(np.searchsorted(first, middle) - np.searchsorted(second, middle))
    law = np.bincount(np.minimum(apart, len(first) - 1), weights=width, minlength=1)
    return np.asarray(law / math.fsum(law))


def context_cross_ratio(weights: Sequence[float]) -> float:
    """The largest |ln q_k·q_{k+2}/q_{k+1}²| of two people's values, q_k the mass of one arrangement with k ones; infinite with
    zeros."""
    whole = np.asarray(weights, dtype=np.float64)
    if not (whole > 0).all():
        return math.inf
    people = len(whole) - 1
    log_q = np.log(whole) - np.array(
        [math.lgamma(people + 1) - math.lgamma(k + 1) - math.lgamma(people - k + 1) for k in range(people + 1)]
    )
    return 0.0 if people < 2 else float(np.abs(np.diff(log_q, 2)).max()) * (1 + 1e-12) + 1e-12
