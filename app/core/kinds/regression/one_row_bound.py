"""Two posteriors of one row each on a ball: with nobody else the two rows part, and each is a problem in one coordinate.

With F = 1 in `needle_bound.py`, ν the prior on the ball, φ = sf and φ' = sf',

    (α−1)·D_α = log E_ν e^{−αφ + (α−1)φ'} − α·log E_ν e^{−φ} + (α−1)·log E_ν e^{−φ'}.

By Hölder's inequality with exponents ℓ/α and ℓ/(α−1), ℓ = 2α − 1, the first is at most α/ℓ·log E e^{−ℓφ} + (α−1)/ℓ·log E e^{ℓφ'}:

    D_α ≤ α/(α−1)·[log E e^{−ℓφ}/ℓ − log E e^{−φ}] + [log E e^{ℓφ'}/ℓ + log E e^{−φ'}],

with equality for mirrored rows where the squares in them do not matter (R ≪ 1). Each bracket depends on a row's length ζ and
target y ≥ 0 alone, by the law of one coordinate t under ν (`coordinate_law.py`), and both rise with y:

- *the second*, since y²s/2 cancels and what is left are logs of integrals, even and convex in the tilt syζ;
- *the first* has derivative s·(E₁ρ − E_ℓρ) in y, E_ℓ under ν·e^{−ℓφ}, ρ = y − ζt, and dE_ℓρ/dℓ = −(s/2)·Cov(ρ, ρ²) ≤ 0: of ±r the
  density of ρ prefers r, the more the larger r is, because that of ζt is even and log-concave. So |y| = 1.

Between nodes of ζ that are δ apart φ is convex in ζ, below its chord by at most e = sR²δ²/8. Logs of integrals of exponentials
are convex: log E e^{ℓφ}/ℓ is below its chord, log E e^{−ℓφ}/ℓ and log E e^{−φ} are below it + e, and the last is above its chord
less ⅛ of a variance of φ's difference, at most (sδR(1+R/2))²/8. For ℓ → ∞: D_∞, which bounds every D_α.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.coordinate_law import NARROW, coordinate_law

Array = NDArray[np.float64]

LENGTHS = 40
STEEP = 1e3
"""ℓsR(1+R) up to which the nodes are enough: the exponent changes by 33 on a panel."""
ROUNDING = 1 + 1e-6


@lru_cache(maxsize=512)
def one_row_bounds(
    orders: tuple[float, ...], strength: float, prior: float, radius: float, dimension: int
) -> tuple[float, ...]:
    """Upper bounds of D_α, infinite where they are not computed; `strength` τ/σ², targets of size 1."""
    s, R = strength, radius
    if not (prior * R**2 <= NARROW and s * R * (1 + R) <= STEEP):
        return (math.inf,) * len(orders)
    t, masses = coordinate_law(prior * R**2, dimension)
    reach = np.linspace(0, R, LENGTHS + 1)  # ζR
    phi = s * (1 - reach[:, None] * t) ** 2 / 2
    low, high, plain = s * np.maximum(1 - reach, 0) ** 2 / 2, s * (1 + reach) ** 2 / 2, _log_mean(-phi, masses)
    bend, chord = s * (R / LENGTHS) ** 2 / 8, (s * R * (1 + R / 2) / LENGTHS) ** 2 / 8
    most = float((-low - plain).max() + (high + plain).max()) + 2 * bend + chord
    found = []
    for order in orders:
        power = 2 * order - 1
        bound = math.inf
        if order > 1 and power * s * R * (1 + R) <= STEEP:
            first = float((_log_mean(-power * phi, masses) / power - plain).max()) + bend + chord
            second = float((_log_mean(power * phi, masses) / power + plain).max()) + bend
            bound = order / (order - 1) * first + second
        found.append(min(bound, most) * ROUNDING)
    return tuple(found)


def _log_mean(values: Array, masses: Array) -> Array:
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]) @ masses))
