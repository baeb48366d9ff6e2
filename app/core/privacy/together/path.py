"""What several people at once cost: from what one person costs, by Hölder's inequality along a path of neighbours.

Between datasets that differ in a + b people stands one that differs in a from the first and in b from the last. With
F(α) = (α−1)·D_α = log ∫ Pᵅ R^{1−α}, write Pᵅ R^{1−α} = (Pᵅ Q^{1/p−α})·(Q^{α−1/p} R^{1−α}); Hölder with 1/p + 1/q = 1 gives

    F_{a+b}(α) ≤ F_a(β)/p + F_b(γ)/q,    β = pα,  γ = q(α − 1/p),   so that (β − α)(γ − α) = α(α − 1).

For F_k = k²ρα(α−1) the best p makes this an equality: zCDP's k²ρ is contained (Bun and Steinke 2016, Proposition 27). F is
convex with F(1) = 0 and a slope of at most the pure ε, so between listed orders it lies below chords, and beyond the last below
that slope. Noise that is all Gaussian moves by k times as much and costs k²ρ. A curve of one draw is taken k people apart and
then multiplied by the draws: each may choose its own p.

A sampler's slack is a distance of every law from the analysed one: it stands once on either side, however many people are
between.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from operator import truediv

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.errors import NumericalFailure

Array = NDArray[np.float64]

_ROUNDING = 1 + 1e-12
_ORDERS = np.array(ORDERS)
_ABOVE = _ORDERS[None, :] > _ORDERS[:, None]
_SHARE = _ORDERS[:, None] / _ORDERS[None, :]
"""1/p = α/β."""
_GAMMA = _ORDERS[:, None] * (1 + (_ORDERS[:, None] - 1) / np.where(_ABOVE, _ORDERS[None, :] - _ORDERS[:, None], 1.0))


@dataclass(frozen=True, slots=True)
class GroupCost:
    """Of datasets that differ in up to so many people: `once` with the first sample, `per_sample` with each. `kl_*` bound
    Kullback–Leibler divergences. `sharp`: so nearly exact that paths through datasets between need not be looked at."""

    per_sample: Cost
    once: Cost
    kl_each: float
    kl_once: float
    sharp: bool = False

    def prefix(self, samples: int) -> Cost:
        return self.once.plus(self.per_sample.times(samples))

    def kl(self, samples: int) -> float:
        return self.kl_once + samples * self.kl_each

    def plus(self, other: "GroupCost") -> "GroupCost":
        """Independent releases of the same people."""
        return GroupCost(
            self.per_sample.plus(other.per_sample),
            self.once.plus(other.once),
            self.kl_each + other.kl_each,
            self.kl_once + other.kl_once,
        )

    def least(self, other: "GroupCost") -> "GroupCost":
        """Two bounds of one law."""
        return GroupCost(
            least_cost(self.per_sample, other.per_sample),
            least_cost(self.once, other.once),
            min(self.kl_each, other.kl_each),
            min(self.kl_once, other.kl_once),
        )


def group_of(cost: ReleaseCost, people: int) -> GroupCost:
    """Of any release: nothing is used but what one person costs."""
    if cost.parts:
        found = GroupCost(ZERO_COST, ZERO_COST, 0.0, 0.0)
        for part in cost.parts:  # their samples stand in `once`: everybody pays for everything
            own = group_of(part, people)
            found = found.plus(GroupCost(ZERO_COST, own.prefix(part.samples), 0.0, own.kl(part.samples)))
        return found
    each, once = people_apart(cost.per_sample, people), people_apart(cost.once, people)
    kl_each = cost.kl_sup if people == 1 and cost.per_sample.pure > 0 else kl_of(each)
    return GroupCost(each, once, kl_each, kl_of(once))


def join_groups(first: GroupCost, second: GroupCost) -> GroupCost:
    """Of a group that is two others, by the path between them."""
    each, once = path_cost(first.per_sample, second.per_sample), path_cost(first.once, second.once)
    return GroupCost(each, once, kl_of(each), kl_of(once))


def kl_of(cost: Cost) -> float:
    """Divergences rise with their order; of Gaussian noise it is ρ."""
    rho = cost.gaussian_rho
    return min(cost.curve) if rho is None else rho


@lru_cache(maxsize=1024)
def people_apart(cost: Cost, people: int) -> Cost:
    """The cost of a change of up to so many people at once."""
    if not people >= 1:
        raise ValueError("at least one person")
    if people == 1:
        return cost
    half = people // 2
    return path_cost(people_apart(cost, half), people_apart(cost, people - half))


def path_cost(first: Cost, second: Cost) -> Cost:
    """Between the ends of a path of two steps that cost so much."""
    if ZERO_COST in (first, second):
        return first if second == ZERO_COST else second
    if first.gaussian and second.gaussian:
        rho = sum(math.sqrt(max(map(truediv, each.curve, ORDERS))) for each in (first, second)) ** 2 * _ROUNDING
        return Cost(math.inf, tuple(order * rho for order in ORDERS), gaussian=True)
    pure = first.pure + second.pure
    curve = np.minimum(joined(first, second), pure_curve(pure))
    return Cost(pure, tuple(curve.tolist()), max(first.slack_delta, second.slack_delta))


def joined(first: Cost, second: Cost) -> Array:
    """D_α between the ends of a path: the least over all listed orders for either half."""
    bounds = np.minimum(_split(first, second), _split(second, first))
    bounds = np.minimum(bounds, (first.pure + second.pure))
    # rising with the order, as divergences do: a later order bounds the earlier ones
    running = np.minimum.accumulate(bounds[::-1])[::-1]
    return np.asarray(running * _ROUNDING)


def _split(first: Cost, second: Cost) -> Array:
    """β runs over the listed orders above α, γ follows."""
    near = (_ORDERS - 1) * np.array(first.curve)
    far = _powers(second, _GAMMA.ravel()).reshape(_GAMMA.shape)
    with np.errstate(invalid="ignore"):
        both = near[None, :] * _SHARE + far * (1 - _SHARE)
    found: Array = np.where(_ABOVE & np.isfinite(both), both, np.inf).min(axis=1) / (_ORDERS - 1)
    return found


def _powers(cost: Cost, orders: Array) -> Array:
    """Bounds of F at any orders above 1: chords between listed ones, the pure slope beyond."""
    knots, values = np.append(1.0, _ORDERS), np.append(0.0, (_ORDERS - 1) * np.array(cost.curve))
    finite = np.isfinite(values)
    last = int(np.flatnonzero(finite)[-1])
    found = np.interp(orders, knots[: last + 1], values[: last + 1])
    if not finite[: last + 1].all():
        raise NumericalFailure("a curve with a gap")
    beyond = orders > knots[last]
    if not math.isfinite(cost.pure):
        return np.asarray(np.where(beyond, np.inf, found))
    found = np.where(beyond, found + (orders - knots[last]) * cost.pure, found)
    return np.asarray(np.minimum(found, (orders - 1) * cost.pure))


def pure_curve(pure: float) -> Array:
    """D_α of any law whose log-ratios are at most ε: ln[(e^{αε} + e^{(1−α)ε})/(1 + e^ε)]/(α−1) (PRIVACY §2)."""
    if not math.isfinite(pure):
        return np.full(len(ORDERS), np.inf)
    whole = np.logaddexp(_ORDERS * pure, (1 - _ORDERS) * pure) - np.logaddexp(0.0, pure)
    # for a small ε what stands above is a difference of nearly equal numbers; ε²α/2 bounds it
    return np.asarray(np.minimum(np.minimum(whole / (_ORDERS - 1) + 1e-12, _ORDERS * pure**2 / 2), pure))


def range_curve(span: float) -> Array:
    """D_α of laws whose log-ratio varies by at most `span` (PRIVACY §2, bounded range)."""
    return np.asarray(np.minimum(span, _ORDERS * span**2 / 8))


def least_cost(first: Cost, second: Cost) -> Cost:
    """Two bounds of one law, the smaller at every order."""
    curve = tuple(map(min, first.curve, second.curve))
    pure = min(first.pure, second.pure)
    slack = max(first.slack_delta, second.slack_delta)
    return Cost(pure, curve, slack, first.gaussian and second.gaussian)
