"""Two posteriors of one row each on a ball: with nobody else the two rows part, and each is a problem in one coordinate.

With F = 1 in `needle_bound.py`, ν the prior on the ball, φ = sf and φ' = sf',

    (α−1)·D_α = log E_ν e^{−αφ + (α−1)φ'} − α·log E_ν e^{−φ} + (α−1)·log E_ν e^{−φ'}.

By Hölder's inequality with exponents ℓ/α and m/(α−1), α/ℓ + (α−1)/m = 1, the first is at most α/ℓ·log E e^{−ℓφ} +
(α−1)/m·log E e^{mφ'}:

    D_α ≤ α/(α−1)·[log E e^{−ℓφ}/ℓ − log E e^{−φ}] + [log E e^{mφ'}/m + log E e^{−φ'}],

at the best of some ℓ and m. For ℓ = m = 2α − 1 there is equality for mirrored rows where the squares in them do not matter (R ≪
1); in wide balls e^{mφ'} is large far out, and a smaller m, with a larger ℓ, is up to 1.6 times better. KL is at most D_α at α
> 1. Each bracket depends on a row's length ζ and target y ≥ 0 alone, by the law of one coordinate t under ν
(`coordinate_law.py`), and both rise with y:

- *the second*, since y²s/2 cancels and what is left are logs of integrals, even and convex in the tilt syζ;
- *the first* has derivative s·(E₁ρ − E_ℓρ) in y, E_ℓ under ν·e^{−ℓφ}, ρ = y − ζt, and dE_ℓρ/dℓ = −(s/2)·Cov(ρ, ρ²) ≤ 0: of ±r the
  density of ρ prefers r, the more the larger r is, because that of ζt is even and log-concave. So |y| = 1.

Between nodes of ζ that are δ apart φ is convex in ζ, below its chord by at most e = sR²δ²/8. Logs of integrals of exponentials
are convex: log E e^{ℓφ}/ℓ is below its chord, log E e^{−ℓφ}/ℓ and log E e^{−φ} are below it + e, and the last is above its chord
less ⅛ of a variance of φ's difference, at most (sδR(1+R/2))²/8. For ℓ, m → ∞ the brackets' first terms are −min φ and max φ',
which bound them at every ℓ and m; with both, D_∞, which bounds every D_α.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.coordinate_law import NARROW, coordinate_law

Array = NDArray[np.float64]

LENGTHS, COARSE = 40, 5
SHARES = (1.0, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5, 3.3, 5.0, 10.0)
"""m/(α−1), of which the best is charged."""
LEAST = 1.05
"""The order that stands for those below."""
STEEP = 1e3
"""ℓsR(1+R) up to which the nodes are enough: the exponent changes by 33 on a panel."""
ROUNDING = 1 + 1e-6


@lru_cache(maxsize=512)
def one_row_bounds(
    orders: tuple[float, ...], strength: float, prior: float, radius: float, dimension: int
) -> tuple[float, ...]:
    """Upper bounds of D_α, infinite where they are not computed; `strength` τ/σ², targets of size 1."""
    if not (prior * radius**2 <= NARROW and strength * radius * (1 + radius) <= STEEP):
        return (math.inf,) * len(orders)
    fine, coarse = (_Brackets.at(strength, prior, radius, dimension, lengths) for lengths in (LENGTHS, COARSE))
    found, place = [], 0
    for order in orders:
        alpha = max(order, LEAST)
        place = _climb(partial(coarse.bound, alpha), place)
        even = 2 + 1 / (alpha - 1)  # ℓ = m
        found.append(min(fine.bound(alpha, SHARES[place]), fine.bound(alpha, even), fine.most) * ROUNDING)
    return tuple(found)


def _climb(height: Callable[[float], float], start: int) -> int:
    """A place of `SHARES` that is lower than both beside it, from `start`."""
    heights = {start: height(SHARES[start])}
    best = start
    while True:
        for beside in (best - 1, best + 1):
            if beside not in heights and 0 <= beside < len(SHARES):
                heights[beside] = height(SHARES[beside])
        lowest = min(heights, key=lambda at: (heights[at], at))
        if lowest == best:
            return best
        best = lowest


@dataclass(frozen=True, slots=True)
class _Brackets:
    """The two brackets on nodes of ζ: φ there, its ends, log E e^{−φ}; `steepness` sR(1+R), and what lies between the nodes."""

    phi: Array
    masses: Array
    low: Array
    high: Array
    plain: Array
    steepness: float
    bend: float
    chord: float

    @staticmethod
    def at(s: float, prior: float, R: float, dimension: int, lengths: int) -> "_Brackets":
        t, masses = coordinate_law(prior * R**2, dimension)
        reach = np.linspace(0, R, lengths + 1)  # ζR
        phi = s * (1 - reach[:, None] * t) ** 2 / 2
        return _Brackets(
            phi=phi,
            masses=masses,
            low=s * np.maximum(1 - reach, 0) ** 2 / 2,
            high=s * (1 + reach) ** 2 / 2,
            plain=_log_mean(-phi, masses),
            steepness=s * R * (1 + R),
            bend=s * (R / lengths) ** 2 / 8,
            chord=(s * R * (1 + R / 2) / lengths) ** 2 / 8,
        )

    @property
    def most(self) -> float:
        return self.first(math.inf) + self.second(math.inf)

    def bound(self, order: float, share: float) -> float:
        power = order * share / (share - 1) if share > 1 else math.inf
        return order / (order - 1) * self.first(power) + self.second((order - 1) * share)

    def first(self, power: float) -> float:
        steep = power * self.steepness > STEEP
        top = -self.low if steep else _log_mean(-power * self.phi, self.masses) / power
        return float((top - self.plain).max()) + self.bend + self.chord

    def second(self, power: float) -> float:
        steep = power * self.steepness > STEEP
        top = self.high if steep else _log_mean(power * self.phi, self.masses) / power
        return float((top + self.plain).max()) + self.bend


def _log_mean(values: Array, masses: Array) -> Array:
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]) @ masses))
