"""The law of the whole numbers that noise is really added to, and by how much two neighbours' differ.

A mechanism's own `measure` is run with `Spy` in place of its noise: it takes down every value and the scale asked for, and adds
nothing. Two neighbours then differ by whole shifts m_j under scales b_j that both have, and the noise is a law that is written
down: for discrete Laplace noise, in numbers of 60 digits,

    D_α = ln{ (1−q)/(1+q)·[ (q^{αm} + q^{(1−α)m})/(1−q) + Σ_{z=1}^{m−1} q^{αm+(1−2α)z} ] } / (α−1),   q = e^{−1/b},  pure m/b;

for the discrete Gaussian αm²/(2σ²) wherever αm is whole, and nowhere more (Canonne, Kamath and Steinke 2020). What cannot be
fixed this way is that the library's sampler has that law: it takes no seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.core.audits.exact_laws import Divergences, added
from app.core.privacy.cost import ORDERS

Whole = NDArray[np.int64]
DIGITS = 60


@dataclass(slots=True)
class Spy:
    """Passes for `AddNoise` of either law."""

    values: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def __call__(self, values: Whole, scale: ArrayLike) -> Whole:
        self.values += [int(value) for value in values]
        self.scales += np.broadcast_to(np.asarray(scale, dtype=np.float64), values.shape).tolist()
        return values


def shifts(before: Spy, after: Spy) -> list[tuple[int, float]] | None:
    """(how far, the scale of the noise) of every number that differs; None where the two are not even made alike."""
    if before.scales != after.scales or len(before.values) != len(after.values):
        return None
    moved = zip(before.values, after.values, before.scales, strict=True)
    return [(abs(a - b), scale) for a, b, scale in moved if a != b]


def laplace_law(moved: Sequence[tuple[int, float]]) -> Divergences:
    """Of numbers that all move independently."""
    return added([_one_number(shift, scale) for shift, scale in moved])


@lru_cache(maxsize=256)
def _one_number(shift: int, scale: float) -> Divergences:
    """No less than KL is the divergence of the least order."""
    curve = tuple(_laplace(order, shift, scale) for order in ORDERS)
    return Divergences(curve[0], curve, shift / scale)


def gaussian_law(moved: Sequence[tuple[int, float]]) -> Divergences:
    rho = math.fsum(shift**2 / (2 * scale**2) for shift, scale in moved)
    return Divergences(rho, tuple(order * rho for order in ORDERS), math.inf if moved else 0.0)


def _laplace(order: float, shift: int, scale: float) -> float:
    import mpmath  # loaded by the first noise that is looked at, not at start

    with mpmath.workdps(DIGITS):
        rate, alpha = 1 / mpmath.mpf(scale), mpmath.mpf(order)
        q, far, step = mpmath.exp(-rate), mpmath.exp(-alpha * shift * rate), mpmath.exp((2 * alpha - 1) * rate)
        steps = mpmath.exp((2 * alpha - 1) * rate * (shift - 1))
        outer = (far + mpmath.exp((alpha - 1) * shift * rate)) / (1 - q)
        inner = far * step * (steps - 1) / (step - 1)
        return float(mpmath.log((1 - q) / (1 + q) * (outer + inner)) / (alpha - 1))


def laplace_pmf(scale: float, reach: int) -> NDArray[np.float64]:
    """P(z) for |z| ≤ reach, what is beyond being left out."""
    z = np.abs(np.arange(-reach, reach + 1))
    chance: NDArray[np.float64] = np.exp(-z / scale) * -math.expm1(-1 / scale) / (1 + math.exp(-1 / scale))
    return chance
