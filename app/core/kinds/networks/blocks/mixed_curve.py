"""Every figure of the table a block is really drawn from, its posterior mixed with γ of the uniform one, over all counts.

    P̃_k(v) = γ/K + (1−γ)·p_k(v);   sup over counts v of KL, D_α and D_∞ of P̃(v) from P̃(v+d), all at once

Branch and bound over rectangles of counts (`mixed_pure.py` for the notation). On a rectangle with middle m and corners c every
figure is at most the smallest of

  posterior   max over c of D_α(P_c ‖ P_{c+d}) + α/(α−1)·KL(P_m ‖ P_c): mixing lowers D_α, and (α−1)·D_α(v) =
              ψ(v−(α−1)d) + (α−1)·ψ(v+d) − α·ψ(v), where a tangent at m instead of the last ψ leaves a convex function of v
  mixed       log(1 + Σ P⁺·(e^{(α−1)ℓ⁺} − 1)⁺ − Σ P⁻·(1 − e^{(α−1)ℓ⁺})⁺)/(α−1), Σ P⁺·(ℓ⁺)⁺ − Σ P⁻·(ℓ⁺)⁻ for KL and max ℓ⁺ for D_∞.
              P⁺ from the tangents of log p_k in m and P⁻ from its lowest corner, log p_k being concave; ℓ⁺ = log (c+p)/(c+p/ρ)
              with ρ at most exp(Λ⁺ − b_k), at P⁺ where ρ > 1, at P⁻ elsewhere; Λ⁺ = max over c of Λ(c) + KL(P_m ‖ P_c), or Λ
              at the corner of likelihood-ratio order where b is monotone
  variance    ceilings of Var(b) along the paths (`block_suprema.py`)
  growth      max over c of D_α(P_c ‖ P_{c+d})·e^{2G}, G of what corners' tables differ by along the paths (`path_growth.py`),
              once a search by the others has ended far above what was reached, as with strong priors

and of what convexity of F(α) = (α−1)·D_α, F(1) = 0 and F' ≤ D_∞ leave between the orders for which `mixed` is worked out. On a
single pair of counts `mixed` is an equality. Many points of a grid are joined in bins: masses add, the largest ℓ⁺ stands.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import LOWEST, BlockGrid, Divergences
from app.core.kinds.networks.blocks.block_terms import KL, PURE
from app.core.kinds.networks.blocks.convex_orders import PLACES, POWERS_WORKED_OUT, convex_figures, power_sums
from app.core.kinds.networks.blocks.mixed_pure import Box, Counts, halved, mixed_pure, mixed_pure_on
from app.core.kinds.networks.blocks.path_growth import PathGrowth
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

CLOSE = 1.02
WORK_MAX = 300_000
GROUPED_WORK_MAX = 300_000
BENT_WORK_MAX = 1_200_000
SHORT_WORK_MAX = 40_000
"""Rectangles times points of the grid; more where b rises and falls, for which nothing closer than its range is known before."""
LOOSE, _GROWN = 1.1, 1.06
"""A bound so much above what was reached is worth another search, until it is no more than this above."""
GROWN_WORK_MAX = 600_000
_GROWN_ROUNDS, _GROWN_ROUND_MAX = 3, 2_000_000
_BATCH = 200_000
_ROUND = 20_000
_BOXES = 600
_TRIED = 6
_NEW, _SEEN, _CLOSED = 0, 1, 2
_WORTH, _WITHIN = 0.5, 1.04
_BINS = 128
_ROUNDING = 2.0**-49
_FIGURES = PURE + 1
_ALL = np.array([np.iinfo(np.int64).max])
_ORDERS = np.array(ORDERS)
_POWERS = _ORDERS - 1


def drawn_brackets(
    grid: BlockGrid,
    counts: Counts,
    b: Array,
    share: float,
    scale: float,
    boxes: Box,
    tops: Array,
    ends: NDArray[np.int64] | None = None,
    pure_most: float = np.inf,
    searched: bool = False,
    grown: bool = False,
    pure: float | None = None,
) -> tuple[Array, Array]:
    """[group, figure], KL, D_α …, D_∞: (a bound, what is reached at some counts); after a short search unless `searched` in full.

    `boxes` cover all counts, `tops` are bounds of [KL, D_α …] on them known before; groups are of totals u + w, each up to one
    of `ends`; one group of all without. `pure_most` is a bound of D_∞ known before, `pure` one besides which none is looked
    for. `grown`: goes on where that ends far above.
    """
    groups = _ALL if ends is None else ends
    if not len(boxes):
        return np.zeros((len(groups), _FIGURES)), np.zeros((len(groups), _FIGURES))
    if pure is None:
        pure = min(mixed_pure(grid, counts, b, share, scale), pure_most)
    each = np.full(len(boxes), pure)
    steps = np.diff(b)
    if len(groups) > 1 and ((steps >= 0).all() or (steps <= 0).all()):
        each = np.minimum(each, mixed_pure_on(grid, counts, b, share, boxes))
    first = convex_figures(np.minimum(np.column_stack([tops, each]), each[:, None]))
    search = _Search(grid, counts, b, share / grid.size / (1 - share), groups)
    return search.suprema(boxes, first, scale, search.work_max() if searched else SHORT_WORK_MAX, grown)


@dataclass(slots=True)
class _Tables:
    """At counts: log p, ψ, and the means of both statistics."""

    log_p: Array
    psi: Array


class _Search:
    def __init__(self, grid: BlockGrid, counts: Counts, b: Array, floor: float, ends: NDArray[np.int64]) -> None:
        self._grid, self._counts, self._floor, self._ends = grid, counts, floor, ends
        self._b = b - b.min()
        self._tilt = np.exp(self._b)
        steps = np.diff(b)
        self._rising = bool((steps >= 0).all())
        self._monotone = self._rising or bool((steps <= 0).all())
        self._posterior = Divergences(b)
        self._size = float(np.abs(counts.rising).max() + np.abs(counts.falling).max())
        self._prior = float(np.abs(grid.log_prior).max())
        width = -(-grid.size // _BINS)
        self._starts = np.arange(0, grid.size, width)
        self._growth: PathGrowth | None = None

    def work_max(self) -> int:
        allowed = WORK_MAX if len(self._ends) == 1 else GROUPED_WORK_MAX
        return max(allowed, min(_BOXES * self._grid.size, BENT_WORK_MAX)) if self._monotone else BENT_WORK_MAX

    def suprema(self, boxes: Box, tops: Array, scale: float, work_max: int, grown: bool) -> tuple[Array, Array]:
        """Always the rectangles first that stand highest above what their groups are known to reach; with growth if the rest
        does not suffice."""
        best, work = np.zeros((len(self._ends), _FIGURES)), 0
        if self._monotone and len(best) == 1:  # known closely enough
            best[:, PURE] = tops[:, PURE].max()
        state = np.full(len(boxes), _NEW)
        while True:
            if work >= work_max:
                if not grown or self._growth is not None or self._excess(boxes, tops, best).max() <= LOOSE:
                    break
                self._growth, work_max = PathGrowth(self._grid, self._counts, self._b), work_max + GROWN_WORK_MAX
                boxes, tops = self._all_grown(self._growth, boxes, tops, best, scale)
                state = np.full(len(boxes), _NEW)
            excess = np.where(state == _CLOSED, 0.0, self._excess(boxes, tops, best))
            chosen = np.argsort(-excess)[: max(_TRIED, _ROUND // self._grid.size)]
            close = _GROWN if self._growth is not None else CLOSE if len(best) == 1 else _WITHIN
            chosen = chosen[excess[chosen] > close]
            if not len(chosen):
                break
            parts, known = self._opened(boxes[chosen], tops[chosen], state[chosen] == _SEEN, scale)
            found = np.minimum(self.bounds(parts), known)
            single = (parts[:, 0] == parts[:, 1]) & (parts[:, 2] == parts[:, 3])
            self._reached(best, parts[single], found[single])
            points = self._inside(parts[~single], found[~single])
            self._reached(best, points, self.bounds(points))
            boxes = np.concatenate([np.delete(boxes, chosen, axis=0), parts])
            tops = np.concatenate([np.delete(tops, chosen, axis=0), found])
            state = np.concatenate([np.delete(state, chosen), np.where(single, _CLOSED, _SEEN)])
            work += (len(parts) + len(points)) * self._grid.size
        first, last = self._groups(boxes)
        held = [(first <= group) & (group <= last) for group in range(len(best))]
        return np.stack([tops[inside].max(axis=0, initial=0.0) for inside in held]), best

    def _groups(self, boxes: Box) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of the smallest and the largest total of every rectangle."""
        last = len(self._ends) - 1
        ends = (np.searchsorted(self._ends, boxes[:, i] + boxes[:, i + 2]) for i in (0, 1))
        first, second = (np.minimum(found, last) for found in ends)
        return first, second

    def _excess(self, boxes: Box, tops: Array, best: Array) -> Array:
        """How far bounds stand above what is reached in their groups, or above a part of what is reached in any."""
        largest = np.where(best.max(axis=0) > 0, best.max(axis=0), tops.max(axis=0) / 2)
        least = np.maximum(best, largest * (_WORTH if len(best) > 1 else 1.0))
        if len(best) == 1:
            return np.asarray(np.divide(tops.T, least.T, out=np.empty(tops.shape[::-1])).max(axis=0))
        return np.asarray((tops / np.minimum(*(least[group] for group in self._groups(boxes)))).max(axis=1))

    def _reached(self, best: Array, points: Box, figures: Array) -> None:
        if len(points):
            np.maximum.at(best, self._groups(points)[0], figures)

    def _opened(self, boxes: Box, tops: Array, seen: NDArray[np.bool_], scale: float) -> tuple[Box, Array]:
        """Rectangles not yet looked at as they are, the others in parts, with what is known of them."""
        cut, places = halved(boxes[seen], scale)
        held = self._counts.hold(self._counts.nearest(cut))
        parts = np.concatenate([boxes[~seen], cut[held]])
        return parts, np.concatenate([tops[~seen], tops[seen][places[held]]])

    def _inside(self, boxes: Box, tops: Array) -> Box:
        """Counts that do occur, in the middles and corners of the highest rectangles."""
        if not len(boxes):
            return boxes
        highest = boxes[np.argsort(-(tops / tops.max(axis=0)).max(axis=1))[:_TRIED]]
        middle = np.stack([(highest[:, 0] + highest[:, 1]) // 2, (highest[:, 2] + highest[:, 3]) // 2], axis=1)
        points = np.unique(np.concatenate([middle, self._counts.nearest(highest)]), axis=0)
        return np.repeat(points[self._counts.hold(points)], 2, axis=1)

    def bounds(self, boxes: Box) -> Array:
        if not len(boxes):
            return np.zeros((0, _FIGURES))
        parts = np.array_split(boxes, max(1, len(boxes) * self._grid.size // _BATCH))
        return np.concatenate([self._bounds(part.astype(np.float64)) for part in parts])

    def _all_grown(self, growth: PathGrowth, boxes: Box, tops: Array, best: Array, scale: float) -> tuple[Box, Array]:
        """Rectangles that stand too high where growth can tell, lowered by it alone, which takes one table each: neighbours share
        corners; then in parts. `best` is raised by what corners of the largest divergences reach."""
        seen, told = np.zeros(len(boxes), dtype=np.bool_), slice(0, growth.told)
        for _ in range(_GROWN_ROUNDS):
            excess = self._excess(boxes, tops[:, told], best[:, told])
            chosen = np.argsort(-excess)[: _GROWN_ROUND_MAX // self._grid.size]
            chosen = chosen[excess[chosen] > _GROWN]
            if not len(chosen):
                break
            parts, known = self._opened(boxes[chosen], tops[chosen], seen[chosen], scale)
            known[:, :PURE] = np.fmin(known[:, :PURE], self._grown(growth, parts, best))
            boxes = np.concatenate([np.delete(boxes, chosen, axis=0), parts])
            tops = np.concatenate([np.delete(tops, chosen, axis=0), known])
            seen = np.concatenate([np.delete(seen, chosen), np.ones(len(parts), dtype=np.bool_)])
        return boxes, tops

    def _grown(self, growth: PathGrowth, boxes: Box, best: Array) -> Array:
        corners, where = _different(_corners(boxes).reshape(-1, 2).astype(np.float64))
        batches = np.array_split(corners, max(1, len(corners) * self._grid.size // _BATCH))
        tables = (np.exp(self._tables(batch).log_p) for batch in batches)
        found, along = zip(*((self._posterior.at(p), growth.along(p)) for p in tables), strict=True)
        figures = np.concatenate(found)
        points = np.repeat(corners[np.unique(figures.argmax(axis=0))].astype(np.int64), 2, axis=1)
        points = points[self._counts.hold(points[:, ::2])]
        self._reached(best, points, self.bounds(points))
        factors = growth.factors(corners, np.concatenate(along), where, self._error(boxes.astype(np.float64)))
        return np.asarray(figures[where].max(axis=1) * factors)

    def _error(self, boxes: Array) -> Array:
        """Of log p, at most, on every rectangle."""
        return np.asarray(_ROUNDING * (self._prior + (boxes[:, 1] + boxes[:, 3]) * self._size))

    def _bounds(self, boxes: Array) -> Array:
        u0, u1, w0, w1 = boxes.T
        middle = np.stack([(u0 + u1) / 2, (w0 + w1) / 2], axis=1)
        ends = _corners(boxes)
        corners, where = _different(ends.reshape(-1, 2))
        at, mid = self._tables(corners), self._tables(middle)
        p_mid, p_at = np.exp(mid.log_p), np.exp(at.log_p)
        rising, falling = self._counts.rising, self._counts.falling
        mean = np.stack([p_mid @ rising, p_mid @ falling], axis=1)
        error = self._error(boxes)
        moved = ((ends - middle[:, None]) * mean[:, None]).sum(axis=2)
        apart = np.maximum(at.psi[where] - mid.psi[:, None] - moved, 0.0) + 4 * error[:, None]
        apart[(u0 == u1) & (w0 == w1)] = 0.0
        at_corners = self._posterior.at(p_at)
        posterior = np.zeros((len(boxes), PURE))
        for corner in range(4):
            here = at_corners[where[:, corner]]
            here[:, 1:] += apart[:, corner, None] * (_ORDERS / _POWERS)
            # KL has a term that is not convex in the counts: between corners other bounds hold, not this one
            here[:, 0] = np.where(apart[:, corner] > 0, np.inf, here[:, 0])
            np.maximum(posterior, here, out=posterior)
        if self._growth is not None:
            factors = self._growth.factors(corners, self._growth.along(p_at), where, error)
            posterior = np.fmin(posterior, at_corners[where].max(axis=1) * factors)
        logs = np.log(p_at @ self._tilt)
        largest = (logs[where] + apart).max(axis=1)
        if self._monotone:
            largest = np.minimum(largest, logs[where[:, 2 if self._rising else 1]])
        half = np.stack([(u1 - u0) / 2, (w1 - w0) / 2], axis=1)
        rise = np.abs(rising - mean[:, :1]) * half[:, :1] + np.abs(falling - mean[:, 1:]) * half[:, 1:]
        most = np.minimum(mid.log_p + rise + 2 * error[:, None], 0.0)
        least = at.log_p[where].min(axis=1) - 2 * error[:, None]
        figures = self._mixed(most, least, largest * (1 + 4 * error))
        figures[:, :PURE] = np.minimum(figures[:, :PURE], posterior)
        return convex_figures(figures)

    def _mixed(self, most: Array, least: Array, largest: Array) -> Array:
        """From bounds of log p and of Λ − min b."""
        c = self._floor
        change = np.minimum(self._b - largest[:, None], 300.0)
        p = np.exp(np.where(change < 0, most, least))
        loss = -np.log1p(p * np.expm1(change) / (c + p))
        loss = np.maximum.reduceat(loss, self._starts, axis=1)
        share = 1 / (1 + c * self._grid.size)
        high = np.add.reduceat(np.exp(most) + c, self._starts, axis=1) * share
        low = np.add.reduceat(np.exp(least) + c, self._starts, axis=1) * share
        weight = np.where(loss > 0, high, low)
        figures = np.full((len(most), _FIGURES), np.inf)
        figures[:, PURE] = loss.max(axis=1)
        figures[:, KL] = np.maximum((weight * loss).sum(axis=1), 0.0)
        top = np.maximum(loss.max(axis=1), 0.0)
        unit, whole = -top, weight.sum(axis=1) - 1
        sums = power_sums(weight, np.exp(loss - top[:, None]), POWERS_WORKED_OUT.tolist())
        for power, place, total in zip(POWERS_WORKED_OUT, PLACES, sums, strict=True):
            least = np.exp(power * unit)
            figures[:, 1 + place] = top + np.log(np.maximum(total - least * whole, least)) / power
        return figures

    def _tables(self, points: Array) -> _Tables:
        log = self._grid.log_prior + points[:, :1] * self._counts.rising + points[:, 1:] * self._counts.falling
        top = log.max(axis=1, keepdims=True)
        log = np.maximum(log - top, LOWEST)
        total = np.log(np.exp(log).sum(axis=1, keepdims=True))
        return _Tables(log - total, (top + total)[:, 0])


def _corners(boxes: NDArray[np.generic]) -> Array:
    return np.asarray(np.stack([boxes[:, [0, 2]], boxes[:, [0, 3]], boxes[:, [1, 2]], boxes[:, [1, 3]]], axis=1))


def _different(points: Array) -> tuple[Array, NDArray[np.int64]]:
    """Pairs of whole numbers, each once, and where the four corners of every rectangle are among them."""
    u, w = points.astype(np.int64).T
    size = int(w.max()) + 1
    keys, where = np.unique(u * size + w, return_inverse=True)
    return np.stack(np.divmod(keys, size), axis=1).astype(np.float64), where.reshape(-1, 4)
