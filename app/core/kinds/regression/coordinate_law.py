"""One coordinate t of e^{−λ‖w‖²/2} on the unit ball in d dimensions: its law, and why no tilt makes a variance larger.

Its density is g(t) = e^{−λt²/2}·γ(a, X), X = λ(1−t²)/2, a = (d−1)/2, even and log-concave. Under a tilt e^{c·w}, d ≤ 3:

- *Across c* a coordinate has mean 0, and its square, given that along c, is in the mean smaller the nearer that is to ±1; which a
  tilt brings nearer (|t| grows with cosh ct).
- *Along c*, for t, t' independent, x = (t−t')/√2 and y = (t+t')/√2 only y's law depends on c, and |y| grows with |c|; Var t =
  E x². Given y, x has density g((x+y)/√2)·g((x−y)/√2), which falls the faster in |x| the larger |y|, if ℓ = log g has ℓ''' ≤ 0
  for t > 0: then E x² falls. With h = (log γ)'(X) > 0, ℓ''' = 3λ²th' − λ³t³h''; from h' = −h(1 + (1−a)/X) − h² follows h' ≤ 0
  and, again for a ≤ 1, h'' ≥ 0. In the limit of λ = 0, ℓ = a·log(1−t²) and the same holds.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PANELS, NODES = 60, 20
NARROW = 1e4
"""λ up to which the nodes are enough: a panel is three sds long."""


@lru_cache(maxsize=64)
def coordinate_law(prior: float, dimension: int) -> tuple[Array, Array]:
    """Nodes in [−1, 1] and their masses, for λ = `prior` ≤ `NARROW`."""
    from scipy.special import gammainc

    x, weight = np.polynomial.legendre.leggauss(NODES)
    ends = np.linspace(-1, 1, PANELS + 1)
    t = ((ends[:-1] + ends[1:])[:, None] / 2 + x / PANELS).ravel()
    mass = np.tile(weight, PANELS) * np.exp(-prior * t**2 / 2)
    if dimension > 1:
        half, room = (dimension - 1) / 2, 1 - t**2
        mass = mass * (room**half if prior < 1e-8 else gammainc(half, prior * room / 2))
    return t, np.asarray(mass / mass.sum())


def coordinate_variance(prior: float, dimension: int) -> float:
    """Of t, rounded up; 1/λ where the ball is wide."""
    if prior > NARROW:
        return 1 / prior
    t, mass = coordinate_law(prior, dimension)
    return float(mass @ t**2) * (1 + 1e-6)


def coordinate_moments(prior: float, dimension: int) -> tuple[float, float]:
    """E t² and E t⁴, those of a normal law where the ball is wide."""
    if prior > NARROW:
        return 1 / prior, 3 / prior**2
    t, mass = coordinate_law(prior, dimension)
    return float(mass @ t**2), float(mass @ t**4)
