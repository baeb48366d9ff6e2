"""Cells of first datasets, several rows a person, each with the changes that are open there.

With n − 1 + j rows, j < k, nobody has more than j rows; with a sum t nobody has more than t, and nobody is further below the
largest sum than all together. So next to an end of the range cells are strips of a few whole numbers, with the vertices of just
the changes that are open there; elsewhere they are quadrilaterals between two rows and two shares of the way from strip to strip.
Cells of whole numbers are cut into whole numbers.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid, person_corners
from app.core.numerics.hull import hull_vertices
from app.core.privacy.windows import means_peaking_at

Array = NDArray[np.float64]
Index = NDArray[np.int64]

FIRST_SDS = 1.2
FIRST_ROWS = 1.6
STRIPS = 4
CELLS_MANY = 2_000
"""Posterior sds across the range."""
LOW, INNER, HIGH = 0, 1, 2
"""Which strip a cell lies in, if any."""
Cell = tuple[int, float, float, float, float, int]


@dataclass(frozen=True, slots=True)
class Patches:
    """A cell with one change each: its kind, the ends of its coordinate and of its rows, how many rows a person has at most.

    The coordinate is a sum t, a share of the way between the two strips, or how far t lies below its largest.
    """

    kind: Index
    first: Array
    last: Array
    m0: Array
    m1: Array
    most: Index
    dt: Array
    dm: Array

    def take(self, chosen: NDArray[np.bool_] | Index) -> "Patches":
        return Patches(*(getattr(self, field)[chosen] for field in self.__slots__))

    @property
    def count(self) -> int:
        return len(self.kind)

    @property
    def divisible(self) -> NDArray[np.bool_]:
        return (self.first < self.last) | (self.m0 < self.m1)

    def with_ends(self, first: Array, last: Array, m0: Array, m1: Array) -> "Patches":
        return Patches(self.kind, first, last, m0, m1, self.most, self.dt, self.dm)


def joined(parts: list[Patches]) -> Patches:
    return Patches(*(np.concatenate([getattr(part, field) for part in parts]) for field in Patches.__slots__))


class FirstDatasets:
    """Of `people` with 1 to `unit_rows` rows each, every row in 0 … steps."""

    def __init__(self, steps: int, people: int, unit_rows: int) -> None:
        self._steps, self._people, self._rows = steps, people, unit_rows
        self.open_changes = lru_cache(maxsize=None)(self._open_changes)

    def many(self, grid: PublicGrid, spread: float) -> bool:
        """Whether there would be more cells than anybody has time for."""
        return not grid.size <= CELLS_MANY * spread

    def cells(self, grid: PublicGrid, spread: float) -> Patches:
        """A posterior sd or so each, of `spread` grid points."""
        n, k = self._people, self._rows
        bands = [(float(n - 1 + j), float(n - 1 + j), j) for j in range(1, k)]
        start, end = n - 1 + k, n * k
        while start <= end:
            stop = min(end, max(start, int(start * FIRST_ROWS)))
            bands.append((float(start), float(stop), k))
            start = stop + 1
        strips = np.unique(np.linspace(0, k * self._steps, min(STRIPS, k * self._steps) + 1).astype(np.int64))
        columns = [(kind, float(a), float(b - 1)) for kind in (LOW, HIGH) for a, b in pairwise(strips)]
        columns += [(INNER, a, b) for a, b in pairwise(self._shares(grid, spread).tolist())]
        return self._patches([(*column, *band) for column in columns for band in bands])

    def _shares(self, grid: PublicGrid, spread: float) -> Array:
        n, edge = self._people, self._rows * self._steps
        if n <= 2 * self._rows:
            return np.array([0.0, 1.0])
        count = max(8, int(np.ceil((grid.size - 1) / (FIRST_SDS * spread))) + 1)
        means = np.interp(np.linspace(0, grid.size - 1, count), np.arange(grid.size), grid.mean)
        t = np.append(means_peaking_at(grid, means, float(n)) * n, np.linspace(0, self._steps * n, 9))
        return np.unique(((t - edge) / (self._steps * n - 2 * edge)).clip(0.0, 1.0))

    def _open_changes(self, kind: int, reach: int, most: int) -> list[Direction]:
        """Vertices of what one of at most `most` rows can change where nobody is further than `reach` from that end."""
        olds = set(person_corners((0, self._steps), most))
        if kind == LOW:
            olds = {(t, m) for m in range(1, most + 1) for t in (0, min(reach, self._steps * m))}
        elif kind == HIGH:
            olds = {(t, m) for m in range(1, most + 1) for t in (self._steps * m, max(0, self._steps * m - reach))}
        news = person_corners((0, self._steps), self._rows)
        changes = {(new[0] - old[0], new[1] - old[1]) for old in olds for new in news} | {(0, 0)}
        return [change for change in hull_vertices(changes) if change != (0, 0)]

    def _patches(self, cells: list[Cell]) -> Patches:
        found = [
            (*cell, *change)
            for cell in cells
            for change in self.open_changes(cell[0], 0 if cell[0] == INNER else int(cell[2]), cell[5])
        ]
        kind, first, last, m0, m1, most, dt, dm = np.array(found, dtype=np.float64).T.copy()
        return Patches(kind.astype(np.int64), first, last, m0, m1, most.astype(np.int64), dt, dm)

    def corners(self, patches: Patches) -> tuple[Array, Array]:
        """(t, m) of four corners, a row each."""
        m = np.stack([patches.m0, patches.m0, patches.m1, patches.m1])
        ends = np.stack([patches.first, patches.last, patches.first, patches.last])
        top, edge = self._steps * m, float(self._rows * self._steps)
        inner = edge + ends * (top - 2 * edge)
        return np.where(patches.kind == LOW, ends, np.where(patches.kind == HIGH, top - ends, inner)), m

    def halved(self, patches: Patches, across: NDArray[np.bool_]) -> Patches:
        """Each in two, across its rows where asked and possible."""
        across = np.where(patches.first == patches.last, True, across & (patches.m0 < patches.m1))
        rows, sums = patches.take(across), patches.take(~across)
        inner, strips = sums.take(sums.kind == INNER), sums.take(sums.kind != INNER)
        middle, centre = np.floor((rows.m0 + rows.m1) / 2), (inner.first + inner.last) / 2
        halves = [
            rows.with_ends(rows.first, rows.last, rows.m0, middle),
            rows.with_ends(rows.first, rows.last, middle + 1, rows.m1),
            inner.with_ends(inner.first, centre, inner.m0, inner.m1),
            inner.with_ends(centre, inner.last, inner.m0, inner.m1),
        ]
        fields = (getattr(strips, field).tolist() for field in ("kind", "first", "last", "m0", "m1", "most"))
        parts: list[Cell] = []
        for kind, first, last, m0, m1, most in sorted(set(zip(*fields, strict=True))):
            half = float((first + last) // 2)
            parts += [(kind, first, half, m0, m1, most), (kind, half + 1, last, m0, m1, most)]
        return joined([*halves, self._patches(parts)] if parts else halves)
