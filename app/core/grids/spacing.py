"""Where grid points lie: evenly in a coordinate φ(θ) in which every posterior has about the same width."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.core.grids.combination import Combination

Array = NDArray[np.float64]

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Spacing:
    """φ and its inverse, with log dθ/dφ as a combination (up to a constant)."""

    name: str
    forward: Callable[[float], float]
    inverse: Callable[[Array], Array]
    log_width: Combination


EVEN = Spacing("even", float, lambda phi: phi, Combination())
SQUARE_ROOT = Spacing("square root", math.sqrt, np.square, Combination(log=_HALF))
LOGARITHM = Spacing("logarithm", math.log, np.exp, Combination(log=Fraction(1)))
ARCSINE = Spacing(
    "arcsine",
    lambda theta: math.asin(math.sqrt(theta)),
    lambda phi: np.sin(phi) ** 2,
    Combination(log=_HALF, complement=_HALF),
)
WAITING = Spacing(
    "waiting",
    lambda theta: -2 * math.atanh(math.sqrt(1 - theta)),
    lambda phi: 1 - np.tanh(phi / 2) ** 2,
    Combination(log=Fraction(1), complement=_HALF),
)
