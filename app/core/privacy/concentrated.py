"""Two shorter names for a cost, for whoever composes with other tools: zCDP's ρ and GDP's μ. Certified, and never charged.

**ρ** (Bun and Steinke 2016): D_α ≤ ρ·α for *every* α > 1. A curve is known at listed orders only. Between two of them
f(α) = (α−1)·D_α is convex (it is a logarithm of moments), so it lies below its chord a + b·α, and

    ρ ≥ sup (a + b·α)/(α(α−1)),   which has its maximum at an end or where b·α² + 2a·α − a = 0.

Below the first order D_α ≤ D at that order, as f(1) = 0; beyond the last D_α ≤ pure ε. Noise that is all Gaussian has ρ itself.

**μ** (Dong, Roth and Su 2022): no easier to tell apart than two unit normals μ apart. From Gaussian noise by its law
(`gaussian.py`), from a pure ε by the corner of its errors; N independent draws of μ₁ each are √N·μ₁.
"""

import math
from itertools import pairwise

from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.gaussian import gdp_mu, gdp_mu_of_pure
from app.core.privacy.release_cost import ReleaseCost

_ROUNDING = 1 + 1e-12


def zcdp_rho(cost: Cost) -> float | None:
    """The smallest ρ that the cost is known to satisfy; None where there is none: an inexact sampler, or an unbounded tail."""
    if cost.slack_delta > 0:
        return None
    if cost.gaussian_rho is not None:
        return cost.gaussian_rho
    if not (math.isfinite(cost.pure) and all(map(math.isfinite, cost.curve))):
        return None
    candidates = [cost.curve[0], cost.pure / ORDERS[-1]]
    knots = list(zip(ORDERS, cost.curve, strict=True))
    for (low, at_low), (high, at_high) in pairwise(knots):
        candidates.append(_chord_supremum(low, at_low, high, at_high))
    return min(max(candidates), cost.pure**2 / 2) * _ROUNDING


def release_rho(cost: ReleaseCost) -> float | None:
    """Of the whole release; of several models the sum of theirs, which may exist where their curves' sum has no end."""
    if not cost.parts:
        return zcdp_rho(cost.total)
    found = [release_rho(part) for part in cost.parts]
    known = [rho for rho in found if rho is not None]
    return sum(known) * _ROUNDING if len(known) == len(found) else None


def certified_gdp_mu(cost: ReleaseCost) -> float | None:
    """The smallest μ known for the whole release; None where only (ε, δ) is promised."""
    total = cost.total
    if total.slack_delta > 0:
        return None
    if total.gaussian_rho is not None:
        return gdp_mu(total.gaussian_rho)
    if cost.parts:  # independent: unit normals side by side, μ apart in each
        found = [certified_gdp_mu(part) for part in cost.parts]
        known = [mu for mu in found if mu is not None]
        return math.hypot(*known) * _ROUNDING if len(known) == len(found) else None
    if not math.isfinite(total.pure):
        return None
    once, each = gdp_mu_of_pure(cost.once.pure), gdp_mu_of_pure(cost.per_sample.pure)
    return min(gdp_mu_of_pure(total.pure), math.sqrt(once**2 + cost.samples * each**2) * _ROUNDING)


def _chord_supremum(low: float, at_low: float, high: float, at_high: float) -> float:
    """sup over [low, high] of the chord of (α−1)·D_α divided by α(α−1)."""
    left, right = (low - 1) * at_low, (high - 1) * at_high
    slope = (right - left) / (high - low)
    start = left - slope * low
    inside = [root for root in _roots(slope, 2 * start, -start) if low < root < high]
    return max((start + slope * alpha) / (alpha * (alpha - 1)) for alpha in (low, high, *inside))


def _roots(a: float, b: float, c: float) -> list[float]:
    """Of a·x² + b·x + c, without cancellation."""
    if a == 0:
        return [] if b == 0 else [-c / b]
    square = b * b - 4 * a * c
    if square < 0:
        return []
    far = -(b + math.copysign(math.sqrt(square), b)) / 2
    return [far / a] + ([] if far == 0 else [c / far])
