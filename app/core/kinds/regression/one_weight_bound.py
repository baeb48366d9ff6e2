"""One weight: the supremum over the data of n people itself, by halving boxes of sufficient statistics.

In units of the radius a posterior on [−1, 1] is e^{−Lt²/2+ct}, ψ(L, c) the log of its integral, and rows of strength S together
(`reachable_bound.py`) add S·(X, a) to (L, c) with

    K: a² ≤ X ≤ 1        X the mean of z², a that of zy: Cauchy and Schwarz, and reached by equal rows.

So P and Q are base + s(X, a) and base + s(X', a'), the base λ and what the others of strength t add; k rows of a person
count in s. With M = αP − (α−1)Q,

    (α−1)·D_α = ψ(M) − αψ(P) + (α−1)ψ(Q).

1. **Where.** ψ is convex, so D_α is convex in (X', a'): the worst is an extreme point of K, a' = ±√X'. D_α grows when P moves
   away from Q along a line (it is an integral of variances along it): the worst (X, a) is on the boundary of K, a = ±√X or X =
   1. Of the others all of K is looked at; mirrored, they tilt to the right.
2. **In a box** of p = √X, q = √X' and the base the points are in hulls of a few: an arc of the parabola in its chord and the
   tangents at its ends, which meet at (p₀p₁, (p₀+p₁)/2); a cell of the base in its rectangle, less what a tangent cuts off. On a
   product of hulls ψ(M) and ψ(Q) are below what is linear between the corners, and ψ(P) is above it less ½ of a mean variance, at
   most e = ⅛(ℓ/2·sd t² + c·sd t)² with ℓ and c the widths of P's hull (a mean square is at most ¼ of a squared width), t under a
   law of the hull: so (α−1)·D_α is at most its largest at a corner, and αe.
3. **Variances** there, κ > 0 the least curvature: Var t ≤ S(κ) (`segment_variance.py`), so |E t| ≤ |c|·S; Var t² ≤ 4E t²/κ
   (Brascamp and Lieb) and 1/6. Where the log-density rises by at least m > 0 everywhere, 1 − t is below an exponential law: Var
   t ≤ 2/m², Var t² ≤ 8/m².
   *Or*, for D_α itself, the integrated inequality of Brascamp and Lieb (`cost.py`) with what the box says of κ, of the
   curvature that Q takes away and of the slope G of b; and, where every P_u, u ≤ α, rises by at least m, αG²/m² (D_α is α/2 times
   a mean of variances of b, which are at most G²·E(1−t)²).
4. **Between orders** (α−1)·D_α is convex in α, a supremum of such over the data too: below its chord; and D_α rises with α.

Boxes are halved until they are within `TOLERANCE` of the largest divergence of a dataset seen; what `WORK_MAX` leaves is
charged as it is.
"""

import itertools
import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.log_integral import log_integral
from app.core.kinds.regression.segment_variance import truncated_variances

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Marks = NDArray[np.bool_]

NODES = (1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 14.0, 24.0, 40.0, 64.0, 128.0, 256.0, 1024.0)
"""Orders looked at where more are asked for."""
LEAST = 1.05
"""The order that stands for those below."""
TOLERANCE = 1.07
WORTH = 0.92
WORK_MAX = 6_000
"""Boxes for an order; what it then leaves is charged as it is."""
RATIO = 4.0
LOST = 1e-13
"""What doubles may lose of a ψ."""
STEEP = 1e5
"""α·s and λ, times R² or R, up to which doubles are enough."""
ROUNDING = 1 + 1e-9


@lru_cache(maxsize=512)
def one_weight_bounds(
    orders: tuple[float, ...], known: tuple[float, ...], taken: float, total: float, prior: float, radius: float
) -> tuple[float, ...]:
    """Upper bounds of D_α, computed where they may be less than `known`, else infinite; `taken` kτ/σ², `total` nτ/σ²."""
    problem = _Problem(taken, max(total - taken, 0.0), prior, radius)
    looked = orders if len(orders) <= len(NODES) else tuple(order for order in orders if order in NODES)
    at = dict(zip(orders, known, strict=True))
    found = dict(zip(looked, problem.suprema(looked, np.array([at[order] for order in looked])), strict=True))
    return tuple(_between(order, found) for order in orders)


