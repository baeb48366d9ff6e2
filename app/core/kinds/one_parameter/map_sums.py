"""What a point chosen by its posterior probability costs, one row a person: cells of sums, halved where one may be the worst.

Drawn from is r_k ∝ e^{g·p_k}, mixed with γ of the uniform table, which only lowers D_α. With L = log r, R = L(t) − L(t + d),
β = α − 1 and, as in `map_pairs.py`, f = e^{β·D_α} − 1 = Σ r·h(R). At nodes t, for changes d that are c apart, f is computed.
Between nodes h apart, with −A ≤ L″ ≤ A₊, |L‴| ≤ T, |L′| ≤ Λ and a = max(A, A₊), it is bounded in two ways.

  1. log(1 + f) is the logarithm of a sum of exponentials of αL(t) − βL(t + d), whose second derivatives along t are at least
     −B, B = min(αA + βA₊, A + βΔT), and along d at least −βA₊: at most B·h²/8 + βA₊c²/8 above its value at nodes.
  2. (r·h(R))″ = r·[(L″ + L′²)h + 2L′h′R′ + h″R′² + h′R″] with |R′| ≤ da, |R″| ≤ dT and |L′| ≤ (|R| + d²a/2)/d. h is convex, so
     f″ ≥ −A·f − 2a·Σ r|h′R| − (d²a² + dT)·Σ r|h′|, and along d at least −a·Σ r|h′|. With b = max(1, β)

         |h′R| ≤ (2 + b|R|)·h,   Σ r|h′| ≤ (2/δ + b)·f + δ·αβ·e^{bδ} for any δ > 0,

     (h″ is a positive mixture of e^{βR} and e^{−R}, for each of which (2 + b|R|)·h − |h′R| has a series without a negative term;
     points with |R| under δ have |h′| ≤ δ·max h″), so that f″ ≥ −c₁·s − c₀ where s is the largest f of a cell:
     s ≤ (larger end + c₀h²/8)/(1 − c₁h²/8).

The first serves high orders, the second low ones. The pure cost is the largest R: at most min(A + A₊, ΔT)·h²/8 + A₊c²/8 above.
`score_bends.py` has A, A₊, T and Λ. Of what was not looked at, f ≤ V·max h(R)/R² with Σ r·R² ≤ V.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.kinds.one_parameter.map_pairs import h
from app.core.kinds.one_parameter.score_bends import Bends, ScoreTables
from app.core.privacy.cost import ORDERS
from app.core.privacy.curvature import Ceiling
from app.core.privacy.mixed_orders import convex_envelope

Array = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERANCE = 0.02
WORK_MAX = 20_000_000
"""Nodes times points of a window times changes times orders: a target is met by some dozens of such costs."""
FIRST_WORK_MAX = 900_000
"""The same of the first nodes and one order: with more, work ends before anything is settled."""
STEP_SDS_MAX = 2.5
_FIRST_SDS = 0.25
_PARTS = {0.05: 2, 0.4: 4, np.inf: 12}
"""Of the largest change, by how many posterior sds that is at most."""
_SCOUTS = 16
_CHUNK_ELEMENTS = 20_000
_FIRST_ORDERS = (10, 28, 80)
_ORDERS_AT_ONCE = 6
_LOST = 1e-12
_HUGE = 1e200
_LARGE = 500.0
_ERROR_MAX = 1e-6


@dataclass(frozen=True, slots=True)
class _Cells:
    """[start, stop], the bends there, the largest f at either end for every order; which orders are open."""

    start: Array
    stop: Array
    bends: Bends
    value: Array
    open: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ScoredSums:
    """The largest log-ratio, D_α at every order, and how far a log-weight may be off."""

    pure: float
    curve: Array
    error: float


def scored_sums(
    grid: PublicGrid, people: int, steps: int, gain: float, ceiling: Ceiling, epsilon: float
) -> ScoredSums | None:
    """No worse than a log-ratio of at most ε; None where a change is much of a posterior's width, or posteriors are many."""
    search = _Search(grid, people, steps, gain, ceiling, epsilon)
    if not search.small_steps:
        return None
    found = search.suprema()
    if found is None or not search.tables.error < _ERROR_MAX:
        return None
    powers, pure = found
    pure = min(pure, epsilon)
    curve = np.minimum(convex_envelope(powers, pure) / (np.array(ORDERS) - 1), pure)
    return ScoredSums(pure, curve, search.tables.error)


