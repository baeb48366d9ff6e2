"""The highest mean utility over an interval of responses, with a proof of how high any other can be.

Û(r) = (1/N)·Σ_θ u(θ, r) is cut into cells [p, q]. Interval arithmetic over a cell gives every sample's slope there, hence
numbers d ≤ D between which Û's own slope lies wherever it has one, so on the cell
    Û(r) ≤ min(Û(p) + D·(r − p), Û(q) − d·(q − r)),
whose greatest value is Û(p) if D ≤ 0, Û(q) if d ≥ 0, and else where the two lines cross. Cells that cannot hold anything better
than the best point found are dropped; of the others those with the highest ceilings are cut in two, at the crossing and in
the middle by turns: the crossing is the maximiser itself where Û has one corner in the cell. What is left between the
highest ceiling and the best point when the work runs out is the gap. Everything is a function of the samples and the
expression: no clock, no chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELLS_FIRST = 16
CELLS_PER_ROUND = 8
TOLERANCE = 2.0**-33
"""Of the utility's range: the search ends when no response can be better by more."""
ROUNDING = 2.0**-45
"""For the arithmetic of ceilings, all of it on numbers of size at most a few."""


class Surface(Protocol):
    """Û, in units where the utility's range is [0, 1], and what is known of it."""

    @property
    def error(self) -> float:
        """How far `means` may be from the real Û."""
        ...

    def means(self, points: Array) -> Array: ...

    def slopes(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Over each cell, bounds of Û's slope."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """`gap`: no response has a mean more than this above `value`, rounding included."""

    response: float
    value: float
    gap: float
    evaluations: int


@dataclass(slots=True)
class _Cells:
    low: Array
    high: Array
    at_low: Array
    at_high: Array
    falls: Array
    rises: Array

    def crossing(self) -> tuple[Array, Array]:
        """(r, ceiling) of every cell. The higher of the two lines at r, so that rounding r cannot lower the ceiling.

        What overflows has no ceiling, and is cut in the middle.
        """
        width = self.high - self.low
        bend = np.maximum(self.rises - self.falls, 1e-300)
        step = np.clip((self.at_high - self.at_low - self.falls * width) / bend, 0.0, width)
        inside = (self.falls < 0) & (self.rises > 0)
        step = np.where(inside, step, np.where(self.rises <= 0, 0.0, width))
        by_low, by_high = self.at_low + self.rises * step, self.at_high - self.falls * (width - step)
        ceiling = np.where(inside, np.maximum(by_low, by_high), np.maximum(self.at_low, self.at_high))
        ceiling = np.maximum(ceiling, np.maximum(self.at_low, self.at_high))
        return self.low + step, np.where(np.isnan(ceiling), np.inf, ceiling)

    def take(self, places: NDArray[np.intp]) -> "_Cells":
        return _Cells(*(getattr(self, name)[places] for name in self.__slots__))

    def joined(self, other: "_Cells") -> "_Cells":
        return _Cells(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__slots__))


def search(surface: Surface, lower: float, upper: float, evaluations: int, slope_cost: Callable[[int], int]) -> Found:
    """Spends at most so many `evaluations` of the mean; `slope_cost(cells)` is what slopes over so many cells count as.

    Of equally good points found the smallest is the response.
    """
    with np.errstate(all="ignore"):
        return _search(surface, lower, upper, evaluations, slope_cost)


def _search(surface: Surface, lower: float, upper: float, evaluations: int, slope_cost: Callable[[int], int]) -> Found:
    first = CELLS_FIRST
    while first > 1 and first + 1 + slope_cost(first) > evaluations:
        first //= 2
    points = np.linspace(lower, upper, first + 1)
    means = surface.means(points)
    falls, rises = surface.slopes(points[:-1], points[1:])
    cells = _Cells(points[:-1], points[1:], means[:-1], means[1:], falls, rises)
    spent = len(points) + slope_cost(first)
    best = int(np.argmax(means))  # the first of equals
    response, value = float(points[best]), float(means[best])
    turn, dropped = 0, value
    while True:
        _, ceilings = cells.crossing()
        hopeful = ceilings > value + TOLERANCE
        dropped = max(dropped, float(np.max(ceilings[~hopeful], initial=value)))
        cells = cells.take(np.flatnonzero(hopeful))
        left = evaluations - spent
        count = min(CELLS_PER_ROUND, len(cells.low))
        while count and count + slope_cost(2 * count) > left:
            count -= 1
        if not count:
            break
        cells, points, means = _cut(surface, cells, count, turn)
        spent += count + slope_cost(2 * count)
        turn += 1
        for point, mean in sorted(zip(points.tolist(), means.tolist(), strict=True)):
            if mean > value or (mean == value and point < response):
                response, value = point, mean
    ceiling = max(dropped, float(np.max(cells.crossing()[1], initial=value)))
    gap = max(0.0, ceiling - value) + 2 * surface.error + ROUNDING
    return Found(response + 0.0, value, gap, spent)


def _cut(surface: Surface, cells: _Cells, count: int, turn: int) -> tuple[_Cells, Array, Array]:
    """Cuts the `count` highest cells in two; returns all cells, and the new points with their means."""
    crossings, ceilings = cells.crossing()
    order = np.argsort(-ceilings, kind="stable")
    chosen, kept = cells.take(order[:count]), cells.take(order[count:])
    points = (chosen.low + chosen.high) / 2
    if turn % 2 == 0:
        proper = (crossings[order[:count]] > chosen.low) & (crossings[order[:count]] < chosen.high)
        points = np.where(proper, crossings[order[:count]], points)
    means = surface.means(points)
    low, high = np.concatenate([chosen.low, points]), np.concatenate([points, chosen.high])
    falls, rises = surface.slopes(low, high)
    halves = _Cells(
        low,
        high,
        np.concatenate([chosen.at_low, means]),
        np.concatenate([means, chosen.at_high]),
        np.maximum(falls, np.concatenate([chosen.falls, chosen.falls])),
        np.minimum(rises, np.concatenate([chosen.rises, chosen.rises])),
    )
    return kept.joined(halves), points, means
