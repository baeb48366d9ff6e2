"""How much larger a divergence can be inside a rectangle of counts than at its corners, as a factor.

    D_α(v) ≤ max_c D_α(P_c ‖ P_{c+d})·e^{2·max G(x)},   −1 ≤ x ≤ α − 1,   c the corners of the rectangle

with G(x) the most that ψ = log Z lies under the mean of its values at the corners moved by −xd, from Jeffreys divergences J of
corners' own tables: D_α is an integral of Var(b) along the path, and Z²·Var(b) a sum of exponentials with positive weights
(`privacy/units/cells.py`, (1) and (2), whose proof asks nothing of a cell but its four corners). Of second order in the sides
and in proportion to D_α, where what tangents leave is divided by α − 1: with a strong prior a person's own divergence is far
below that of two corners. Between two places on the path J ≤ the larger of both·e^{g + g}, g = (x₁ − x₀)·(E_{x₀} b − E_{x₁} b)/4.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid
from app.core.kinds.networks.blocks.mixed_pure import Counts
from app.core.privacy.cost import ORDERS
from app.core.privacy.units.cells import CORNER_PAIRS, gap

Array = NDArray[np.float64]

_TILT_MAX = 300.0
"""Places on a path up to which no weight held at e^`LOWEST` of the largest can be seen in a sum."""
_PLACES = np.array([-1.0, 0.0, 0.5, 1.0, 3.0, 6.0, 11.0, 19.0, 31.0, 47.0])
"""Places on a path where tables are looked at: those of orders, and of KL at 0."""


class PathGrowth:
    """Of one block and one move that adds `b` to its log-weights."""

    def __init__(self, grid: BlockGrid, counts: Counts, b: Array) -> None:
        places = _PLACES[_PLACES * np.ptp(b) <= _TILT_MAX]
        self._ahead = np.searchsorted(places, np.array([0.0, *ORDERS]) - 1, side="left") - 1
        self.told = int((self._ahead < len(places) - 1).sum())
        """KL and so many orders are told."""
        shift = -places[:, None] * b
        tilts = np.exp(shift - shift.max(axis=1, keepdims=True))
        self._x, self._y = (side - (side.max() + side.min()) / 2 for side in (counts.rising, counts.falling))
        self._sums = np.concatenate([tilts, tilts * self._x, tilts * self._y, (tilts * (b - b.min()))]).T
        self._steps = np.diff(places) / 4
        self._size = float(np.abs(self._x).max() + np.abs(self._y).max())

    def along(self, p: Array) -> Array:
        """[table, means of three statistics at every place on its path]."""
        total, *sums = np.split(p @ self._sums, 4, axis=1)
        return np.concatenate([each / total for each in sums], axis=1)

    def factors(self, corners: Array, along: Array, where: NDArray[np.int64], error: Array) -> Array:
        """[rectangle, KL and orders]: from different corners, their means, and which four every rectangle has, in the order
        (u₀, w₀), (u₀, w₁), (u₁, w₀), (u₁, w₁); `error` of log p. Infinite where a path leads too far."""
        *means, b = np.split(along, 3, axis=1)
        sag = np.maximum(-np.diff(b, axis=1), 0.0) * self._steps
        ends, jeffreys = corners[where], []
        with np.errstate(over="ignore", invalid="ignore"):
            for i, j in CORNER_PAIRS:
                first, second = where[:, i], where[:, j]
                apart = ends[:, i] - ends[:, j]
                moved = sum((mean[first] - mean[second]) * apart[:, [side]] for side, mean in enumerate(means))
                lost = 16 * error * self._size * np.abs(apart).sum(axis=1)
                moved = np.maximum(moved, 0.0) + lost[:, None]
                jeffreys.append(np.maximum(moved[:, 1:], moved[:, :-1]) * np.exp(sag[first] + sag[second]))
            most = np.maximum.accumulate(gap(jeffreys), axis=1)  # up to the place of each order
            factors = np.full((len(where), 1 + len(ORDERS)), np.inf)
            factors[:, : self.told] = np.exp(2 * most[:, np.maximum(self._ahead[: self.told], 0)])
        return factors