def _between(order: float, found: dict[float, float]) -> float:
    """The chord of (α−1)·D_α between the orders beside it."""
    if order in found:
        return found[order]
    above = min((each for each in found if each > order), default=math.inf)
    below = max((each for each in found if 1 < each < order), default=1.0)
    if not math.isfinite(above) or below == 1 or not math.isfinite(found[below]):
        return found.get(above, math.inf)
    share = (order - below) / (above - below)
    return ((1 - share) * (below - 1) * found[below] + share * (above - 1) * found[above]) / (order - 1)


class _Problem:
    """s, t and λ in units of the radius, twice: as curvatures (R²) and as tilts (R)."""

    def __init__(self, taken: float, others: float, prior: float, radius: float) -> None:
        self.own, self.others = (np.array([each * radius**2, each * radius]) for each in (taken, others))
        self.prior, self.total = np.array([prior * radius**2, 0.0]), others

    def suprema(self, orders: tuple[float, ...], known: Array) -> list[float]:
        alpha = np.maximum(np.array(orders), LEAST)
        highest, found, worked = self._some_datasets(alpha), np.zeros(len(alpha)), np.zeros(len(alpha))
        alive: Marks = np.asarray(alpha * max(self.own.max(), self.prior.max()) <= STEEP)
        boxes, kinds = self._first_boxes()
        wide: Marks = np.tile(alive, (len(boxes), 1))
        while wide.any():
            self._shrink(boxes)
            wide &= np.all(boxes[:, :, :1] <= boxes[:, :, 1:], axis=1)
            upper, reached, losses = self._bounds(boxes, kinds, wide, alpha, TOLERANCE * highest)
            highest, worked = np.maximum(highest, reached), worked + wide.sum(axis=0)
            alive &= highest < WORTH * known
            still = wide & alive & (upper > TOLERANCE * highest) & (worked < WORK_MAX)
            found = np.maximum(found, np.where(wide & ~still, upper, 0.0).max(axis=0))
            kept = still.any(axis=1)
            boxes, kinds, wide = _halved(boxes[kept], losses[kept].argmax(axis=1)), kinds[kept], still[kept]
            kinds, wide = np.tile(kinds, (2, 1)), np.tile(wide, (2, 1))
        return [float(each) for each in np.where(alive, found * ROUNDING, math.inf)]

    def _first_boxes(self) -> tuple[Array, Places]:
        """(boxes, (p, q, x, c), ends), x and c what the others add; and where P and Q are.

        On an arc, a = ±√X, of kind ±1; or of kind 0, X = 1, where p stands for a.
        """
        own = [(kind, ends) for kind in (1, -1) for ends in ((0.0, 0.5), (0.5, 1.0))]
        least, (curved, tilted) = float(self.prior[0] + self.own[0]), self.others.tolist()
        base = [((0.0, 0.0), (0.0, 0.0))]
        if curved > 0:
            base = list(itertools.product(_spaced(least, curved), _spaced(1 + least, tilted)))
        places = list(itertools.product([*own, (0, (-1.0, 0.0)), (0, (0.0, 1.0))], own, base))
        boxes = np.array([[one[1], other[1], *each] for one, other, each in places])
        return boxes, np.array([[one[0], other[0]] for one, other, _ in places])

    def _shrink(self, boxes: Array) -> None:
        """To the base that c² ≤ tx leaves, a little more for doubles; nothing where its ends cross."""
        boxes[:, 2, 0] = np.maximum(boxes[:, 2, 0], boxes[:, 3, 0] ** 2 / max(self.total, 1e-300) * (1 - 1e-12))
        boxes[:, 3, 1] = np.minimum(boxes[:, 3, 1], np.sqrt(self.total * boxes[:, 2, 1]) * (1 + 1e-12))

    def _hulls(self, boxes: Array, kinds: Places) -> tuple[Array, Array, Array]:
        """What P's record, Q's and the others add to (L, c), the prior with these."""
        p, q = (self.own * _arc(boxes[:, side], kinds[:, side]) for side in (0, 1))
        return p, q, self.prior + _cell(boxes[:, 2], boxes[:, 3], self.total)

    def _some_datasets(self, alpha: Array) -> Array:
        """The largest D_α of a few hundred datasets, to begin with."""
        p, q = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]), np.array([-1.0, -0.7, -0.4, 0.4, 0.7, 1.0])
        tilt = np.array([0.0, 0.1, 0.3, 1.0, 3.0]) * float(self.prior[0] + self.own[0] + 1)
        tilt = np.minimum(tilt, self.others[1])
        p, q, tilt = (each.ravel() for each in np.meshgrid(p, q, tilt, indexing="ij"))
        base = self.prior + np.stack([tilt**2 / max(self.total, 1e-300), tilt], axis=1)
        one, other = (base + self.own * np.stack([x**2, x], axis=1) for x in (p, q))
        order = alpha[:, None]
        mixed = order[..., None] * one - (order[..., None] - 1) * other
        values = log_integral(mixed) - order * log_integral(one) + (order - 1) * log_integral(other)
        return np.asarray(values.max(axis=1) / (alpha - 1))

    def _bounds(
        self, boxes: Array, kinds: Places, wide: Marks, alpha: Array, enough: Array
    ) -> tuple[Array, Array, Array]:
        """(boxes, orders) by step 3 where that is `enough`, else by step 2; the largest D_α seen; what halving may gain."""
        p, q, base = self._hulls(boxes, kinds)
        box, place = np.nonzero(wide)
        upper, reached = np.zeros(wide.shape), np.zeros(len(alpha))
        upper[box, place] = _curved(p, q, base, box, alpha[place])
        at_p, at_q = (base[:, :, None] + each[:, None] for each in (p, q))
        laws = at_p.reshape(len(boxes), -1, 2)
        sd, sd_square = _spreads(laws)
        box, place = np.nonzero(upper > enough)
        if len(box):
            order = alpha[place]
            psi = [log_integral(at_p)[box], log_integral(at_q)[box], self._mixed(p[box], q[box], base[box], order)]
            values = psi[2] + _across(-order, psi[0])[..., None] + _across(order - 1, psi[1])[:, :, None]
            lost = LOST * (1 + order * sum(np.abs(each).reshape(len(box), -1).max(axis=1) for each in psi))
            width, tilt = np.ptp(laws, axis=1).T
            bend = ((width / 2 * sd_square + tilt * sd) ** 2 / 8)[box]
            corner = (values.max(axis=(1, 2, 3)) + order * bend + lost) / (order - 1)
            upper[box, place] = np.minimum(upper[box, place], corner)
            np.maximum.at(reached, place, values[:, :3, ::2, ::2].max(axis=(1, 2, 3)) / (order - 1))
        return upper, reached, self._losses(boxes, kinds, (sd, sd_square), (alpha / (alpha - 1))[wide.argmax(axis=1)])

    def _mixed(self, p: Array, q: Array, base: Array, order: Array) -> Array:
        """ψ(M) at all corners: (pairs, 5, 3, 3)."""
        added = _across(order, p)[:, :, None] - _across(order - 1, q)[:, None]
        return log_integral(base[:, :, None, None] + added[:, None])

    def _losses(self, boxes: Array, kinds: Places, sds: tuple[Array, Array], factor: Array) -> Array:
        """What the hulls add beyond the boundary, and `bend`, of each side alone."""
        sd, sd_square = sds
        low, high = np.moveaxis(boxes, -1, 0)
        wide = high - low
        arc = kinds[:, 0] != 0
        squares = np.where(arc, high[:, 0] ** 2 - low[:, 0] ** 2, 0.0)
        own = (self.own[0] * np.abs(squares) / 2 * sd_square + self.own[1] * wide[:, 0] * sd) ** 2
        curved, tilted = (wide[:, 2] / 2 * sd_square) ** 2, (wide[:, 3] * sd) ** 2
        hull, mean = wide**2 / 8, np.minimum(sd_square + sd**2, 1.0)
        return np.stack([
            factor * (own / 8 + self.own[0] * hull[:, 0] * arc * mean),
            self.own[0] * hull[:, 1],
            factor * curved / 8,
            factor * tilted / 8,
        ], axis=1)  # fmt: skip


