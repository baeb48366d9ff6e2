"""The pure cost of the table a block is really drawn from: its posterior mixed with γ of the uniform one, for any n.

    P̃_k(v) = γ/K + (1−γ)·p_k(v);   sup over counts v of max_k log P̃_k(v) − log P̃_k(v+d)

With c = γ/(K(1−γ)), ρ_k = p_k(v)/p_k(v+d) = e^{Λ(v) − b_k}, Λ(v) = log E_v e^b, a term is log (c + p)/(c + p/ρ), which rises with
p where ρ > 1 and with ρ. Branch and bound over rectangles of counts (u, w) with log-weights log prior + u·X + w·Y, X rising
and Y falling in θ. On a rectangle

  p_k(v) ≤ p_k(m)·exp(|X_k − E_m X|·h_u + |Y_k − E_m Y|·h_w), m the middle and h half the sides: log p_k is concave in v
  Λ(v) ≤ its value at the corner where θ is as large (b rising) or as small as can be: posteriors rise with u and fall with w
         in the likelihood-ratio order

and both at once bound every term; on a single pair of counts both are equalities. Rectangles are halved, the highest bounds
first, until none exceeds the largest value seen by more than `CLOSE`, or until `WORK_MAX`: what is left counts with its bound.
Where b is not monotone (successes and failures removed or added together) the range of b stands in, which bounds any mixture.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid

Array = NDArray[np.float64]
Box = NDArray[np.int64]

CLOSE = 1.005
WORK_MAX = 6_000_000
_BATCH, _MIXED_BATCH = 400_000, 60_000
"""Points held at once: few enough to stay in a cache. `map`'s gain is set by sums of the first."""
_TRIED = 8
_ROUNDING = 2.0**-49
_RELATIVE = 1e-11


@dataclass(frozen=True, slots=True)
class Counts:
    """Which counts (u, w) may stand before a move: `least` ≤ (u, w) ≤ `most`, and u + w ≤ `total_most`; u + `apart` ≤ w if None.

    A block that rows may miss has (s, f), s + f ≤ n; one that every row falls in has (s, s + f), from n to k·n rows.
    """

    rising: Array
    falling: Array
    least: tuple[int, int]
    most: tuple[int, int]
    total_most: int | None
    apart: int = 0

    def nearest(self, boxes: Box) -> Box:
        """The corner of every rectangle that lies furthest inside."""
        return boxes[:, [0, 3 if self.total_most is None else 2]]

    def hold(self, points: Box) -> NDArray[np.bool_]:
        u, w = points.T
        held: NDArray[np.bool_] = u + self.apart <= w if self.total_most is None else u + w <= self.total_most
        return held


def mixed_pure(grid: BlockGrid, counts: Counts, b: Array, share: float, scale: float) -> float:
    """`share` is γ; `scale`, 1/τ, the number of rows by which a posterior changes shape: where rectangles are cut."""
    return min(float(np.ptp(b)), _supremum(grid, counts, b, share / grid.size / (1 - share), scale))


def mixed_pure_on(grid: BlockGrid, counts: Counts, b: Array, share: float, boxes: Box) -> Array:
    """Bounds on each of these rectangles; b rises or falls."""
    return _Search(grid, counts, b, share / grid.size / (1 - share)).bounds(boxes) * (1 + _RELATIVE)


def largest_fall(grid: BlockGrid, counts: Counts, b: Array, scale: float) -> float:
    """sup over counts v of max_k p_k(v) − p_k(v+d), without a mixture."""
    return min(1.0, _supremum(grid, counts, b, None, scale))


def _supremum(grid: BlockGrid, counts: Counts, b: Array, floor: float | None, scale: float) -> float:
    steps = np.diff(b)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return np.inf
    boxes = np.array([[counts.least[0], counts.most[0], counts.least[1], counts.most[1]]], dtype=np.int64)
    if (boxes[:, [0, 2]] > boxes[:, [1, 3]]).any():
        return 0.0
    return _Search(grid, counts, b, floor).supremum(boxes, scale) * (1 + _RELATIVE)


