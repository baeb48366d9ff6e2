"""The values an estimand takes over the samples, with the sums that every utility reads its answer from.

Each sum is computed once and kept, so the mean, any quantile and their expected utilities cost the same for a
hundred samples and for a million. Losses are in units of the public width: z = (g − lower)/(upper − lower).
"""

import math
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.regret import rank_of

# z is split into a whole number of 2⁻⁴⁰ and the rest below it; 2²² whole numbers of 40 bits fit 63 bits.
FRACTION_BITS = 40
SAMPLES_MAX = 2**22
PART = 2**13


class Empirical:
    """k ≥ 1 values inside the public range [lower, upper], lower < upper. Immutable."""

    def __init__(self, values: NDArray[np.float64], lower: float, upper: float) -> None:
        self.values = values
        self.lower = lower
        self.upper = upper
        self.size = len(values)

    @property
    def is_summed(self) -> bool:
        """Whether every answer from here takes a few steps, however many values there are."""
        return self.__dict__.keys() >= {"mean", "variance", "_ordered", "_prefixes"}

    def sum_up(self) -> None:
        _ = self.mean, self.variance, self._prefixes

    @cached_property
    def mean(self) -> float:
        """The exactly rounded sum over k, so the order of addition cannot show; never outside the values.

        In parts, between which other threads get to run: a million floats at once would hold them up for a tenth of a second.
        """
        parts = (self.values[start : start + PART].tolist() for start in range(0, self.size, PART))
        mean = math.fsum(chain.from_iterable(parts)) / self.size
        return _plain(min(max(mean, float(self.values.min())), float(self.values.max())))

    @cached_property
    def variance(self) -> float:
        """(1/k)·Σ((g − mean)/(upper − lower))²: no difference of large moments.

        `np.sum` adds pairwise in an order fixed by the length, the same in every process.
        """
        error = (self.values - self.mean) / (self.upper - self.lower)
        return float(np.sum(error * error)) / self.size

    @cached_property
    def _ordered(self) -> NDArray[np.float64]:
        return np.sort(self.values)

    @cached_property
    def _prefixes(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sums of the first j ordered z, j = 0…k, in units of 2⁻⁴⁰: whole parts exactly, and the rests.

        Whole parts add without error in any order; the rests are below 1 each, so their rounding is some
        10⁻¹⁶ of a result even for a million samples. `cumsum` adds from left to right on every machine.
        """
        scaled = (self._ordered - self.lower) / (self.upper - self.lower) * 2.0**FRACTION_BITS
        whole = np.floor(scaled)
        sums = np.zeros(self.size + 1, dtype=np.int64), np.zeros(self.size + 1)
        np.cumsum(whole.astype(np.int64), out=sums[0][1:])
        np.cumsum(scaled - whole, out=sums[1][1:])
        return sums

    def quantile(self, tau: Fraction) -> tuple[float, float]:
        """(the order statistic of rank ⌈τk⌉, its mean pinball loss)."""
        rank = rank_of(tau, self.size)
        return self.order_statistic(rank), self.pinball_loss(rank, tau.numerator / tau.denominator)

    def order_statistic(self, rank: int) -> float:
        """The value with `rank` values at or before it when sorted, 1 ≤ rank ≤ k."""
        return _plain(float(self._ordered[rank - 1]))

    def pinball_loss(self, rank: int, tau: float) -> float:
        """(1/k)·Σρ_τ(z − r) at the order statistic r, with ρ_τ(x) = max(τx, (τ−1)x).

        With S_j the sum of the first j ordered z: τ·[(S_k − S_j) − (k−j)·r] + (1−τ)·[j·r − S_j], j = rank.
        """
        scaled = (float(self._ordered[rank - 1]) - self.lower) / (self.upper - self.lower) * 2.0**FRACTION_BITS
        whole = math.floor(scaled)
        above, below = 0.0, 0.0
        for prefix, own in zip(self._prefixes, (whole, scaled - whole), strict=True):
            start, end = prefix[rank].item(), prefix[-1].item()
            above += end - start - (self.size - rank) * own
            below += rank * own - start
        return float((tau * above + (1 - tau) * below) / (self.size * 2.0**FRACTION_BITS))

    def beyond(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(Σ max(y − g, 0), Σ max(g − y, 0)) for every point y, from the prefix sums S_j of the z, as above.

        With j values at or before y: j·y − S_j and (S_k − S_j) − (k−j)·y for y inside the public range; outside it only
        one sum is not 0, and grows by k for every unit.
        """
        inside = np.clip(points, self.lower, self.upper)
        scaled = (inside - self.lower) / (self.upper - self.lower) * 2.0**FRACTION_BITS
        whole = np.floor(scaled)
        ranks = np.searchsorted(self._ordered, inside, side="right")
        below, above = np.zeros(len(points)), np.zeros(len(points))
        parts: tuple[Any, Any] = whole.astype(np.int64), scaled - whole
        for prefix, own in zip(self._prefixes, parts, strict=True):
            below += ranks * own - prefix[ranks]
            above += prefix[-1] - prefix[ranks] - (self.size - ranks) * own
        unit = (self.upper - self.lower) / 2.0**FRACTION_BITS
        return (
            below * unit + self.size * np.maximum(points - self.upper, 0.0),
            above * unit + self.size * np.maximum(self.lower - points, 0.0),
        )


def _plain(value: float) -> float:
    """−0.0 and 0.0 are the same answer and must be the same bytes."""
    return value + 0.0
