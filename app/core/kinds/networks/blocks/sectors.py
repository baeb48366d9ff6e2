"""All counts of a block that can stand before a move, in cells on which its tables change little.

With a prior worth (a, b) = (α − ½, β − ½) observations the table at counts (s, f) is p ∝ e^{S·X + F·Y}, S = s + a, F = f + b: a
Beta with t = S + F observations, a share S/t of them successes. Along a ray of one share it only gets narrower; where the share
is beyond an end of the grid it piles up there, and is nearly the same along lines on which its slope at that end is. So cells
t₀ ≤ t ≤ t₁ between two such lines may be long. They are convex quadrilaterals of counts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid, BlockShape
from app.core.kinds.networks.blocks.block_terms import Direction
from app.core.kinds.networks.blocks.visited import least_before

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_PARTS = 0.6
_SNAP = 2e-15


@dataclass(frozen=True, slots=True)
class Cells:
    """Totals from t₀ to t₁, whole numbers, a row each; successes between two lines, [cell, left or right, at t₀ or at t₁]."""

    t: Whole
    s: Array

    def __len__(self) -> int:
        return len(self.t)

    def take(self, places: Whole | NDArray[np.bool_]) -> "Cells":
        return Cells(self.t[places], self.s[places])

    @staticmethod
    def joined(*parts: "Cells") -> "Cells":
        return Cells(np.concatenate([part.t for part in parts]), np.concatenate([part.s for part in parts]))

    @property
    def single(self) -> NDArray[np.bool_]:
        return np.asarray((self.t[:, 0] == self.t[:, 1]) & (self.s[:, 0, 0] == self.s[:, 1, 0]))


class Sectors:
    """The cells of one block and one move."""

    def __init__(self, grid: BlockGrid, shape: BlockShape, d: Direction) -> None:
        self._shares = float(grid.theta[0]), float(grid.theta[-1])
        self._prior = max(shape.alpha - 0.5, 0.0), max(shape.beta - 0.5, 0.0)
        self._least = max(0, -d[0]), max(0, -d[1])
        first = least_before(shape, d) if shape.full else sum(self._least)
        self._totals = first, shape.rows - max(0, sum(d))

    def first(self) -> Cells:
        """Totals one by one, then by factors of 2. Rays by as much as posteriors of that many are wide, between shares of ω and
        1 − ω; beyond, where tables pile up at an end and depend on their slope there alone, lines of one slope."""
        low, high = self._totals
        if low > high:
            return Cells(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2, 2)))
        ends = np.unique(np.floor(np.append(2.0 ** np.arange(1, 60), high)).astype(np.int64))
        ends = np.append(ends[(ends >= low) & (ends < high)], high)
        found = []
        for t in np.stack([np.append(low, ends[:-1] + 1), ends], axis=1):
            lines = self._lines(t)
            s = np.stack([lines[:-1], lines[1:]], axis=1)
            found.append(Cells(np.tile(t, (len(s), 1)), s))
        return self._held(Cells.joined(*found))[0]

    def _lines(self, t: Whole) -> Array:
        """[line, at t₀ or t₁] in increasing order, from no successes to nothing else."""
        if t[0] == t[1]:
            return np.array([[0.0, 0.0], [t[0], t[0]]])
        a, b = self._prior
        total = np.asarray(t + a + b, dtype=np.float64)
        low, high = self._shares
        ends = np.arcsin(np.sqrt([low, high]))
        count = max(1, int((ends[1] - ends[0]) * np.sqrt(total.mean()) * _PARTS))
        inner = [np.sin(angle) ** 2 * total - a for angle in np.linspace(ends[0], ends[1], count + 1)]
        below, above = self._beyond(total, low), self._beyond(total, 1 - high)
        left = [line for line in (low * total - a - step for step in below) if line.min() > 0]
        right = [line for line in (high * total - a + step for step in above) if (line < t).all()]
        inner = [line for line in inner if line.min() > 0 and (line < t).all()]
        return np.array([[0.0, 0.0], *left[::-1], *inner, *right, t.astype(np.float64)])

    def _beyond(self, total: Array, share: float) -> list[float]:
        """How far beyond an end's share lines lie: parts of a spread, then by factors."""
        spread = np.sqrt(share * (1 - share) * total.mean())
        steps = [spread * part for part in (1.0, 2.0)]
        while steps[-1] < share * total[1]:
            steps.append(steps[-1] * 1.5)
        return steps

    def halved(self, cells: Cells, along: NDArray[np.bool_]) -> tuple[Cells, Whole]:
        """Both halves of every cell, and of which cell each is one; cut `along` rays or across."""
        flat = cells.t[:, 0] == cells.t[:, 1]
        thin = (cells.s[:, 0] == cells.s[:, 1]).all(axis=1)
        along = (along | thin) & ~flat
        middle = cells.t.sum(axis=1) // 2
        between = cells.s.mean(axis=1)
        parts = []
        for side in (0, 1):
            t, s = cells.t.copy(), cells.s.copy()
            t[along, 1 - side] = middle[along] + side
            s[along, :, 1 - side] = self._on_lines(cells, middle + side)[along]
            s[~along, 1 - side] = between[~along]
            parts.append(Cells(t, s))
        shrunk, held = self._held(Cells.joined(*parts))
        return shrunk, np.tile(np.arange(len(cells)), 2)[held]

    def _on_lines(self, cells: Cells, total: Whole) -> Array:
        """[cell, left or right] at these totals."""
        part = (total - cells.t[:, 0]) / np.maximum(cells.t[:, 1] - cells.t[:, 0], 1)
        return np.asarray(cells.s[:, :, 0] + part[:, None] * (cells.s[:, :, 1] - cells.s[:, :, 0]))

    def points(self, cells: Cells) -> Cells:
        """Counts in the middles of cells, each a cell of its own."""
        total = np.clip(cells.t.sum(axis=1) // 2, *self._totals)
        s = np.round(self._on_lines(cells, total).mean(axis=1))
        s = np.clip(s, self._least[0], total - self._least[1])
        return Cells(np.stack([total, total], axis=1), np.tile(s[:, None, None], (1, 2, 2)))

    def successes(self, cells: Cells) -> Whole:
        """The fewest and the most of each cell."""
        slack = _SNAP * (1 + cells.t[:, 1])
        least, most = cells.s[:, 0].min(axis=1), cells.s[:, 1].max(axis=1)
        return np.stack([np.ceil(least - slack), np.floor(most + slack)], axis=1).astype(np.int64)

    def _held(self, cells: Cells) -> tuple[Cells, NDArray[np.bool_]]:
        """Cells with counts in them, no wider than these."""
        least, most = self.successes(cells).T.astype(np.float64)
        least, most = np.maximum(least, self._least[0]), np.minimum(most, cells.t[:, 1] - self._least[1])
        s = cells.s.copy()
        flat = cells.t[:, 0] == cells.t[:, 1]
        left = flat | (s[:, 0].max(axis=1) <= least)
        right = flat | (s[:, 1].min(axis=1) >= most)
        s[left, 0], s[right, 1] = least[left, None], most[right, None]
        s[:, 0] = np.minimum(s[:, 0], s[:, 1])
        held = least <= most
        return Cells(cells.t[held], s[held]), held
