"""Certified Rényi curves from ceilings of the curvature: tight at every order, for any real-valued statistic.

With ψ'' ≤ S, a step function from `cells.py`, and Δ > 0 the sensitivity, Taylor's theorem with Peano kernel gives

    (α−1)·D_α(P_t ‖ P_{t+Δ}) = ∫ hat·ψ'' ≤ ∫ hat·S = F(t − (α−1)Δ) − α·F(t) + (α−1)·F(t + Δ),   F'' = S,

hat rising with slope 1 from t − (α−1)Δ to t and falling to 0 at t + Δ; the other direction is the mirror image. For t
anywhere in a cell of width at most H, its hat is the left node's moved right by at most H, so S⊕(u) = max of S on
[u, u+H] in place of S bounds the whole cell at its left node. Nodes are grouped by width, an octave at a time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import PublicGrid
from app.core.privacy.cells import Cells, ceilings_of
from app.core.privacy.orders import ORDERS
from app.core.privacy.windows import means_peaking_at

Array = NDArray[np.float64]
Index = NDArray[np.int64]

POINTS_PER_CELL_FINE = 0.2
POINTS_PER_CELL_COARSE = 0.6
CELLS_FINE_MAX = 6_000
GROWTH = 0.06
PLACES_MIN = 2_001
HAT_MIN = 0.2
_ROUNDOFF = 2.0**-53


def kernel_curve(grid: PublicGrid, statistic_range: tuple[int, int], rows: int, peak: float) -> Array:
    """A bound of D_α where it can beat (α/2)·`peak`, `peak` a certified supremum of Var(b) for the whole change Δ.

    Infinite for orders whose hat is narrow beside the scale 1/√ψ'' on which the curvature changes: no gain there.
    """
    wide = [(i, order) for i, order in enumerate(ORDERS) if (order - 1) * np.sqrt(peak) >= HAT_MIN]
    curve = np.full(len(ORDERS), np.inf)
    curve[[i for i, _ in wide]] = 0.0
    if not wide:
        return curve
    low, high = statistic_range
    step = float(high - low)
    nodes = _nodes(grid, statistic_range, rows)
    same = np.full(len(nodes) - 1, float(rows))
    cells = Cells(nodes[:-1], nodes[1:], same, same)
    ceilings = np.minimum(ceilings_of(grid, [(1, 0)], cells), peak / step**2)
    span = (float(rows * low), float(rows * high))
    for t, values, ends in (
        (nodes * rows, ceilings, span),
        (-nodes[::-1] * rows, ceilings[::-1], (-span[1], -span[0])),
    ):
        for octave in _octaves(t, values, (ends[0], ends[1] - step)):
            for i, order in wide:
                curve[i] = np.maximum(curve[i], octave.largest(order, step))  # a NaN stays and refuses the release
    return curve


def _nodes(grid: PublicGrid, statistic_range: tuple[int, int], rows: int) -> Array:
    """Ends of cells in units of the mean statistic: a fifteenth to a fifth of a posterior sd, growing outside."""
    low, high = statistic_range
    fine = grid.size / POINTS_PER_CELL_FINE <= CELLS_FINE_MAX
    places = np.arange(0, grid.size - 1, POINTS_PER_CELL_FINE if fine else POINTS_PER_CELL_COARSE)
    points = np.append(np.interp(places, np.arange(grid.size), grid.mean), grid.mean[-1])
    reach = ORDERS[-1] * (high - low) / rows
    ends = np.array([low - reach, high + reach])
    inner = np.unique(np.append(means_peaking_at(grid, points, rows), grid.mean[[0, -1]]).clip(*ends))
    below = _outward(float(inner[0] - ends[0]), float(inner[1] - inner[0]))
    above = _outward(float(ends[1] - inner[-1]), float(inner[-1] - inner[-2]))
    return np.concatenate([inner[0] - below[::-1], inner, inner[-1] + above])


def _outward(room: float, first: float) -> Array:
    """Distances up to `room`, in steps of `first` or GROWTH of the distance: there Var falls as its square."""
    distances = [first]
    while distances[-1] < room:
        distances.append(distances[-1] + max(first, GROWTH * distances[-1]))
    return np.array(distances)


@dataclass(frozen=True, slots=True)
class _Octave:
    """Cells of similar width as places for t, with F, F' and F'' = S⊕ for that width at every node."""

    starts: Array
    nodes: Array
    curvature: Array
    slope: Array
    height: Array
    tallest: "_RangeMaximum"

    def largest(self, order: float, step: float) -> float:
        """The differences of F, with what they may have lost, or (α/2)·Δ²·max S under the hat if that is smaller."""
        left = self._cells(self.starts - (order - 1) * step)
        here, right = self._cells(self.starts), self._cells(self.starts + step)
        ends = [
            self._at(left, self.starts - (order - 1) * step),
            self._at(here, self.starts),
            self._at(right, self.starts + step),
        ]
        sums = ends[0] - order * ends[1] + (order - 1) * ends[2]
        # Each of the two running sums behind F rounds once a cell; what happened outside the hat is linear and cancels.
        roundings = 64 + 4 * (right - left)
        sizes = np.abs(ends[0]) + order * np.abs(ends[1]) + (order - 1) * np.abs(ends[2])
        lost = _ROUNDOFF * roundings * sizes
        crude = order / 2 * step**2 * self.tallest.between(left, right)
        return float(np.minimum((sums + lost) / (order - 1), crude).max())

    def _cells(self, t: Array) -> Index:
        return np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, len(self.curvature) - 1)

    def _at(self, cell: Index, t: Array) -> Array:
        beyond = t - self.nodes[cell]
        value: Array = self.height[cell] + beyond * (self.slope[cell] + beyond * self.curvature[cell] / 2)
        return value