def _across(factor: Array, values: Array) -> Array:
    return np.asarray(factor.reshape(-1, *(1,) * (values.ndim - 1)) * values)


def _spaced(least: float, most: float) -> list[tuple[float, float]]:
    """Cells from 0 to `most`, each end `RATIO` times the one before from `least` on."""
    ends, least = [0.0], min(least, most / 2)
    while least < most:
        ends.append(least)
        least *= RATIO
    return list(itertools.pairwise([*ends, most]))


def _arc(ends: Array, kind: Places) -> Array:
    """(boxes, 3, 2): the ends of an arc and where its tangents meet; for kind 0 X = 1 and a between the ends."""
    low, high = ends.T
    x = np.stack([low**2, low * high, high**2], axis=1)
    a = np.stack([low, (low + high) / 2, high], axis=1)
    flat = (kind == 0)[:, None]
    return np.stack([np.where(flat, 1.0, x), np.where(flat, a, kind[:, None] * a)], axis=2)


def _cell(x: Array, c: Array, total: float) -> Array:
    """(boxes, 5, 2): four corners, that of the least x and the largest c cut off by a tangent of c² = tx where it is beyond."""
    (x0, x1), (c0, c1) = x.T, c.T
    touched = np.maximum((np.sqrt(total * x0) + c1) / 2, 1e-150)
    upper = np.clip((total * x0 + touched**2) / (2 * touched), c0, c1)
    left = np.clip((2 * touched * c1 - touched**2) / max(total, 1e-300), x0, x1)
    inside = total * x0 >= c1**2
    upper, left = np.where(inside, c1, upper), np.where(inside, x0, left)
    return np.stack([np.stack([x0, x1, x1, x0, left], axis=1), np.stack([c0, c0, c1, upper, c1], axis=1)], axis=2)


