"""The largest figures of a block drawn by the score of `map` over all counts, where they are too many to visit.

Branch and bound: cells of counts (`sectors.py`) that stand highest above what was reached at single counts are cut in two, until
none stands higher than by a small part, or until work runs out: what is left counts with its bound (`sharpened_bounds.py`).
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid, BlockShape
from app.core.kinds.networks.blocks.block_terms import KL, PURE, Direction
from app.core.kinds.networks.blocks.sector_tables import SectorTables
from app.core.kinds.networks.blocks.sectors import Cells, Sectors
from app.core.kinds.networks.blocks.sharpened_bounds import SharpenedBounds

Array = NDArray[np.float64]

WORK_MAX, FINE_WORK_MAX = 600_000, 1_500_000
"""Cells times points of their windows; more where grids are finer, up to the second."""
CLOSE = 0.06
_WORTH = 0.6
_CELLS = 600
_ROUND = 60
_TRIED = 12
_ALL = np.array([np.iinfo(np.int64).max])


def sharpened_suprema(
    grid: BlockGrid,
    shape: BlockShape,
    d: Direction,
    gain: float,
    known: Array,
    worth: Array,
    ends: NDArray[np.int64] | None = None,
) -> Array:
    """[group, figure]: KL, D_α …, D_∞, none above `known`; groups of totals up to each of `ends`, of successes in a block that
    every row falls in. Bounds come as near to what is reached as a part of the largest figure, or of `worth`, if work allows."""
    search = _Search(grid, shape, d, gain, worth, _ALL if ends is None else ends)
    return search.suprema(known, max(WORK_MAX, min(_CELLS * grid.size, FINE_WORK_MAX)))


class _Search:
    """Always the cells first that stand highest above what their groups are known to reach."""

    def __init__(
        self, grid: BlockGrid, shape: BlockShape, d: Direction, gain: float, worth: Array, ends: NDArray[np.int64]
    ) -> None:
        self._sectors, self._tables = Sectors(grid, shape, d), SectorTables(grid, shape, d)
        self._bounds = SharpenedBounds(grid, gain)
        self._ends, self._full, self._worth = ends, shape.full, worth
        self._best = np.zeros((len(ends), PURE + 1))
        self._work = 0

    def suprema(self, known: Array, work_max: int) -> Array:
        cells = self._sectors.first()
        self._reach(self._sectors.points(cells))
        tops, along = self._looked_at(cells, np.broadcast_to(known, (len(cells), PURE + 1)))
        while self._work < work_max and len(cells):
            excess = np.where(cells.single, 0.0, self._excess(cells, tops))
            chosen = np.argsort(-excess)[:_ROUND]
            chosen = chosen[excess[chosen] > CLOSE]
            if not len(chosen):
                break
            self._reach(self._sectors.points(cells.take(chosen[:_TRIED])))
            parts, places = self._sectors.halved(cells.take(chosen), along[chosen])
            found, cut = self._looked_at(parts, tops[chosen][places])
            kept = np.ones(len(cells), dtype=bool)
            kept[chosen] = False
            cells = Cells.joined(cells.take(kept), parts)
            tops, along = np.concatenate([tops[kept], found]), np.concatenate([along[kept], cut])
        first, last = self._groups(cells)
        held = [(first <= group) & (group <= last) for group in range(len(self._best))]
        return np.stack([tops[inside].max(axis=0, initial=0.0) for inside in held])

    def _reach(self, points: Cells) -> None:
        if not len(points):
            return
        groups = self._groups(points)[0]
        for places, enclosed in self._tables.enclosed(points):
            np.maximum.at(self._best, groups[places], self._bounds.at(enclosed))
            self._work += enclosed.along.size

    def _looked_at(self, cells: Cells, known: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Bounds on each cell, closer where the first do not show that it can be left, and whether to cut it along its rays."""
        found, along = np.array(known), np.zeros(len(cells), dtype=bool)
        for places, enclosed in self._tables.enclosed(cells):
            here = np.minimum(found[places], self._bounds.quick(enclosed))
            each = self._excesses(cells.take(places), here)
            open_ = (each.max(axis=1) > CLOSE) & (each[:, [KL, PURE]].max(axis=1) <= CLOSE)
            open_ |= cells.single[places]
            if open_.any():
                part = enclosed if open_.all() else enclosed.take(open_)
                here[open_] = np.minimum(here[open_], self._bounds.at(part))
                self._work += 2 * part.along.size
            found[places], along[places] = here, enclosed.lengthwise
            self._work += enclosed.along.size
        alone = cells.single
        np.maximum.at(self._best, self._groups(cells)[0][alone], found[alone])
        return found, along

    def _groups(self, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        values = self._sectors.successes(cells) if self._full else cells.t
        first, last = (np.minimum(np.searchsorted(self._ends, values[:, i]), len(self._ends) - 1) for i in (0, 1))
        return first, last

    def _excess(self, cells: Cells, tops: Array) -> Array:
        return np.asarray(self._excesses(cells, tops).max(axis=1))

    def _excesses(self, cells: Cells, tops: Array) -> Array:
        """How far bounds stand above what is reached in their groups, in parts of that or of what matters."""
        best = self._best
        largest = np.where(best.max(axis=0) > 0, best.max(axis=0), tops.max(axis=0, initial=0.0) / 2)
        scale = np.maximum(largest, self._worth)
        if len(best) == 1:
            return np.asarray((tops - best) / scale)
        reached = np.minimum(*(best[group] for group in self._groups(cells)))
        return np.asarray((tops - np.maximum(reached, _WORTH * largest)) / scale)
