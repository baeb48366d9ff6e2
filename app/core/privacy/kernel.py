"""Certified Rényi curves from a ceiling of the curvature: tight at every order, for any real-valued statistic.

With ψ″ ≤ S from `curvature.py` and Δ > 0 the sensitivity, Taylor's theorem gives, for ℓ = (α−1)Δ,

    D_α(P_t ‖ P_{t+Δ}) = ∫ hat·ψ″ ≤ G(t, Δ) = ∫_{t−ℓ}^t (u − t + ℓ)/(α−1)·S du + ∫_t^{t+Δ} (t + Δ − u)·S du,

the first term absent for KL, α = 1; the other direction is the mirror image. The supremum over the whole numbers t
where both datasets exist is found by halving intervals. For every t in [t₀, t₀+w] the hat lies under one wider hat: rising like
the first from t₀ − ℓ, falling like the last to t₀ + w + Δ, which is the hat of Δ + w/α at t₀ + w·(α−1)/α. So

    G(t, Δ) ≤ min( G(t₀ + w·(α−1)/α, Δ + w/α),  (α−1)Δ²/2·max S on [t₀−ℓ, t₀+w] + Δ²/2·max S on [t₀, t₀+w+Δ] ).

Intervals whose bound exceeds the largest G seen by more than TOLERANCE are halved; the answer is the largest bound, of those
that were settled and of those still open when the rounds or the room for intervals ended.
Which are halved and when that ends decides the work, never the soundness.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.curvature import Ceiling, curvature_ceiling
from app.core.privacy.enumeration import Supremum
from app.core.privacy.range_maximum import RangeMaximum
from app.errors import NumericalFailure

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 5e-4
_FIRST_INTERVALS = 64
_INTERVALS_MAX = 40_000
_ROUNDS_MAX = 60
_ROUNDOFF = 2.0**-53
_POWERS = np.array([1.0, *ORDERS])


def kernel_ceiling(grid: PublicGrid, statistic_range: tuple[int, int], rows: int) -> Ceiling | None:
    """Of ψ″ wherever a path of the largest order goes; none where the grid is too coarse for `curvature.py`."""
    low, high = statistic_range
    reach = (ORDERS[-1] - 1) * float(high - low)
    ceiling = curvature_ceiling(grid, rows, (rows * low - reach, rows * high + reach))
    if ceiling is not None and not np.isfinite(ceiling.left + ceiling.right).all():
        raise NumericalFailure("a ceiling of the curvature came out undefined")
    return ceiling


def kernel_supremum(grid: PublicGrid, statistic_range: tuple[int, int], rows: int) -> Supremum | None:
    """Bounds of D_α at every order and of KL, one row a person; none where there is no ceiling."""
    ceiling = kernel_ceiling(grid, statistic_range, rows)
    return None if ceiling is None else supremum_under(ceiling, statistic_range, rows)


def supremum_under(ceiling: Ceiling, statistic_range: tuple[int, int], rows: int) -> Supremum:
    low, high = statistic_range
    return supremum_of_step(ceiling, (float(rows * low), float(rows * high)), float(high - low))


def supremum_of_step(ceiling: Ceiling, ends: tuple[float, float], step: float) -> Supremum:
    """Of datasets whose sums lie between the ends, `step` apart."""
    upward = _suprema(ceiling, (ends[0], ends[1] - step), step)
    downward = _suprema(ceiling.mirrored(), (-ends[1], -ends[0] - step), step)
    kl, *curve = np.maximum(upward, downward)
    return Supremum(np.array(curve), float(kl))


def _suprema(ceiling: Ceiling, ends: tuple[float, float], step: float) -> Array:
    """sup G over whole numbers t in `ends` for KL and every order: branch and bound, all orders side by side."""
    hats = Hats(ceiling)
    count = len(_POWERS)
    cuts = np.unique(np.floor(np.linspace(ends[0], ends[1] + 1, _FIRST_INTERVALS + 1)))
    which = np.repeat(np.arange(count), len(cuts) - 1)
    starts, stops = np.tile(cuts[:-1], count), np.tile(cuts[1:] - 1, count)
    seen = np.zeros(count)
    settled = np.zeros(count)
    rounds = 0
    while True:
        power = _POWERS[which]
        bounds = hats.over(starts, stops, power, step)
        np.maximum.at(seen, which, hats.at(np.floor((starts + stops) / 2), power, np.full(len(which), step)))
        open_ = ~(bounds <= seen[which] * (1 + TOLERANCE)) & (stops > starts)
        np.maximum.at(settled, which[~open_], bounds[~open_])
        rounds += 1
        if not open_.any() or 2 * open_.sum() > _INTERVALS_MAX or rounds == _ROUNDS_MAX:
            np.maximum.at(settled, which[open_], bounds[open_])
            return settled
        which, middle = np.tile(which[open_], 2), np.floor((starts[open_] + stops[open_]) / 2)
        starts, stops = np.concatenate([starts[open_], middle + 1]), np.concatenate([middle, stops[open_]])


class Hats:
    """Integrals of S under rising and falling lines, from running sums, and largest values of S."""

    def __init__(self, ceiling: Ceiling) -> None:
        self._nodes, self._left, self._right = ceiling.nodes, ceiling.left, ceiling.right
        widths = np.diff(ceiling.nodes)
        self._slope = (self._right - self._left) / widths
        # I = ∫S and J = ∫I from the highest cell outwards: |I| and J then grow in both directions.
        centre = int(np.argmax(self._left))
        self._once = _running(widths * (self._left + self._right) / 2, centre)
        self._twice = _running(widths * (self._once[:-1] + widths * (2 * self._left + self._right) / 6), centre)
        self._tallest = RangeMaximum(np.maximum(self._left, self._right)[None])
        self._furthest = float(np.abs(ceiling.nodes).max())

    def at(self, t: Array, power: Array, step: Array) -> Array:
        """G(t, step) for each order, KL where it is 1."""
        back = (power - 1) * step
        behind, here, ahead = (self._locate(point) for point in (t - back, t, t + step))
        rising = behind.twice - here.twice + back * here.once
        falling = ahead.twice - here.twice - step * here.once
        share = np.where(power > 1, 1 / np.maximum(power - 1, 0.1), 0.0)
        return share * self._safe(rising, back, behind, here) + self._safe(falling, step, here, ahead)

    def over(self, starts: Array, stops: Array, power: Array, step: float) -> Array:
        """A bound of G on [start, stop] for each."""
        width = stops - starts
        wider = self.at(starts + width * (power - 1) / power, power, step + width / power)
        behind = self._largest(self._locate(starts - (power - 1) * step), self._locate(stops))
        ahead = self._largest(self._locate(starts), self._locate(stops + step))
        bounds: Array = np.minimum(wider, step**2 / 2 * ((power - 1) * behind + ahead))
        return bounds

    def _safe(self, triangle: Array, side: Array, a: "_Located", b: "_Located") -> Array:
        """A triangle's integral between a and b with what it may have lost, or its area times the largest S.

        Each running sum rounds once a cell, I by at most a part of its value at a or b, which weighs at most `side`, J by a
        part of its own; what happened outside [a, b] is linear and cancels. A position rounds too, by a part of the
        furthest, and moves J by I times that.
        """
        once = np.abs(a.once) + np.abs(b.once)
        sizes = (64 + 4 * (b.cell - a.cell)) * (a.twice + b.twice + side * once) + 8 * self._furthest * once
        safe: Array = np.minimum(triangle + _ROUNDOFF * sizes, side**2 / 2 * self._largest(a, b))
        return safe

    def _locate(self, t: Array) -> "_Located":
        cell = np.clip(np.searchsorted(self._nodes, t, side="right") - 1, 0, len(self._left) - 1)
        s = t - self._nodes[cell]
        left, slope, once = self._left[cell], self._slope[cell], self._once[cell]
        twice = self._twice[cell] + s * (once + s * (left / 2 + s * slope / 6))
        return _Located(cell, left + s * slope, once + s * (left + s * slope / 2), twice)

    def _largest(self, a: "_Located", b: "_Located") -> Array:
        """max S on [a, b]: at the two ends, or at nodes between them."""
        ends = np.maximum(a.value, b.value)
        apart = np.flatnonzero(b.cell > a.cell)
        first, last = a.cell[apart], b.cell[apart]
        ends[apart] = np.maximum(ends[apart], np.maximum(self._right[first], self._left[last]))
        apart, first, last = (side[last - first > 1] for side in (apart, first, last))
        ends[apart] = np.maximum(ends[apart], self._tallest.between(0, first + 1, last - 1))
        return ends


@dataclass(frozen=True, slots=True)
class _Located:
    """A place: its cell, S, ∫S and ∫∫S there."""

    cell: Index
    value: Array
    once: Array
    twice: Array


def _running(values: Array, centre: int) -> Array:
    """Sums of `values` from node `centre` to every node, negative before it."""
    before, after = -np.cumsum(values[:centre][::-1])[::-1], np.cumsum(values[centre:])
    return np.concatenate([before, [0.0], after])