class _Search:
    """`seen` has the largest log(1 + f), and the largest log-ratio."""

    def __init__(
        self, grid: PublicGrid, people: int, steps: int, gain: float, ceiling: Ceiling, epsilon: float
    ) -> None:
        self._steps, self._end, self._epsilon = float(steps), float(people * steps), epsilon
        self.tables = ScoreTables(grid, people, float(steps), gain * (1 - UNIFORM_SHARE), ceiling)
        self.small_steps = bool(self._steps * np.sqrt(self.tables.tails.highest) < STEP_SDS_MAX)
        self._powers = np.append(np.array(ORDERS) - 1, np.inf)
        self.seen = np.zeros(len(self._powers))
        self._nodes = np.zeros(0)
        self._bends = self.tables.bends(np.zeros(1), np.ones(1))
        self._work = 0.0
        self._ceiling = ceiling
        moved = self._steps * float(np.sqrt(self.tables.tails.highest))
        parts = next(parts for most, parts in _PARTS.items() if moved < most)
        cuts = np.unique(np.linspace(0, steps, parts + 1).round())
        self._changes, self._apart = cuts[1:], float(np.diff(cuts).max())

    def _first_nodes(self) -> Array:
        """The ceiling's, as whole numbers, up to _FIRST_SDS of a width apart, and from where on a neighbour is an end."""
        nodes, tops = self._ceiling.nodes, np.maximum(self._ceiling.left, self._ceiling.right)
        kept, highest = [0.0], 0.0
        for start, stop, top in zip(nodes[:-1].tolist(), nodes[1:].tolist(), np.sqrt(tops).tolist(), strict=True):
            if start > 0 and start < self._end and (stop - kept[-1]) * max(highest, top) > _FIRST_SDS:
                kept.append(start)
                highest = 0.0
            highest = max(highest, top)
        ends = np.concatenate([[self._end], self._changes, self._end - self._changes]).clip(0.0, self._end)
        return np.unique(np.append(np.round(kept), ends))

    def suprema(self) -> tuple[Array, float] | None:
        """Bounds of β·D_α at every order and of the pure cost: first some, then what those leave loose; None if much work."""
        self._nodes = self._first_nodes()
        if len(self._nodes) * self.tables.width * 2 * len(self._changes) > FIRST_WORK_MAX:
            return None
        self._bends = self.tables.bends(self._nodes[:-1], np.diff(self._nodes) + self._steps)
        every = np.arange(len(self._powers))
        self._scout(every)
        known = np.append(np.minimum(self._powers[:-1] * self._epsilon, self._chosen_at_most()), self._epsilon)
        chosen = np.append([ORDERS.index(order) for order in _FIRST_ORDERS], len(ORDERS))
        tried = np.zeros(len(known), dtype=np.bool_)
        while len(chosen) and not self._work > WORK_MAX:
            tried[chosen] = True
            known[chosen] = np.minimum(known[chosen], self._over(chosen))
            known[:-1] = convex_envelope(known[:-1], float(known[-1]))
            loose = np.flatnonzero((known > self.seen * (1 + 2 * TOLERANCE)) & ~tried)
            chosen = loose[:: max(1, len(loose) // _ORDERS_AT_ONCE)]
        return known[:-1], float(known[-1])

    def _chosen_at_most(self) -> Array:
        """β·D_α of log-ratios with range ε."""
        orders = np.array(ORDERS)
        return np.asarray((orders - 1) * orders * self._epsilon**2 / 8)

    def _scout(self, every: Index) -> None:
        """Some nodes where most may be owed."""
        first = np.argsort(-self._unseen(self._bends, every)[:, len(every) // 2])[: 4 * _SCOUTS : 4]
        self._at(self._nodes[first], every, np.ones((len(first), len(every)), dtype=np.bool_))

    def _over(self, chosen: Index) -> Array:
        """Bounds at some orders over all sums."""
        nodes, unseen = self._nodes, self._unseen(self._bends, chosen)
        open_ = unseen > self.seen[chosen] * (1 + TOLERANCE)
        settled = np.where(open_, 0.0, unseen).max(axis=0)
        wanted = np.zeros((len(nodes), len(chosen)), dtype=np.bool_)
        wanted[:-1] |= open_
        wanted[1:] |= open_
        values = self._at(nodes, chosen, wanted)
        some, value = np.asarray(open_.any(axis=1)), np.maximum(values[:-1], values[1:])
        cells = _Cells(nodes[:-1][some], nodes[1:][some], self._bends.take(some), value[some], open_[some])
        return self._settle(cells, chosen, settled) if some.any() else settled

    def _settle(self, cells: _Cells, chosen: Index, settled: Array) -> Array:
        while len(cells.start):
            bounds = np.where(cells.open, self._bounds(cells, chosen), 0.0)
            open_ = ~(bounds <= self.seen[chosen] * (1 + TOLERANCE)) & (cells.stop - cells.start > 1)[:, None]
            settled = np.maximum(settled, np.where(open_, 0.0, bounds).max(axis=0, initial=0.0))
            if self._work > WORK_MAX:
                return np.asarray(np.maximum(settled, bounds.max(axis=0)))
            some = np.asarray(open_.any(axis=1))
            if not some.any():
                return settled
            kept = cells.start[some], cells.stop[some], cells.bends.take(some), cells.value[some], open_[some]
            cells = self._halved(_Cells(*kept), chosen)
        return settled

    def _halved(self, cells: _Cells, chosen: Index) -> _Cells:
        middle = np.floor((cells.start + cells.stop) / 2)
        bends = self.tables.bends(middle, np.ceil((cells.stop - cells.start) / 2) + self._steps)
        value = np.maximum(cells.value, self._at(middle, chosen, cells.open))
        return _Cells(
            np.concatenate([cells.start, middle]),
            np.concatenate([middle, cells.stop]),
            bends.take(np.tile(np.arange(len(middle)), 2)),
            np.tile(value, (2, 1)),
            np.tile(cells.open, (2, 1)),
        )

    def _unseen(self, bends: Bends, chosen: Index) -> Array:
        """log(1 + f) of cells nobody looked at, or ε."""
        ratio = np.minimum(bends.slope * self._steps, self._epsilon)
        square = np.minimum(bends.square * self._steps**2, ratio**2)
        bounds = np.empty((len(ratio), len(chosen)))
        for i, power in enumerate(self._powers[chosen]):
            bounds[:, i] = ratio
            if np.isfinite(power):
                with np.errstate(over="ignore", invalid="ignore"):
                    largest = np.maximum(h(ratio, power), h(-ratio, power)) / np.maximum(ratio**2, 1e-300) * square
                bounds[:, i] = np.fmin(np.log1p(largest), power * ratio)
        return bounds

    def _bounds(self, cells: _Cells, chosen: Index) -> Array:
        """For every cell and order."""
        width = np.where(cells.stop - cells.start > 1, (cells.stop - cells.start) ** 2 / 8, 0.0)[:, None]
        change = self._apart**2 / 8 if self._apart > 1 else 0.0
        bends, step = cells.bends.finite(), self._steps
        low, high, slope = bends.low[:, None], bends.high[:, None], bends.slope[:, None]
        inner = (cells.start >= step) & (cells.stop <= self._end - step)
        third = np.where(inner, bends.third * step, _HUGE)[:, None]
        pure = np.isinf(self._powers[chosen])
        value, power = cells.value, np.where(pure, 1.0, self._powers[chosen])
        order, most = power + 1, np.maximum(power, 1.0)
        by_log = value + np.minimum(order * low + power * high, low + power * third) * width + power * high * change
        both = np.maximum(low, high)
        with np.errstate(over="ignore", invalid="ignore"):
            f = np.expm1(np.minimum(value, _LARGE))
            small = np.minimum(np.sqrt(2 * f / (order * power)), 1 / most).clip(1e-9)
            share, rest = 2 / small + most, small * order * power * np.exp(most * small)
            turn = (step * both) ** 2 + third
            times = (low + 2 * both * (2 + most * slope * step) + turn * share) * width
            found = np.where(times < 1, (f + turn * rest * width) / (1 - times), np.inf)
            times = both * share * change
            found = np.where(times < 1, (found + both * rest * change) / (1 - times), np.inf)
            found = np.where(np.isfinite(found) & (value < _LARGE), np.log1p(found), np.inf)
        by_ratio = value + np.minimum(low + high, third) * width + high * change
        return np.asarray(np.where(pure, by_ratio, np.fmin(by_log, found)))

    def _at(self, t: Array, chosen: Index, wanted: NDArray[np.bool_]) -> Array:
        """log(1 + f) for the worst of some changes at sums `t`, where wanted; 0 elsewhere."""
        values = np.zeros(wanted.shape)
        some = np.flatnonzero(wanted.any(axis=1))
        size = max(1, _CHUNK_ELEMENTS // self.tables.width)
        for start in range(0, len(some), size):
            part = some[start : start + size]
            values[part] = self._values(t[part], self._powers[chosen], wanted[part])
        self._work += float(wanted.sum() + 3 * len(some)) * self.tables.width * 2 * len(self._changes)
        self.seen[chosen] = np.maximum(self.seen[chosen], values.max(axis=0, initial=0.0))
        return values

    def _values(self, t: Array, powers: Array, wanted: NDArray[np.bool_]) -> Array:
        values = np.zeros(wanted.shape)
        columns = self.tables.columns(t)
        log_r = self.tables.log_scored(t, columns)
        log_weights = log_r + self.tables.log_many
        for change in self._changes:
            for other in (np.minimum(t + change, self._end), np.maximum(t - change, 0.0)):
                ratio = log_r - self.tables.log_scored(other, columns)
                for i, power in enumerate(powers):
                    rows = np.flatnonzero(wanted[:, i])
                    if len(rows):
                        found = _log_sum(log_weights[rows], ratio[rows], power)
                        values[rows, i] = np.maximum(values[rows, i], found)
        return values


def _log_sum(log_weights: Array, ratio: Array, power: float) -> Array:
    """log(1 + Σ r·h(R)), with what a sum near 1 may have lost."""
    if np.isinf(power):
        return np.asarray(ratio.max(axis=1))
    joint = power * ratio
    joint += log_weights
    top = joint.max(axis=1)
    joint -= top[:, None]
    total: Array = top + np.log(np.exp(joint, out=joint).sum(axis=1))
    return np.maximum(total, 0.0) + _LOST
