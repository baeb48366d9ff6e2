"""How far out few people can put a coordinate of the weights, and the divergence over all laws that this leaves.

**Lemma.** On the ball ‖w‖ ≤ R, under e^{−λ‖w‖²/2} and rows of strengths sᵢ ≥ 0, together T, with targets of size 1,
the density f of a coordinate t = eᵀw has

    t·f'(t) ≤ (T/4 − λt²)·f(t).

Let w = te + v, A = Σsᵢzᵢzᵢᵀ with blocks A₁₁, A₁₂, A₂₂ and a = Σsᵢzᵢyᵢ. As |t| grows the section |v| ≤ √(R²−t²)
shrinks, which only lowers f; for the rest t·(log f)' = −(λ+A₁₁)t² + a₁t − tA₁₂ᵀE v. The section is even, so E v =
M(a₂ − tA₁₂), M the mean of the covariances as the tilt goes from 0 to that: 0 ≤ M ≤ (λ+A₂₂)⁻¹ (Brascamp and Lieb),
hence MA₂₂M ≤ M. With x = t·(e − MA₁₂) then xᵀAx ≤ t²(A₁₁ − A₁₂ᵀMA₁₂) and aᵀx = t(a₁ − A₁₂ᵀMa₂), so t·(log f)' + λt² ≤
aᵀx − xᵀAx = Σsᵢ·zᵢᵀx·(yᵢ − zᵢᵀx) ≤ Σsᵢyᵢ²/4. (‖w‖ has the density ρ^{d−1}·∫e^{−E(ρω)}dω, which changes with log ρ by
d − 1 − wᵀ∇E, at most d − 1 + T/4 − λρ².)

So on either side of 0 f falls beside g_T(r) = r^{T/4}·e^{−λr²/2}: it is a mixture of laws g_T on [0, r] and on [−r,
0], r ≤ R. The same is true of u = zᵀw, |z| ≤ 1.

**The two rows part.** In the notation of `needle_bound.py`, φ = sf, φ' = sf' and P₀ the posterior without the row
that changes,

    D_α = log E_P e^{(α−1)(φ'−φ)}/(α−1) + log E_P e^{φ−φ'}.

By Hölder's inequality with 1/m + 1/k = 1/(α−1) and 1/i + 1/j = 1, and since E_P e^{hφ} =
E_{P₀}e^{(h−1)φ}/E_{P₀}e^{−φ}, it is at most

    [log E_P e^{mφ'}/m + log E_P e^{−jφ'}/j] + [log E_{P₀}e^{−(k+1)φ}/k + log E_{P₀}e^{(i−1)φ}/i − (1/k+1/i)·log E_{P₀}e^{−φ}],

for every m and i; with m = α − 1, i = 1 nothing is left of φ' but the first, nor of φ but −log E_{P₀}e^{−φ}. The
first bracket depends on the law of z'ᵀw, a mixture as above with all rows, T, the second on that of zᵀw without one,
T − s. Means are then in the convex hull of the points (A, B, C) that the laws on [0, r] and [−r, 0] have, and there,
for every a, b, ρ > 0 (a tangent plane of a concave function; the arithmetic mean and the geometric),

    a·log A + b·log B ≤ a·log ρ + (a+b)·log (max of aA/ρ + bB over the points)/(a+b),
    a·log A + b·log B − (a+b)·log C ≤ a·log ρ + (a+b)·log (max of (aA/ρ + bB)/C over the points)/(a+b).

Functions of u are steps on cells, at their end that is on the safe side; as r passes through a cell the point moves
on the straight line between its ends', so ends of cells are points enough. A target −1 is one of 1, mirrored.

**Several rows** of a person, counted in s: φ' is a mean of k such terms and e^{(α−1)φ'} at most the mean of k
exponentials, of which each is as above; for E_{P₀}e^{−φ} ‖w‖ stands in for |u|. With m = α − 1 and i = 1 that is all
there is. KL is below every D_α.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Exponents = tuple[float, float]
"""m/(α−1) and i."""

COARSE, FINE = (200, 16), (1_000, 48)
"""Cells and values of ρ; the first find the exponents."""
APART: Exponents = (1.0, 1.0)
TRIED: tuple[Exponents, ...] = (APART, *product((1.1, 1.5, 2.0, 3.0), (1.15, 1.5, 2.0)))
EVERY = 5
"""Orders for which exponents are found anew."""
LEAST = 1.05
"""The order that stands for those below."""
WORTH = 2.5
"""How much closer fine cells may be."""
POWER_MAX, NARROW = 30.0, 600.0
"""T/4 up to which few people are few, and λR² up to which the cells are enough."""
NOTHING = 1e-280
ROUNDING = 1 + 1e-6


@lru_cache(maxsize=512)
def outward_bounds(
    orders: tuple[float, ...],
    known: tuple[float, ...],
    strength: float,
    total: float,
    prior: float,
    radius: float,
    dimension: int,
    several: bool = False,
) -> tuple[float, ...]:
    """Upper bounds of D_α, infinite where they are not less than `known` or not computed; `total` nτ/σ²."""
    with_all, without = max(total, strength) / 4, max(total - strength, 0.0) / 4 + (dimension - 1 if several else 0)
    if not (max(with_all, without) <= POWER_MAX and prior * radius**2 <= NARROW):
        return (math.inf,) * len(orders)
    pairs = [
        [_Laws.at(strength, power, prior, radius, cells) for power in (with_all, without)]
        for cells, _ in (COARSE, FINE)
    ]
    tried, found, best, worth = (APART,) if several else TRIED, [], APART, True
    for place, (order, most) in enumerate(zip(orders, known, strict=True)):
        more = max(order, LEAST) - 1
        if place % EVERY == 0:
            value, best = min((_parted(pairs[0], more, each, COARSE[1]), each) for each in tried)
            worth = value < WORTH * most
        found.append(_parted(pairs[1], more, best, FINE[1]) if worth else math.inf)
    return tuple(found)


def _parted(laws: "list[_Laws]", more: float, exponents: Exponents, tangents: int) -> float:
    (share, i), (other, own) = exponents, laws
    m, k, j = more * share, more * share / (share - 1) if share > 1 else math.inf, i / (i - 1) if i > 1 else math.inf
    return (other.coming(m, j, tangents) + own.leaving(k, i, tangents)) * ROUNDING


@dataclass(frozen=True, slots=True)
class _Laws:
    """On cells of u, of both signs (2, cells): the least and the largest φ; and the mass of g_T there."""

    least: Array
    most: Array
    masses: Array

    @staticmethod
    def at(strength: float, power: float, prior: float, radius: float, cells: int) -> "_Laws":
        ends = radius * np.linspace(0, 1, cells + 1) ** 1.5
        low, high = ends[:-1], ends[1:]
        nearest = np.where((low <= 1) & (high >= 1), 0.0, np.minimum(np.abs(1 - low), np.abs(1 - high)))
        least = np.stack([1 + low, nearest])
        most = np.stack([1 + high, np.maximum(np.abs(1 - low), np.abs(1 - high))])
        return _Laws(strength * least**2 / 2, strength * most**2 / 2, _masses(ends, power, prior))

    def _means(self, values: Array) -> Array:
        return np.asarray((np.cumsum(values * self.masses, axis=1) / np.cumsum(self.masses)).ravel())

    def _points(self, power: float) -> tuple[Array, float]:
        """No less than E e^{power·φ} under all of [0, r] and [−r, 0], and the logarithm of their unit."""
        values = power * (self.most if power > 0 else self.least)
        top = float(values.max())
        return np.maximum(self._means(np.exp(values - top)) * ROUNDING, NOTHING), top

    def coming(self, m: float, j: float, tangents: int) -> float:
        """log E e^{mφ}/m + log E e^{−jφ}/j."""
        (first, top), a = self._points(m), 1 / m
        if j == math.inf:
            return a * (top + math.log(float(first.max())))
        (second, high), b = self._points(-j), 1 / j
        return a * top + b * high + _largest(first, second, a, b, tangents)

    def leaving(self, k: float, i: float, tangents: int) -> float:
        """log E e^{−(k+1)φ}/k + log E e^{(i−1)φ}/i − (1/k+1/i)·log E e^{−φ}."""
        least = self._means(np.exp(-self.most)) / ROUNDING
        if not least.min() > NOTHING:
            return math.inf
        if k == math.inf:
            return -math.log(float(least.min()))
        (first, top), (second, high), a, b = self._points(-(k + 1)), self._points(i - 1), 1 / k, 1 / i
        return a * top + b * high + _largest(first, second, a, b, tangents, least)


def _largest(first: Array, second: Array, a: float, b: float, tangents: int, beside: Array | None = None) -> float:
    """Of a·log A + b·log B (− (a+b)·log C) over the hull of the points: the least of the bounds at some ρ."""
    low, high = (math.log(float(x) / float(y)) for x, y in ((first.min(), second.max()), (first.max(), second.min())))
    log_ratio = np.linspace(low, high, tangents)
    values = a * first * np.exp(-log_ratio)[:, None] + b * second
    largest = (values if beside is None else values / beside).max(axis=1)
    return float((a * log_ratio + (a + b) * np.log(largest / (a + b))).min())


def _masses(ends: Array, power: float, prior: float) -> Array:
    """Of r^power·e^{−λr²/2} in cells, to `ROUNDING`: Gauss–Legendre; in the first the power by itself, the rest at its mean."""
    x, weight = np.polynomial.legendre.leggauss(16)
    r = (ends[1:, None] + ends[:-1, None] + np.diff(ends)[:, None] * x) / 2
    masses = np.diff(ends) / 2 * ((r / ends[-1]) ** power * np.exp(-prior * r**2 / 2) @ weight)
    near = prior * ends[1] ** 2 / 2 * (power + 1) / (power + 3)
    masses[0] = ends[1] / (power + 1) * (ends[1] / ends[-1]) ** power * math.exp(-near)
    return np.asarray(masses)
