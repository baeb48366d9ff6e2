"""D_α of the table really drawn, one row a person, any n: cells of sums t, halved where one of them may be the worst.

With q = (1−γ)p + γ/K, L = log q and β = α − 1, `mixed_orders.py` has for every change of at most Δ upwards

    β·D_α ≤ F(t) = log Σ_k max(q_k(t), e^{g_k(t)}),   g_k(t) = L_k(t) + β·(L_k(t) − L_k(t+Δ)),

and downwards alike, an end of the range in place of t ± Δ where that is nearer. F is computed at the ends of a cell [u, u+h].
With L″ ≥ −S, L″ ≤ M and |L‴| ≤ T on the cell and where it is moved to, g″ ≥ −B with

    B = min((β+1)·S + β·M,  S + β·Δ·T),

and so has (log q)″ = L″. The logarithm of a sum of exponentials of such functions is one itself: F ≤ its larger end + B·h²/8.
β = ∞ is the pure cost: the largest L_k(t) − L_k(t+Δ), bent by at most min(S + M, ΔT). Where t moves to an end of the range only
the first of the two holds. A cell without a whole number inside has no more than its ends.

S is a ceiling of ψ″ (`curvature.py`); Y, M and T come from Chernoff's bound (`tails.py`). D_α ≤ α/2·Δ²·sup ψ″ along its path,
and the pure cost is at most Δ·Y: cells in which both are less than what was seen elsewhere are never looked at. Not every order
is tried: F is convex in α.

Where F is small, terms under 1 matter. For changes between d and e, L_k(t) − L_k(t′) is at most the larger of its values at d
and at e: so F is the largest of such sums, for d and e neighbours among some parts of Δ, and bends no more.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.curvature import Ceiling
from app.core.privacy.mixed_orders import convex_envelope
from app.core.privacy.sums.tails import Steepness, Tails
from app.core.privacy.windows import beyond_edges, points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

TOLERANCE = 0.008
WORK_MAX = 25_000_000
"""Nodes times points of a window times orders and directions."""
_NODES_APART = 4
_PROMISING = 0.85
_ORDERS_AT_ONCE = 7
_PASSES = 3
_WINDOW_SDS = 20.0
_SCOUTS = 24
_SMALL = 6.0
_SHARES = (0.6, 0.85, 0.95, 1.0)
_CHUNK_ELEMENTS = 40_000
_EDGES = [0, 1, -2, -1]


@dataclass(frozen=True, slots=True)
class DrawnSums:
    """(α−1)·D_α at every order, infinite where nothing was found, and the pure cost."""

    powers: Array
    pure: float


def drawn_sums(grid: PublicGrid, people: int, steps: int, ceiling: Ceiling, powers: Array, pure: float) -> DrawnSums:
    """No worse than bounds `powers` of (α−1)·D_α and `pure` that are known."""
    sums = _Sums(grid, people, steps, ceiling)
    powers = convex_envelope(powers, pure)
    tried = np.zeros(len(ORDERS) + 1, dtype=np.bool_)
    for _ in range(_PASSES):
        known, seen = np.append(powers, pure), sums.seen
        loose = np.flatnonzero((known > seen * (1 + 2 * TOLERANCE)) & ~tried)
        if not len(loose) or sums.exhausted:
            break
        chosen = loose[np.unique(np.linspace(0, len(loose) - 1, _ORDERS_AT_ONCE).round().astype(np.int64))]
        tried[chosen] = True
        found = sums.suprema(chosen, known[chosen])
        known[chosen] = np.minimum(known[chosen], found)
        pure = float(known[-1])
        powers = convex_envelope(known[:-1], pure)
    return DrawnSums(powers, pure)


@dataclass(frozen=True, slots=True)
class _Cells:
    """[start, stop] of sums, what bends there, F at both ends: by direction and by order; which of them are open."""

    start: Array
    stop: Array
    reach: Array
    bend: Array
    low: Array
    high: Array
    open: Mask

    def take(self, chosen: Mask) -> "_Cells":
        return _Cells(*(getattr(self, field)[chosen] for field in self.__slots__))


class _Sums:
    """`seen` has the largest F looked at, at every order and for the pure cost."""

    def __init__(self, grid: PublicGrid, people: int, steps: int, ceiling: Ceiling) -> None:
        self._grid, self._people, self._steps, self._end = grid, people, float(steps), float(people * steps)
        self._powers = np.append(np.array(ORDERS) - 1, np.inf)
        self._tails = Tails(ceiling, grid.size)
        self._points = _WINDOW_SDS * max(points_per_sd(grid, float(people)), 1.0)
        self._nodes = self._first_nodes(ceiling)
        self._first = self._steepness(self._nodes[:-1], self._nodes[1:])
        self.seen = np.zeros(len(self._powers))
        self._work = 0.0
        self._small = np.zeros(len(ORDERS), dtype=np.bool_)
        self._scout()

    @property
    def exhausted(self) -> bool:
        return self._work > WORK_MAX

    def _first_nodes(self, ceiling: Ceiling) -> Array:
        """Some of the ceiling's, as whole numbers."""
        inner = ceiling.nodes[::_NODES_APART].round()
        ends = [0.0, min(self._steps, self._end), max(0.0, self._end - self._steps), self._end]
        return np.unique(np.append(inner[(inner > 0) & (inner < self._end)], ends))

    def _steepness(self, start: Array, stop: Array, reach: tuple[Array, Array] | None = None) -> Steepness:
        """Wherever a path from [start, stop] to a neighbour goes."""
        return self._tails.steepness(start - self._steps, stop + self._steps, reach)

    def _bends(self, start: Array, stop: Array, steep: Steepness, powers: Array) -> Array:
        """B for every cell and order."""
        inner = (start >= self._steps) & (stop <= self._end - self._steps)
        third = np.where(inner, self._steps * steep.third, np.inf)[:, None]
        top, above = steep.top[:, None], steep.bend[:, None]
        finite = powers[:-1] if np.isinf(powers[-1]) else powers
        bends = np.minimum((finite + 1) * top + finite * above, top + finite * third)
        if len(finite) < len(powers):
            bends = np.append(bends, np.minimum(top + above, third), axis=1)
        return bends

    def _unseen(self, start: Array, stop: Array, slope: Array, powers: Array) -> Array:
        """A bound of F for every cell and order, without a look."""
        bounds = np.repeat(slope[:, None] * self._steps, len(powers), axis=1)
        for i, power in enumerate(powers):
            if np.isfinite(power):
                far = (power + 1) * self._steps
                top = self._tails.top(start - far, stop + far)
                bounds[:, i] = power * np.minimum(bounds[:, i], (power + 1) / 2 * self._steps**2 * top)
        return bounds

    def _scout(self) -> None:
        """Some of the nodes where ψ″ is largest."""
        top = self._tails.top(self._nodes, self._nodes)
        near = np.flatnonzero(top >= _PROMISING * top.max())
        near = near[:: max(1, len(near) // _SCOUTS)]
        every = np.arange(len(self._powers))
        self._at(self._nodes[near], every, np.ones((len(near), 2, len(every)), np.bool_))
        self._small = self.seen[:-1] < _SMALL
        small = np.flatnonzero(self._small)
        self.seen[small] = 0.0
        self._at(self._nodes[near], small, np.ones((len(near), 2, len(small)), np.bool_))

    def suprema(self, chosen: Index, known: Array) -> Array:
        """Bounds of sup F at some orders, looser where that takes too much work."""
        powers = self._powers[chosen]
        start, stop = self._nodes[:-1], self._nodes[1:]
        bounds = np.minimum(self._unseen(start, stop, self._first.slope, powers), known)
        wanted = bounds > self.seen[chosen] * (1 + TOLERANCE)
        settled = np.max(np.where(wanted, 0.0, bounds), axis=0, initial=0.0)
        bend, reach = self._bends(start, stop, self._first, powers), np.stack(self._first.reach, axis=1)
        some = wanted.any(axis=1)
        start, stop, both = start[some], stop[some], np.repeat(wanted[some][:, None, :], 2, axis=1)
        low, high = self._at(start, chosen, both), self._at(stop, chosen, both)
        cells = _Cells(start, stop, reach[some], bend[some], low, high, both)
        while len(cells.start):
            width = (cells.stop - cells.start)[:, None]
            rise = np.where(width > 1, cells.bend * width**2 / 8, 0.0)[:, None, :]
            bounds = np.where(cells.open, np.maximum(cells.low, cells.high) + rise, 0.0)
            open_ = ~(bounds <= self.seen[chosen] * (1 + TOLERANCE)) & (width > 1)[:, None, :]
            settled = np.maximum(settled, np.where(open_, 0.0, bounds).max(axis=(0, 1), initial=0.0))
            if self.exhausted:
                return np.asarray(np.maximum(settled, bounds.max(axis=(0, 1))))
            cells = _Cells(cells.start, cells.stop, cells.reach, cells.bend, cells.low, cells.high, open_)
            cells = self._halved(cells.take(np.asarray(open_.any(axis=(1, 2)))), chosen)
        return np.asarray(settled)

    def _halved(self, cells: _Cells, chosen: Index) -> _Cells:
        middle = np.floor((cells.start + cells.stop) / 2)
        value = self._at(middle, chosen, cells.open)
        start, stop = np.concatenate([cells.start, middle]), np.concatenate([middle, cells.stop])
        reach = np.concatenate([cells.reach, cells.reach])
        steep = self._steepness(start, stop, (reach[:, 0], reach[:, 1]))
        bend = self._bends(start, stop, steep, self._powers[chosen])
        low, high = np.concatenate([cells.low, value]), np.concatenate([value, cells.high])
        return _Cells(start, stop, reach, bend, low, high, np.concatenate([cells.open, cells.open]))

    def _at(self, t: Array, chosen: Index, wanted: Mask) -> Array:
        """F at sums `t`, both directions and some orders, where wanted; 0 elsewhere."""
        values = np.zeros(wanted.shape)
        others = np.stack([np.minimum(t + self._steps, self._end), np.maximum(t - self._steps, 0.0)])
        weight = self._grid.temperature * self._people + self._grid.prior_rows
        ends = np.stack([others[1], others[0]]) * self._grid.temperature + self._grid.prior_sum
        low, high = np.searchsorted(self._grid.mean, ends / weight)
        widths = np.minimum(self._grid.size, self._points + high - low).astype(np.int64)
        order = np.argsort(widths)
        start = 0
        while start < len(order):
            size = max(1, _CHUNK_ELEMENTS // int(widths[order[min(start + 200, len(order) - 1)]]))
            part = order[start : start + min(size, 200)]
            width = int(widths[part[-1]])
            first = ((low[part] + high[part]) // 2 - width // 2).clip(0, self._grid.size - width)
            columns = first[:, None] + np.arange(width)
            values[part] = self._values(columns, t[part], others[:, part], chosen, wanted[part])
            self._work += wanted[part].sum() * width + 9 * len(part) * width
            start += len(part)
        self.seen[chosen] = np.maximum(self.seen[chosen], values.max(axis=(0, 1), initial=0.0))
        return values

    def _values(self, columns: Index, t: Array, others: Array, chosen: Index, wanted: Mask) -> Array:
        grid, values = self._grid, np.zeros(wanted.shape)
        eta = grid.temperature * grid.eta[columns]
        base = grid.log_prior[columns] - grid.temperature * self._people * grid.partition[columns]
        log_q, beyond = self._log_drawn(columns, base + t[:, None] * eta)
        shares = _SHARES if (self._small[chosen[chosen < len(ORDERS)]]).any() else (1.0,)
        for side, other in enumerate(others):
            falls, away = [np.zeros_like(log_q)], beyond
            for share in shares:
                log_other, beyond_other = self._log_drawn(columns, base + (t + share * (other - t))[:, None] * eta)
                falls.append(log_q - log_other)
                away = np.maximum(away, beyond_other)
            coarse = _Falls(log_q, [np.maximum(falls[-1], 0.0)], away)
            fine = _Falls(log_q, [np.maximum(*pair) for pair in pairwise(falls)], away) if len(shares) > 1 else coarse
            for i, place in enumerate(chosen):
                rows = np.flatnonzero(wanted[:, side, i])
                if len(rows):
                    found = fine if place < len(ORDERS) and self._small[place] else coarse
                    values[rows, side, i] = found.sums(rows, self._powers[place], columns.shape[1] < grid.size)
        return values

    def _log_drawn(self, columns: Index, log_w: Array) -> tuple[Array, Array]:
        """(log q on windows, a bound of what lies outside)."""
        log_w -= log_w.max(axis=1, keepdims=True)
        edges = log_w[:, None, _EDGES]
        p = np.exp(log_w, out=log_w)
        total = p.sum(axis=1, keepdims=True)
        outside = beyond_edges(self._grid, columns[:, _EDGES], edges, np.log(total))[:, 0]
        p *= (1 - UNIFORM_SHARE) / total
        p += UNIFORM_SHARE / self._grid.size
        return np.log(p, out=p), outside


@dataclass(frozen=True, slots=True)
class _Falls:
    """Tables, a row each: log q, the largest log-ratios for changes between some and others, a bound of what lies outside."""

    log_q: Array
    ratios: list[Array]
    outside: Array

    def sums(self, rows: Index, power: float, window: bool) -> Array:
        """F of some tables; of a window each point outside has all but the same q before and after."""
        beyond = self.outside[rows] if window else np.zeros(len(rows))
        if np.isinf(power):
            largest = np.max([ratio[rows].max(axis=1) for ratio in self.ratios], axis=0)
            return np.asarray(np.maximum(largest, beyond / UNIFORM_SHARE))
        found = np.full(len(rows), -np.inf)
        for ratio in self.ratios:
            joint = power * ratio[rows] + self.log_q[rows]
            top = joint.max(axis=1)
            joint -= top[:, None]
            found = np.maximum(found, top + np.log(np.exp(joint, out=joint).sum(axis=1)))
        if window:
            found = np.logaddexp(found, np.log(UNIFORM_SHARE + beyond) + power * beyond / UNIFORM_SHARE)
        return found
