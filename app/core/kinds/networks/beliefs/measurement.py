"""Noisy whole numbers that measure all tables of counts at once, and the law of their noise.

R = N·A + Z with N the counts by (node, configuration, level), A public (nothing, or the characters of binary tables) and Z
independent whole noise, discrete Laplace or discrete Gaussian of one scale: log p(Z = z) is −|z|/b or −z²/(2σ²), up to a
constant that does not depend on N.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NoisyTables:
    """`near` are the counts that R suggests, cell by cell, perhaps negative, and `spread` the sd of their noise.

    `scale` is that of the noise in rows: numbers that were multiplied before noise was added come divided again. `rows` are the
    fewest and the most there may be: public, and equal for one row a person.
    """

    observed: Array = field(repr=False)
    scale: float
    gaussian: bool
    rows: tuple[int, int]
    moved: float
    """The sum of squared changes of the numbers that one record makes, about: how rough the law is to a chain of records."""
    near: Array = field(repr=False)
    spread: Array = field(repr=False)
    linear: Callable[[Array], Array] | None = field(default=None, repr=False)
    """(…, cells) → (…, numbers); None: the numbers are the cells."""

    def numbers(self, cells: Whole) -> Array:
        """What is measured of counts, or of changes of counts, along the last axis."""
        counts = cells.astype(np.float64)
        return counts if self.linear is None else self.linear(counts)

    def log_law(self, residual: Array) -> float:
        if self.gaussian:
            return float(residual @ residual) / (-2 * self.scale**2)
        return float(np.add.reduce(np.abs(residual))) / -self.scale  # a method would take twice as long


def noise_sd(scale: float, gaussian: bool) -> float:
    """Of discrete Laplace noise, √(2q)/(1−q) with q = e^{−1/b}; of discrete Gaussian noise, its parameter as good as."""
    if gaussian:
        return scale
    q = float(np.exp(-1 / scale))
    return float(np.sqrt(2 * q) / -np.expm1(-1 / scale))