def _octaves(nodes: Array, ceilings: Array, ends: tuple[float, float]) -> list[_Octave]:
    """Places for t between `ends`, where both datasets exist, in groups of similar spacing."""
    widths = np.diff(nodes)
    inside = nodes[(nodes > ends[0]) & (nodes < ends[1])]
    places = np.unique(np.concatenate([inside, np.linspace(*ends, PLACES_MIN)]))
    spacing = np.diff(places, append=places[-1])
    ranges = _RangeMaximum(ceilings)
    # Spacings finer than the cell of the highest ceiling go with it: S hardly changes on that scale where it counts.
    finest = widths[int(np.argmax(ceilings))]
    groups = np.floor(np.log2(np.maximum(spacing, finest)))
    found = []
    for group in np.unique(groups):
        chosen = groups == group
        reached = np.searchsorted(nodes, nodes[1:] + spacing[chosen].max(), side="left") - 1
        curvature = ranges.between(np.arange(len(widths)), np.clip(reached, 0, len(widths) - 1))
        centre = int(np.argmax(curvature))
        slope = np.concatenate([[0.0], np.cumsum(curvature * widths)])
        slope -= slope[centre]
        height = np.concatenate([[0.0], np.cumsum(widths * (slope[:-1] + curvature * widths / 2))])
        height -= height[centre]
        tallest = _RangeMaximum(curvature)
        found.append(_Octave(places[chosen], nodes, curvature, slope[:-1], height[:-1], tallest))
    return found


class _RangeMaximum:
    """Largest value on any run of cells, from maxima over runs of 1, 2, 4, … cells."""

    def __init__(self, values: Array) -> None:
        self._tables = [values]
        length = 1
        while 2 * length <= len(values):
            older = self._tables[-1]
            self._tables.append(np.maximum(older[:-length], older[length:]))
            length *= 2

    def between(self, first: Index, last: Index) -> Array:
        level = np.floor(np.log2(last - first + 1)).astype(np.int64)
        result = np.empty(len(first))
        for k in np.unique(level):
            chosen = level == k
            table = self._tables[k]
            result[chosen] = np.maximum(table[first[chosen]], table[last[chosen] - 2**k + 1])
        return result
