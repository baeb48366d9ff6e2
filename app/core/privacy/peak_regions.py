"""Bounds from the supremum of Var(b) on regions nearer and further from what is reachable: any number of rows a person.

Where nothing closer serves: D_α as α/2 times a mean of those suprema along a path, and the pure cost of the table mixed with γ
from Chernoff's bound.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import Direction, PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.peaks import CurvatureMap, Region, Witness, scan_variance
from app.core.privacy.windows import rounding_factor

Array = NDArray[np.float64]

REACHES = (0.0, 0.25, 0.5, *(order - 1.0 for order in ORDERS if order >= 2))
"""How many changes away from a reachable statistic its curvature is bounded: the path of order α goes α − 1 away."""
_GROUP_RATIO = 1.02


def tops_of(peaks: "Peaks") -> Array:
    """sup Var(b) on every region; where it is not known, Var(b) ≤ r²/4."""
    tops = np.full(len(REACHES), peaks.span**2 / 4)
    pending = [(0, peaks.useful - 1)] if peaks.useful else []
    while pending:
        first, last = pending.pop()
        top = peaks.at(last)
        if first == last or top <= peaks.floor(first) * _GROUP_RATIO:
            tops[first : last + 1] = np.minimum(top, tops[first : last + 1])
        else:
            middle = (first + last) // 2
            pending += [(middle + 1, last), (first, middle)]
    return tops


def weighted_means(tops: Array) -> Array:
    """D_α for every order, from `tops[i]` ≥ Var(b) at every statistic within REACHES[i] changes of a reachable one.

    With x counting changes along the line through the neighbours v and v + d,
    (α−1)·D_α(P_v ‖ P_{v+d}) = ∫₀^{α−1} (α−1−x)·Var_{v−xd}(b) dx + (α−1)·∫₀¹ (1−x)·Var_{v+xd}(b) dx,
    which is α(α−1)/2 times the variance where that is constant. Between v and v + d everything is in the hull of what is
    reachable; behind v, what is far has little weight and may be bounded generously without costing much.
    """
    nearest = np.minimum.accumulate(tops[::-1])[::-1]  # what holds further out holds further in
    curve = np.empty(len(ORDERS))
    for i, order in enumerate(ORDERS):
        ends = np.minimum(REACHES, order - 1)
        starts = np.concatenate([[0.0], ends[:-1]])
        weights = (ends - starts) * (order - 1 - (starts + ends) / 2)
        curve[i] = (weights @ nearest) / (order - 1) + nearest[0] / 2
    return curve


def chernoff(tops: Array, points: int) -> float:
    """A pure cost of the mixed table from `tops[i]` ≥ Var(b) within REACHES[i] changes: min over λ of log(K/γ)/λ + λ·Var/2.

    For a point with y = b_k − E b > 0 and λ ≤ REACHES[i], p_k ≤ exp(−λy + λ²·Var/2), so that w_k ≤ (K/γ)·exp(−λ(y − y₀)) with
    y₀ = log(K/γ)/λ + λ·Var/2. Hence w_k·y ≤ y₀: up to y₀ since w ≤ 1, beyond since y·e^{−λ(y − y₀)} falls from y = 1/λ < y₀ on.
    """
    nearest = np.minimum.accumulate(tops[::-1])[::-1]
    reaches = np.array(REACHES[1:])
    return float((np.log(points / UNIFORM_SHARE) / reaches + reaches * nearest[1:] / 2).min())


class Peaks:
    """sup Var(b) over the statistics within `REACHES[i]` changes of a reachable one; grows with i."""

    def __init__(
        self,
        grid: PublicGrid,
        statistic_range: tuple[int, int],
        people: int,
        unit_rows: int,
        changes: list[Direction],
    ) -> None:
        self._grid = grid
        self._low, self._high = statistic_range
        self._edge = max(abs(self._low), abs(self._high))
        self._rows = (people, people * unit_rows)
        self._moved_sum = max(abs(change[0]) for change in changes)
        self._moved_rows = max(abs(change[1]) for change in changes)
        self.span = max(float(np.ptp(grid.change(change))) for change in changes)
        regions, seen = self._worthwhile(changes, people)
        self.useful = len(regions)
        if regions:
            self._map = CurvatureMap(grid, changes, regions[-1], seen)
        self._known: dict[int, float] = {}

    def _worthwhile(self, changes: list[Direction], people: int) -> tuple[list[Region], list[Witness]]:
        """Regions that keep enough rows and where (α/2)·Var(b) may be smaller than the bounded range, with what was seen.

        Where rows cannot move, all of them: the widest is no dearer than the narrowest.
        """
        if not self._moved_rows:
            return [self.region(i) for i in range(len(REACHES))], [scan_variance(self._grid, changes, self.region(0))]
        regions: list[Region] = []
        seen: list[Witness] = []
        for i, reach in enumerate(REACHES):
            region = self.region(i)
            if region.rows_low < people / 4:
                break
            seen.append(scan_variance(self._grid, changes, region))
            if i and (reach + 1) / 2 * seen[-1].value >= self.span:
                break
            regions.append(region)
        return regions, seen

    def region(self, i: int) -> Region:
        reach = REACHES[i]
        spill = reach * (self._moved_sum + self._moved_rows * self._edge)
        extra = reach * self._moved_rows
        return Region(self._low, self._high, self._rows[0] - extra, self._rows[1] + extra, spill)

    def at(self, i: int) -> float:
        if i not in self._known:
            self._known[i] = self._map.supremum(self.region(i)) * self._slack(i)
        return self._known[i]

    def floor(self, i: int) -> float:
        """From the largest variance already seen inside the region of `REACHES[i]`: what `at(i)` cannot fall below."""
        return self._map.floor(self.region(i)) * self._slack(i)

    def _slack(self, i: int) -> float:
        region = self.region(i)
        return rounding_factor(self._grid, region.rows_high * self._edge + region.spill, region.rows_high)
