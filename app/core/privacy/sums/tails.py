"""How steep and how bent the logarithm of the table really drawn can be, on intervals of sums: from a ceiling of ψ″.

Drawn is q = (1−γ)p + γ/K, L = log q, along the sum t (`mixed_slope.py`), x = ℓ_k′ = τη_k − m and w = p_k/(p_k + γ/((1−γ)K)):

    L′ = w·x,   L″ = w(1−w)x² − w·ψ″,   L‴ = w(1−w)(1−2w)x³ − 3w(1−w)x·ψ″ − w·ψ‴.

For x > 0 and any λ > 0 Chernoff's bound is log p_k ≤ C − λx with C = ∫_t^{t+λ} (t + λ − u)·ψ″(u) du, because ℓ_k(t+λ) ≤ 0. So

    w ≤ e^{−λ(x − Y)},   Y = (C + log(K/γ))/λ,

for x < 0 alike with −λ; Y is the larger of the two sides. Since x·min(1, e^{−λ(x−Y)}), x²·min(¼, ·) and x³·min(0.0963, ·) fall
from 3/λ on, which is less than Y,

    |L′| ≤ Y,   L″ ≤ M = ¼·(Y + 1.4/λ)²,   |L‴| ≤ T = 0.0963·(Y + 2.4/λ)³ + ¾·(Y + 1.4/λ)·S + 8.5·S^{3/2}.

For T, C is λ²S/2 with ψ″ ≤ S as far as λ to either side, λ²S ≥ 9: then E x⁴ ≤ 2∫ 4a³·P(x > a) da, with P at most e^{−a²/2S} up to
a = λS and e^{λ²S/2 − λa} beyond, is under 17.2·S², and |ψ‴| ≤ (E x⁴)^{¾}.

For every t of an interval [a, b], C is at most the same integral over [a, b + λ] with b + λ in place of t + λ, and λ²/2 times the
largest ψ″ there. Each λ tells the truth: which are tried decides how close the bounds are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.privacy.curvature import Ceiling
from app.core.privacy.kernel import Hats
from app.core.privacy.range_maximum import RangeMaximum

Array = NDArray[np.float64]

_TRIED = 22
_TINY = 1e-300
_GROWTH = 1.6
_THIRD_SDS = (3.0, 4.5, 6.0, 7.2)


@dataclass(frozen=True, slots=True)
class Steepness:
    """Of some intervals: S, Y, M, T; and the λ upwards and downwards from which Y and M come."""

    top: Array
    slope: Array
    bend: Array
    third: Array
    reach: tuple[Array, Array]


class Tails:
    def __init__(self, ceiling: Ceiling, points: int) -> None:
        self._nodes = ceiling.nodes
        self._tops = RangeMaximum(np.maximum(ceiling.left, ceiling.right)[None])
        self._sides = Hats(ceiling), Hats(ceiling.mirrored())
        self._room = float(np.log(points / UNIFORM_SHARE))
        self.highest = float(np.maximum(ceiling.left, ceiling.right).max())

    def top(self, start: Array, stop: Array) -> Array:
        """A ceiling of ψ″ on [start, stop]; infinite where nothing is known."""
        first, last = (np.searchsorted(self._nodes, t, side="right") - 1 for t in (start, stop))
        unknown = (start < self._nodes[0]) | (stop > self._nodes[-1])
        first, last = (place.clip(0, len(self._nodes) - 2) for place in (first, last))
        return np.where(unknown, np.inf, self._tops.between(0, first, last))

    def steepness(self, start: Array, stop: Array, reach: tuple[Array, Array] | None = None) -> Steepness:
        """On intervals [start, stop], with λ as given or the best of many."""
        if reach is None:
            tried = np.sqrt(2 * self._room / self.highest) * _GROWTH ** (np.arange(_TRIED) - 1.0)
            reach = self._best(start, stop, tried, 0), self._best(start, stop, tried, 1)
        slopes = [self._slope(start, stop, reach[side], side) for side in (0, 1)]
        bends = [0.25 * (slope + 1.4 / away) ** 2 for slope, away in zip(slopes, reach, strict=True)]
        return Steepness(
            self.top(start, stop), np.maximum(*slopes), np.maximum(*bends), self._third(start, stop), reach
        )

    def _best(self, start: Array, stop: Array, tried: Array, side: int) -> Array:
        slopes = np.stack([self._slope(start, stop, np.full(len(start), reach), side) for reach in tried])
        return np.asarray(tried[slopes.argmin(axis=0)])

    def _slope(self, start: Array, stop: Array, reach: Array, side: int) -> Array:
        """Y for points above the mean, or below it for the second side; infinite where nothing is known."""
        first, last = (start, stop + reach) if side == 0 else (start - reach, stop)
        tallest = self.top(first, last)
        from_ = (first if side == 0 else -last).clip(*self._ends(side))
        length = np.minimum(last - first, self._ends(side)[1] - from_)
        integral = self._sides[side].at(from_, np.ones(len(start)), length)
        return np.where(
            np.isfinite(tallest), (np.minimum(integral, reach**2 / 2 * tallest) + self._room) / reach, np.inf
        )

    def _ends(self, side: int) -> tuple[float, float]:
        low, high = float(self._nodes[0]), float(self._nodes[-1])
        return (low, high) if side == 0 else (-high, -low)

    def _third(self, start: Array, stop: Array) -> Array:
        near = np.maximum(self.top(start, stop), _TINY)
        least = np.full(len(start), np.inf)
        for sds in _THIRD_SDS:
            reach = sds / np.sqrt(near)
            top = self.top(start - reach, stop + reach)
            far = reach * top / 2 + self._room / reach
            third = 0.0963 * (far + 2.4 / reach) ** 3 + 0.75 * (far + 1.4 / reach) * top + 8.5 * top**1.5
            least = np.fmin(least, third)
        return least
