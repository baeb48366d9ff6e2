"""Divergences of two laws that are written down whole, as the whole weights that are really sampled from.

With x_k = ln(p_k/q_k), worked out from whole numbers and rounded once,

    KL = Σ p·φ(−x),   e^{(α−1)·D_α} = 1 + (α−1)·KL + Σ p·φ((α−1)x),   φ(z) = e^z − 1 − z ≥ 0,

because Σ p·e^{−x} = Σ q = 1: sums of terms that are all at least 0, in which nothing cancels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.numerics.remainder import phi
from app.core.privacy.cost import ORDERS, Cost

Array = NDArray[np.float64]

ROUNDING = 1e-11
"""Relative, of what doubles lose in a sum of 2¹⁶ terms that are all at least 0: less than any charge is above what is owed."""
_LARGE = 600.0


@dataclass(frozen=True, slots=True)
class Divergences:
    """Of one ordered pair: KL, D_α at every listed order, the largest ln(p/q)."""

    kl: float
    curve: tuple[float, ...]
    pure: float


def exact_divergences(p: Sequence[int], q: Sequence[int]) -> Divergences:
    """Of laws with those whole weights, none of them 0."""
    if len(p) != len(q) or not min(p) > 0 or not min(q) > 0:
        raise ValueError("two laws on the same outputs, every one possible")
    total_p, total_q = sum(p), sum(q)
    crossed = [(a * total_q, b * total_p) for a, b in zip(p, q, strict=True)]
    ratio = np.log1p(np.array([(a - b) / b for a, b in crossed]))
    return of_ratios(np.array([a / total_p for a in p]), ratio)


def of_ratios(p: Array, ratio: Array) -> Divergences:
    kl = float(p @ phi(-ratio))
    curve = tuple(_divergence(p, ratio, kl, order) for order in ORDERS)
    return Divergences(kl, curve, max(0.0, float(ratio.max())))


def _divergence(p: Array, ratio: Array, kl: float, order: float) -> float:
    power = (order - 1) * ratio
    if float(power.max()) < _LARGE:
        return math.log1p((order - 1) * kl + float(p @ phi(power))) / (order - 1)
    joint = np.log(p) + power
    top = float(joint.max())
    return (top + math.log(float(np.exp(joint - top).sum()))) / (order - 1)


def larger(first: Divergences, second: Divergences) -> Divergences:
    """Order by order: both directions, or several pairs."""
    return Divergences(
        max(first.kl, second.kl),
        tuple(max(pair) for pair in zip(first.curve, second.curve, strict=True)),
        max(first.pure, second.pure),
    )


NOTHING = Divergences(0.0, (0.0,) * len(ORDERS), 0.0)


def added(parts: Sequence[Divergences]) -> Divergences:
    """Of independent outputs."""
    if not parts:
        return NOTHING
    return Divergences(
        math.fsum(each.kl for each in parts),
        tuple(math.fsum(values) for values in zip(*(each.curve for each in parts), strict=True)),
        math.fsum(each.pure for each in parts),
    )


def within(exact: Divergences, charged: Cost) -> tuple[bool, float, float]:
    """(whether no order and no pure cost is charged less than it is, the exact and the charged figure that are nearest)."""
    pairs = [*zip(exact.curve, charged.curve, strict=True), (exact.pure, charged.pure)]
    tightest = max(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else math.inf if pair[0] > 0 else 0.0)
    passed = all(owed <= paid * (1 + ROUNDING) for owed, paid in pairs)
    return passed, *tightest