class _Search:
    """`floor` is c; None: p − p/ρ itself is bounded instead of the logarithm, by the same two bounds."""

    def __init__(self, grid: BlockGrid, counts: Counts, b: Array, floor: float | None) -> None:
        self._grid, self._counts = grid, counts
        self._b = b - b.min()
        self._tilt = np.expm1(self._b)
        self._floor = floor
        self._rising = b[-1] > b[0]
        self._size = float(np.abs(counts.rising).max() + np.abs(counts.falling).max())

    def supremum(self, boxes: Box, scale: float) -> float:
        """Always the rectangles with the highest bounds first, so that what is left is bounded as well as work allows."""
        tops, best, work = self.bounds(boxes), self.best_inside(boxes), 0
        work_max = WORK_MAX // 4 if self._floor is None else WORK_MAX  # a fall is as large at counts of every size
        while len(tops) and tops.max() > best * CLOSE and work < work_max:
            first = np.argsort(-tops)[: max(_TRIED, _BATCH // self._grid.size)]
            first = first[tops[first] > best * CLOSE]
            parts, _ = halved(boxes[first], scale)
            parts = parts[self._counts.hold(self._counts.nearest(parts))]
            found = self.bounds(parts)
            single = (parts[:, 0] == parts[:, 1]) & (parts[:, 2] == parts[:, 3])
            best = max(best, float(found[single].max(initial=0.0)))
            best = max(best, self.best_inside(parts[np.argsort(-found)[:_TRIED]]))
            boxes = np.concatenate([np.delete(boxes, first, axis=0), parts[~single]])
            tops = np.concatenate([np.delete(tops, first), found[~single]])
            work += 3 * (len(parts) + _TRIED) * self._grid.size
        return max(best, float(tops.max(initial=0.0)))

    def bounds(self, boxes: Box) -> Array:
        if not len(boxes):
            return np.zeros(0)
        batch = _BATCH if self._floor is None else _MIXED_BATCH
        parts = np.array_split(boxes, max(1, len(boxes) * self._grid.size // batch))
        return np.concatenate([self._bounds(part.astype(np.float64)) for part in parts])

    def best_inside(self, boxes: Box) -> float:
        """The largest value at counts that do occur, up to two a rectangle: its middle and a corner."""
        middle = np.stack([(boxes[:, 0] + boxes[:, 1]) // 2, (boxes[:, 2] + boxes[:, 3]) // 2], axis=1)
        points = np.concatenate([middle, self._counts.nearest(boxes)])
        points = points[self._counts.hold(points)]
        return float(self.bounds(np.repeat(points, 2, axis=1)).max(initial=0.0))

    def _bounds(self, boxes: Array) -> Array:
        u0, u1, w0, w1 = boxes.T
        middle = self._logs((u0 + u1) / 2, (w0 + w1) / 2)
        p = np.exp(middle)
        rising, falling = self._counts.rising, self._counts.falling
        error = _ROUNDING * (float(np.abs(self._grid.log_prior).max()) + (u1 + w1) * self._size)[:, None]
        means = p @ rising, p @ falling
        middle += _scaled(np.subtract(rising, means[0][:, None], out=p), (u1 - u0) / 2) + _scaled(
            falling - means[1][:, None], (w1 - w0) / 2
        )
        middle += 2 * error
        most = np.exp(np.minimum(middle, 0.0, out=middle), out=middle)
        corner = self._logs(u1, w0) if self._rising else self._logs(u0, w1)
        largest = np.log1p(np.exp(corner, out=corner) @ self._tilt)[:, None] * (1 + 4 * error)
        fall = np.subtract(self._b, largest, out=corner)
        np.minimum(fall, 0.0, out=fall)
        lost = np.expm1(fall, out=p)
        np.negative(lost, out=lost)
        lost *= most
        if self._floor is None:
            return np.asarray(lost.max(axis=1))
        left = np.exp(fall, out=fall)
        left *= most
        left += self._floor
        lost /= left
        return np.asarray(np.log1p(lost.max(axis=1)))

    def _logs(self, u: Array, w: Array) -> Array:
        log = self._grid.log_prior + u[:, None] * self._counts.rising + w[:, None] * self._counts.falling
        log -= log.max(axis=1, keepdims=True)
        log -= np.log(np.exp(log).sum(axis=1, keepdims=True))
        return np.asarray(log)


def _scaled(apart: Array, half: Array) -> Array:
    """|X_k − E X|·h, in place."""
    np.abs(apart, out=apart)
    apart *= half[:, None]
    return apart


def halved(boxes: Box, scale: float) -> tuple[Box, NDArray[np.int64]]:
    """Both sides cut, in proportion beyond `scale`; sides of one count stay whole. Parts, and of which rectangle each is one."""
    places = np.arange(len(boxes))
    for side in (0, 2):
        low, high = boxes[:, side], boxes[:, side + 1]
        middle = np.sqrt((low + scale) * (high + scale)) - scale
        cut = np.clip(np.floor(middle).astype(np.int64), low, np.maximum(high - 1, low))
        wide = high > low
        first, second = boxes.copy(), boxes[wide].copy()
        first[:, side + 1] = np.where(wide, cut, high)
        second[:, side] = cut[wide] + 1
        boxes, places = np.concatenate([first, second]), np.concatenate([places, places[wide]])
    return boxes, places
