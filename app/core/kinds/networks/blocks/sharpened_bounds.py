"""Every figure of a block drawn by the score of `map`, P ∝ e^{g·p}, on a whole cell of counts.

With p = p(v), q = p(v+d), δ = p − q, x = g·δ, t = α − 1 and φ(x) = eˣ − 1 − x, since both tables sum to 1,

    (α−1)·D_α = log(1 + j − t·y) + t·log(1 + y),   j = E_P[φ(t·x) + t·φ(−x)],   y = Σ_k (φ(g·q_k) − φ(g·p_k))/Z,   Z = Σ e^{g·p}
    KL ≤ E_P φ(−x),   D_∞ = max x + log(1 + y)

where j and y are of second order in x: of tables of many points far less is owed than the range of x. A mixture of both tables
with the uniform one only lowers all of it. On a cell of counts p and q lie between bounds (`sector_tables.py`), hence x, y and
Z; the first line rises with j, and in y it is concave. For j = Σ e^{g·p}·W(x)/Z, W convex and W(0) = 0, that alone would be a
bound of first order in the size of the cell. One of second order: from end to end of the cell, along u, with
z = u·((X, Y) − E), V = Var z, λ = −Σ δ·z, p' = p·z, p'' = p·(z² − V), δ' = δ·z + q·λ and
δ'' = δ·(z² − V) + 2q·λ·z − q·λ² + q·(V' − V), so that

    (e^{g·p}·W)'' ≥ −e^{g·p}·[g·p·V·W + g·|W'|·(|δ|·V + 2q·|λ·z|·(1 + g·p) + q·(λ² + |V' − V|))]

as squares and W'·δ are not negative; and the sum exceeds its largest value at a vertex by at most an eighth of that for u along
the cell and an eighth for u across. Likewise every δ_k by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockGrid
from app.core.kinds.networks.blocks.block_terms import KL, PURE
from app.core.kinds.networks.blocks.convex_orders import convex_figures
from app.core.kinds.networks.blocks.sector_tables import UNSEEN, Enclosed
from app.core.numerics.remainder import phi
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

_POWERS = (0.25, 1, 2, 3, 5, 7, 11, 15, 23, 31, 47, 63, 95, 127, 255, 511)
_PLACES = np.searchsorted(np.array(ORDERS) - 1, _POWERS)
"""Orders that are worked out, each power but the first three twice one before and one."""
_LEAST = 1e-16
_RELATIVE, _ABSOLUTE = 1e-8, 1e-11


@dataclass(frozen=True, slots=True)
class _Changes:
    """On a cell: g·δ from `low` to `high` and at the vertices; weights e^{g·p}, at most and at the vertices; for a convex W with
    W(0) = 0 the sum Σ e^{g·p}·W(g·δ) exceeds its largest value at a vertex by at most Σ `loads`·W + `bends`·|W'|. `totals` bound
    Z, `shift` y; `rest` points beyond the window have |g·δ| ≤ `beyond`."""

    low: Array
    high: Array
    at: Array
    weights_at: Array
    loads: Array
    bends: Array
    totals: Pair
    shift: Pair
    rest: Array
    beyond: Array


class SharpenedBounds:
    """`at` bounds every figure on each cell, `quick` sooner and less closely."""

    def __init__(self, grid: BlockGrid, gain: float) -> None:
        self._gain = gain
        self._least_total = grid.size * np.exp(min(gain / grid.size, 700.0))

    def quick(self, found: Enclosed) -> Array:
        """φ(t·x) ≤ x²·φ(t·X)/X² for x ≤ X."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            change = self._changes(found)
            x = np.maximum(change.high, -change.low)
            bent = np.einsum("ij,ij->i", change.loads, x * x) + 2 * np.einsum("ij,ij->i", change.bends, x)
            square = (np.einsum("ijk,ijk->ij", change.weights_at, change.at**2).max(axis=1) + bent) / change.totals[0]
            square += change.rest / change.totals[0] * change.beyond**2
            ends = [np.maximum(end.max(axis=1), change.beyond) + 1e-12 for end in (change.high, -change.low)]
            back = square * phi(ends[1]) / ends[1] ** 2
            powers = np.array(ORDERS) - 1
            ahead = square[:, None] * phi(powers * ends[0][:, None]) / ends[0][:, None] ** 2
            figures = np.column_stack([back, ahead / powers + back[:, None], self._pure(change)])
        return _rounded_up(figures)

    def at(self, found: Enclosed) -> Array:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            figures = self._figures(self._changes(found))
        return convex_figures(_rounded_up(figures), _PLACES)

    def _pure(self, change: _Changes) -> Array:
        most = np.maximum(change.high.max(axis=1), 0.0) + change.beyond
        return np.asarray(np.maximum(most + np.log1p(change.shift[1]), 0.0))

    def _figures(self, change: _Changes) -> Array:
        figures = np.full((len(change.low), PURE + 1), np.inf)
        figures[:, PURE] = self._pure(change)
        x, opposite = _largest_remainder(change.low, change.high), _largest_remainder(-change.high, -change.low)
        tail, total = change.rest / change.totals[0], change.totals[0]

        def summed(at: Array, most: Array, slope: Array) -> Array:
            bent = np.einsum("ij,ij->i", change.loads, most) + np.einsum("ij,ij->i", change.bends, slope)
            return np.asarray((np.einsum("ijk,ijk->ij", change.weights_at, at).max(axis=1) + bent) / total)

        back = phi(-change.at), phi(opposite), np.abs(np.expm1(opposite))
        figures[:, KL] = summed(*back) + tail * phi(change.beyond)
        for power, place, at, most in zip(_POWERS, _PLACES, _exponentials(change.at), _exponentials(x), strict=True):
            slope = power * (np.abs(most) + back[2])
            j = summed(at - power * change.at + power * back[0], most - power * x + power * back[1], slope)
            j = np.maximum(j, 0.0) + tail * (phi(power * change.beyond) + power * phi(change.beyond))
            y = np.clip(j / (power + 1), *change.shift)
            figures[:, 1 + place] = (np.log1p(j - power * y) + power * np.log1p(y)) / power
        return figures

    def _changes(self, found: Enclosed) -> _Changes:
        g, (p_low, p_high), (r_low, r_high) = self._gain, found.p, found.ratio
        q_high = np.minimum(p_high * r_high, 1.0)
        high = (1 - r_low) * np.where(r_low < 1, p_high, p_low)
        low = (1 - r_high) * np.where(r_high < 1, p_low, p_high)
        size = np.maximum(np.abs(high), np.abs(low))
        bend, pulled, turned, spread = (np.zeros_like(high) for _ in range(4))
        for z in (found.along, found.across) if found.p_at.shape[1] > 1 else ():
            square = z * z
            drift = np.einsum("ij,ij->i", p_high - p_low, z)[:, None] + UNSEEN
            variance = np.einsum("ij,ij->i", p_high, square)[:, None] + UNSEEN
            step = np.einsum("ij,ij->i", size, z)[:, None] + UNSEEN
            more = UNSEEN + np.einsum("ij,ij->i", size, square)[:, None] + step * (2 * drift + 2 * step)
            z = z + drift
            pull = 2 * q_high * step * z
            bend += (size * variance + pull + q_high * more) / 8
            pulled += pull / 8
            turned += size * z * z / 8
            spread += variance / 8
        moved = found.p_at - found.q_at
        high = np.minimum(high, moved.max(axis=1) + bend + np.where(low < 0, turned, 0.0))
        low = np.maximum(low, moved.min(axis=1) - bend - np.where(high > 0, turned, 0.0))
        weight, beyond = np.exp(g * p_high), g * found.outside
        rest = found.rest * np.exp(beyond)
        totals = (
            np.maximum(np.exp(g * p_low).sum(axis=1) + found.rest, self._least_total),
            np.maximum(weight.sum(axis=1) + rest, self._least_total),
        )
        loaded = g * p_high
        return _Changes(
            g * low,
            g * high,
            g * moved,
            np.exp(g * found.p_at),
            weight * loaded * spread,
            weight * (bend + pulled * loaded) * g,
            totals,
            self._shifts(found, totals, phi(beyond)),
            rest,
            beyond,
        )

    def _shifts(self, found: Enclosed, totals: Pair, beyond: Array) -> Pair:
        """y at least and at most."""
        g, p, ratio = self._gain, found.p, found.ratio
        at = np.where(ratio[0] > 1, p[0], p[1]), np.where(ratio[1] > 1, np.minimum(p[1], 1 / ratio[1]), p[0])
        rises = [(phi(g * here * times) - phi(g * here)).sum(axis=1) for here, times in zip(at, ratio, strict=True)]
        least, most = rises[0] - beyond, rises[1] + beyond
        least = least / np.where(least > 0, totals[1], totals[0])
        return np.maximum(least, _LEAST - 1), np.maximum(most / np.where(most > 0, totals[0], totals[1]), _LEAST - 1)


def _rounded_up(figures: Array) -> Array:
    figures[np.isnan(figures)] = np.inf
    figures = figures * (1 + _RELATIVE) + _ABSOLUTE * figures[:, [PURE]]
    return np.asarray(np.minimum(figures, figures[:, [PURE]]))


def _exponentials(x: Array) -> Iterator[Array]:
    """e^{t·x} − 1 for every power t that is worked out, made from one another."""
    yield np.expm1(_POWERS[0] * x)
    yield np.expm1(x)
    one = np.exp(x)
    known: dict[float, Array] = {1: one, 2: one * one}
    yield known[2] - 1
    for power in _POWERS[3:]:
        half = known[(power - 1) / 2]
        known[power] = half * half * one
        yield known[power] - 1


def _largest_remainder(low: Array, high: Array) -> Array:
    """x with φ(t·ℓ) ≤ φ(t·x) for all ℓ from low to high and every t > 0; φ(x) ≥ φ(−x) for x ≥ 0."""
    return np.where(high >= -low, high, np.where(high > 0, -low, low))