def _spreads(laws: Array) -> tuple[Array, Array]:
    """sd t and sd t² of step 3, the largest under laws in the hull of these."""
    low, high = laws.min(axis=1), laws.max(axis=1)
    curvature = np.maximum(low[:, 0], 1e-300)
    variance = truncated_variances(low[:, 0])
    middle = np.minimum(np.maximum(np.abs(low[:, 1]), np.abs(high[:, 1])) * variance, 1.0)
    square = np.minimum(1 / 6, 4 * (variance + middle**2) / curvature)
    rise = np.maximum(low[:, 1], -high[:, 1]) - high[:, 0]
    steep = 2 / np.maximum(rise, 1e-150) ** 2
    return np.sqrt(np.minimum(variance, steep)), np.sqrt(np.minimum(square, 4 * steep))


def _curved(p: Array, q: Array, base: Array, box: Places, alpha: Array) -> Array:
    """The integrated bound of Brascamp and Lieb, its weight below its chord from ½ to 1."""
    least = base[..., 0].min(axis=1) + np.minimum(p[..., 0].min(axis=1), q[..., 0].min(axis=1))
    taken = np.maximum(q[..., 0].max(axis=1) - p[..., 0].min(axis=1), 0.0)
    slope = np.abs(p[:, :, None] - q[:, None]).sum(axis=-1).max(axis=(1, 2))
    used = (alpha - 1) * taken[box] / least[box]
    bound = slope[box] ** 2 / least[box] * (0.5 + (alpha - 1) * (1 + used) / 2)
    bound = np.where(used <= 1, bound, math.inf)
    (q0, q1), (p0, p1), (b0, b1) = ((each.min(axis=1)[box], each.max(axis=1)[box]) for each in (q, p, base))
    more = (alpha - 1)[:, None]
    ends = ((b0 + q0, b1 + q1), (b0 + alpha[:, None] * p0 - more * q1, b1 + alpha[:, None] * p1 - more * q0))
    bent = [np.maximum(np.abs(low[:, 0]), np.abs(high[:, 0])) for low, high in ends]
    # One way at both ends, Q and M, and so between them: c and |L| are at worst linear in u.
    up = np.min([low[:, 1] - most for (low, _), most in zip(ends, bent, strict=True)], axis=0)
    down = np.min([-high[:, 1] - most for (_, high), most in zip(ends, bent, strict=True)], axis=0)
    rise = np.maximum(up, down)
    return np.asarray(np.minimum(bound, alpha * (slope[box] / np.maximum(rise, 1e-150)) ** 2))


def _halved(boxes: Array, axis: Places) -> Array:
    each = np.arange(len(boxes))
    low, high = boxes.copy(), boxes.copy()
    low[each, axis, 1] = high[each, axis, 0] = boxes[each, axis].mean(axis=1)
    return np.concatenate([low, high])
