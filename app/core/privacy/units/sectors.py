"""Cells of first datasets along lines on which posteriors peak at the same place, several rows a person.

A prior counts like records (s₀, r₀) already seen, so posteriors of (t, m) with the same (τt + s₀)/(τm + r₀) have the same peak
and differ in their width alone. Cells lie between two such lines and two numbers of rows, so that few are needed across rows
however strong the prior. `patches.py` has lines of the same t/m instead; what it says about the ends of the range, where cells
are strips of whole numbers with just the changes that are open there, holds here too.

Any lines serve that do not cross between m₀ and m₁ rows, the first along the lower strip and the last along the upper one: cells
between neighbouring lines leave no dataset out.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid
from app.core.privacy.units.patches import (
    CELLS_MANY,
    FIRST_ROWS,
    FIRST_SDS,
    HIGH,
    INNER,
    LOW,
    STRIPS,
    FirstDatasets,
)

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

_ENDS = (0.0, 0.3, 0.6, 0.85)
"""Lines between an end of the range and the first posterior that peaks inside the trim."""


@dataclass(frozen=True, slots=True)
class Quads:
    """Cells from m0 to m1 rows between two lines, each by its sums there; how many rows a person has at most."""

    kind: Index
    most: Index
    low0: Array
    high0: Array
    low1: Array
    high1: Array
    m0: Array
    m1: Array

    def take(self, chosen: Mask | Index) -> "Quads":
        return Quads(*(getattr(self, field)[chosen] for field in self.__slots__))

    @property
    def count(self) -> int:
        return len(self.kind)

    @property
    def divisible(self) -> Mask:
        return (self.low0 < self.high0) | (self.low1 < self.high1) | (self.m0 < self.m1)

    def with_lines(self, low: tuple[Array, Array], high: tuple[Array, Array], rows: tuple[Array, Array]) -> "Quads":
        lines = low[0], high[0], low[1], high[1]
        return Quads(self.kind, self.most, *lines, *rows)


def joined(parts: list[Quads]) -> Quads:
    return Quads(*(np.concatenate([getattr(part, field) for part in parts]) for field in Quads.__slots__))


class Sectors:
    """Of `people` with 1 to `unit_rows` rows each, every row in 0 … steps; at least twice as many people as rows a person."""

    def __init__(self, steps: int, people: int, unit_rows: int) -> None:
        self._steps, self._people, self._rows = steps, people, unit_rows
        self._datasets = FirstDatasets(steps, people, unit_rows)

    def many(self, grid: PublicGrid, spread: float) -> bool:
        """Whether there would be more cells than anybody has time for."""
        return not grid.size <= CELLS_MANY * spread

    def cells(self, grid: PublicGrid, spread: float) -> Quads:
        """About a posterior sd each, of `spread` grid points."""
        parts = []
        for m0, m1, most in self._bands():
            parts.append(self._inner(grid, spread, (m0, m1), most))
            parts.append(self._strips((m0, m1), most))
        return joined(parts)

    def corners(self, quads: Quads) -> tuple[Array, Array]:
        """(t, m) of four corners, a row each."""
        t = np.stack([quads.low0, quads.high0, quads.low1, quads.high1])
        return t, np.stack([quads.m0, quads.m0, quads.m1, quads.m1])

    def changes(self, quads: Quads, place: int) -> list[Direction]:
        """Vertices of what is open in one of the cells."""
        return self._datasets.open_changes(
            int(quads.kind[place]), int(self.reaches(quads)[place]), int(quads.most[place])
        )

    def reaches(self, quads: Quads) -> Array:
        """How far from its end a strip goes; 0 for others."""
        below = self._steps * quads.m0 - quads.low0
        return np.where(quads.kind == LOW, quads.high0, np.where(quads.kind == HIGH, below, 0.0))

    def halved(self, quads: Quads, across: Mask) -> Quads:
        """Each in two, across its rows where asked and possible."""
        flat = (quads.low0 == quads.high0) & (quads.low1 == quads.high1)
        across = np.where(flat, True, across & (quads.m0 < quads.m1))
        rows, inner, strips = (
            np.flatnonzero(mask) for mask in (across, ~across & (quads.kind == INNER), ~across & (quads.kind != INNER))
        )
        halves = [*_by_rows(quads.take(rows)), *_by_sums(quads.take(inner)), *_by_whole_sums(quads.take(strips))]
        return joined(halves)

    def _bands(self) -> list[tuple[float, float, int]]:
        n, k = self._people, self._rows
        bands = [(float(n - 1 + j), float(n - 1 + j), j) for j in range(1, k)]
        start, end = n - 1 + k, n * k
        while start <= end:
            stop = min(end, max(start, int(start * FIRST_ROWS)))
            bands.append((float(start), float(stop), k))
            start = stop + 1
        return bands

    def _inner(self, grid: PublicGrid, spread: float, rows: tuple[float, float], most: int) -> Quads:
        count = max(8, int(np.ceil((grid.size - 1) / (FIRST_SDS * spread))) + 1)
        means = np.interp(np.linspace(0, grid.size - 1, count), np.arange(grid.size), grid.mean)
        lines = np.stack([self._line(grid, means, m) for m in rows])
        new = np.flatnonzero(np.append(True, (np.diff(lines, axis=1) > 0).any(axis=0)))
        return self._between(lines[:, new if len(new) > 1 else [0, 0]], INNER, rows, most)

    def _line(self, grid: PublicGrid, means: Array, rows: float) -> Array:
        """Sums at which posteriors peak at those means, between the strips, and some on the way to either."""
        first, power = float(self._rows * self._steps), grid.temperature
        last = self._steps * rows - first
        peaks = ((means * (power * rows + grid.prior_rows) - grid.prior_sum) / power).clip(first, last)
        shares = np.array(_ENDS)
        below, above = first + shares * (peaks[0] - first), last - shares[::-1] * (last - peaks[-1])
        return np.maximum.accumulate(np.concatenate([below, peaks, above]))

    def _strips(self, rows: tuple[float, float], most: int) -> Quads:
        edge = self._rows * self._steps
        ends = np.unique(np.linspace(0, edge, min(STRIPS, edge) + 1).astype(np.int64))
        parts = []
        for a, b in pairwise(ends.tolist()):
            low = np.array([[float(a), float(b - 1)]] * 2)
            high = np.stack([self._steps * m - np.array([b - 1.0, float(a)]) for m in rows])
            parts += [self._between(low, LOW, rows, most), self._between(high, HIGH, rows, most)]
        return joined(parts)

    def _between(self, lines: Array, kind: int, rows: tuple[float, float], most: int) -> Quads:
        """Cells between neighbours among lines, given by their sums at either number of rows."""
        low, high = lines[:, :-1], lines[:, 1:]
        count = low.shape[1]
        same = np.full(count, kind), np.full(count, most)
        m0, m1 = (np.full(count, m) for m in rows)
        return Quads(*same, low[0], high[0], low[1], high[1], m0, m1)


def _by_rows(quads: Quads) -> list[Quads]:
    middle = np.floor((quads.m0 + quads.m1) / 2)
    after = np.minimum(middle + 1, quads.m1)

    def at(first: Array, last: Array, rows: Array) -> Array:
        return first + (last - first) * (rows - quads.m0) / np.maximum(quads.m1 - quads.m0, 1.0)

    low, high = (quads.low0, quads.low1), (quads.high0, quads.high1)
    return [
        quads.with_lines((low[0], at(*low, middle)), (high[0], at(*high, middle)), (quads.m0, middle)),
        quads.with_lines((at(*low, after), low[1]), (at(*high, after), high[1]), (after, quads.m1)),
    ]


def _by_sums(quads: Quads) -> list[Quads]:
    low, high, rows = (quads.low0, quads.low1), (quads.high0, quads.high1), (quads.m0, quads.m1)
    centre = (low[0] + high[0]) / 2, (low[1] + high[1]) / 2
    return [quads.with_lines(low, centre, rows), quads.with_lines(centre, high, rows)]


def _by_whole_sums(quads: Quads) -> list[Quads]:
    """Strips, whose two lines are equally far apart at either number of rows."""
    low, high, rows = (quads.low0, quads.low1), (quads.high0, quads.high1), (quads.m0, quads.m1)
    half = np.floor((quads.high0 - quads.low0) / 2)
    until, beyond = (low[0] + half, low[1] + half), (low[0] + half + 1, low[1] + half + 1)
    return [quads.with_lines(low, until, rows), quads.with_lines(beyond, high, rows)]
