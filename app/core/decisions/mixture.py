"""The law of a new observation: every sample says y ~ N(v, σ²), all samples count the same, and y is held to [lower, upper].

With z = (t − v)/σ and F(t) = mean Φ(z), integrals of F have closed forms:
    ∫Φ dt = σ·[zΦ + φ],    ∫tΦ dt = σv·[zΦ + φ] + ½σ²·[(z² − 1)Φ + zφ],
so means and losses are exact up to rounding, as for `Empirical`; quantiles are found by halving [lower, upper].
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HALVINGS = 60
FAR = 40.0
"""In units of σ: Φ is 0 or 1 beyond, to the last digit, so samples further off are brought here without a difference."""


class Mixture:
    """Immutable. Losses are in units of the public width, as in `Empirical`."""

    def __init__(self, values: Array, noise_sd: float, lower: float, upper: float) -> None:
        # From `lower` on: nothing large is subtracted from something large.
        self._values = np.clip(values - lower, -FAR * noise_sd, (upper - lower) + FAR * noise_sd)
        self._sd = noise_sd
        self._width = upper - lower
        self.lower = lower
        self.upper = upper
        self.size = len(values)

    @cached_property
    def mean(self) -> float:
        """upper − ∫F over the range."""
        return self.lower + self._mean

    @cached_property
    def variance(self) -> float:
        """E y² = width² − 2·∫t·F dt, y counted from `lower`."""
        square = self._width**2 - 2 * (self._moment(self._width) - self._moment(0.0))
        return max(0.0, (square - self._mean**2) / self._width**2)

    def quantile(self, tau: Fraction) -> tuple[float, float]:
        """(the least r with F(r) ≥ τ, its mean pinball loss τ·∫_r(1 − F) + (1 − τ)·∫^r F)."""
        goal, low, high = float(tau), 0.0, self._width
        if self._below(low) >= goal:
            high = low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._below(middle) >= goal else (middle, high)
        under = self._integral(high) - self._integral(0.0)
        over = (self._width - high) - (self._integral(self._width) - self._integral(high))
        return min(self.lower + high, self.upper) + 0.0, (goal * over + (1 - goal) * under) / self._width

    @cached_property
    def _mean(self) -> float:
        inside = self._width - (self._integral(self._width) - self._integral(0.0))
        return min(max(inside, 0.0), self._width)

    def _below(self, t: float) -> float:
        from scipy.special import ndtr  # two thirds of a second: not at start-up

        return self._average(ndtr((t - self._values) / self._sd))

    def _integral(self, t: float) -> float:
        """∫ F up to t."""
        first, _ = self._parts(t)
        return self._average(self._sd * first)

    def _moment(self, t: float) -> float:
        """∫ s·F(s) ds up to t."""
        first, second = self._parts(t)
        return self._average(self._sd * self._values * first + 0.5 * self._sd**2 * second)

    def _parts(self, t: float) -> tuple[Array, Array]:
        """zΦ + φ and (z² − 1)Φ + zφ."""
        from scipy.special import ndtr

        z = (t - self._values) / self._sd
        density, below = np.exp(-z * z / 2) / math.sqrt(2 * math.pi), ndtr(z)
        return z * below + density, (z * z - 1) * below + z * density

    def _average(self, values: Array) -> float:
        """`np.sum` adds pairwise in an order fixed by the length, the same in every process."""
        return float(np.sum(values)) / self.size
