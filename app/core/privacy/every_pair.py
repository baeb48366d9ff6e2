"""Any law on a finite set that is a function of the dataset: every pair of neighbours visited, as products of matrices.

With L = log q of every dataset, a row each, and a number c_k to each point,

    e^{(α−1)·D_α(q_v ‖ q_v′)} = Σ_k q_k(v)^α·q_k(v′)^{1−α} = Σ_k e^{αL_k(v) − (α−1)c_k}·e^{−(α−1)(L_k(v′) − c_k)},

an entry of the product of two matrices: one exponential to each dataset and point, not to each pair and point. L is at least
log(γ/K), so with c_k in the middle of what L_k can be nothing overflows at most orders; at others c_k is chosen for a few
datasets at a time, or exponents are added pair by pair.

Datasets of the same rows are cut into blocks of neighbouring sums; a block and its neighbours of some rows are one product.
F(α) = (α−1)·D_α of a pair is convex in α, and so is its largest value in a block: at an order between two others a block lies
under its chord. It is also at most α − 1 times its largest log-ratio. Only blocks for which both exceed the largest F seen by
more than `tolerance` are computed; the others keep the smaller of the two. So F is exact, or at most `tolerance` too large.

For given rows a log-ratio L_k(v) − L_k(v′) is largest at an end of the sums v′ can have, if along them q_k rises to a mode and
then falls, as a posterior does (log p_k is concave in the sum). Of other laws all pairs are compared (`unimodal` false).
"""

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS
from app.core.privacy.neighbours import Block, Neighbours, Places, blocks_of, by_change, equally_far, others_of

Array = NDArray[np.float64]

TOLERANCE = 5e-4
_NEAR_PURE = 0.99
_EXPONENT_MAX = 640.0
_FEW = 6
_SCOUTS = 24
_SLABS_KEPT = 16


class EveryPair:
    """`log_q`: a row to each dataset in the order of `neighbours`, probabilities of all points but for rounding."""

    def __init__(
        self, neighbours: Neighbours, log_q: Array, unimodal: bool = True, tolerance: float = TOLERANCE
    ) -> None:
        self._neighbours, self._blocks, self._tolerance = neighbours, blocks_of(neighbours), tolerance
        self._tables = {rows: log_q[neighbours.first(rows) : neighbours.first(rows + 1)] for rows in neighbours.rows}
        low, high = log_q.min(axis=0), log_q.max(axis=0)
        self._centre, self._room = (low + high) / 2, float((high - low).max()) / 2
        self._size = int(log_q.shape[1])
        self._falls = self._largest_falls(unimodal)
        self.pure = float(self._falls.max())

    def kl(self) -> float:
        """The largest KL(q_v ‖ q_v′), with what its sums may have lost."""
        tables = {rows: np.exp(log_q) for rows, log_q in self._tables.items()}
        entropies = {rows: np.einsum("ij,ij->i", tables[rows], log_q) for rows, log_q in self._tables.items()}
        largest = 0.0
        for block in self._blocks:
            cross = tables[block.rows][block.here] @ self._tables[block.other][block.there].T
            apart = np.where(block.mask, entropies[block.rows][block.here][:, None] - cross, 0.0)
            largest = max(largest, float(apart.max()))
        return float(largest + 2.0**-47 * (64 + self._size))

    def powers(self) -> Array:
        """F = (α−1)·D_α over all pairs at every order, infinite from where the pure cost says as much."""
        orders = np.array(ORDERS)
        last = self._last_order(orders)
        bounds = np.full((len(self._blocks), len(orders)), np.inf)
        for place in (0, last):
            bounds[:, place] = self._pruned((orders[place] - 1) * self._falls, orders[place], [])
        known, gaps = [0, last], [(0, last)]
        while gaps:  # wide ones first, so that narrow ones have chords on both sides
            low, high = gaps.pop(0)
            if high - low > 1:
                place = (low + high) // 2
                bounds[:, place] = self._between(bounds, orders, (low, place, high), known)
                known = sorted([*known, place])
                gaps += [(low, place), (place, high)]
        return np.where(np.arange(len(orders)) <= last, bounds.max(axis=0), np.inf)

    def _between(self, bounds: Array, orders: Array, places: tuple[int, int, int], known: list[int]) -> Array:
        """F of every block at the second of three orders, or what bounds it."""
        low, place, high = places
        share = (orders[place] - orders[low]) / (orders[high] - orders[low])
        chords: Array = np.minimum(
            bounds[:, low] * (1 - share) + bounds[:, high] * share, (orders[place] - 1) * self._falls
        )
        if chords.max() <= (1 + self._tolerance) * _least(bounds, orders, place, known):
            return chords
        return self._pruned(chords, orders[place], [int(bounds[:, end].argmax()) for end in (low, high)])

    def _pruned(self, known: Array, order: float, first: list[int]) -> Array:
        """F of the blocks whose `known` bound may exceed the largest, which starts with those in `first`."""
        found, tried = known.copy(), np.zeros(len(known), dtype=np.bool_)
        chosen, seen = np.unique([*first, int(known.argmax())]), 0.0
        while len(chosen):
            found[chosen] = np.minimum(found[chosen], self._largest(chosen, order))
            tried[chosen] = True
            seen = max(seen, float(found[chosen].max()))
            chosen = np.flatnonzero((found > seen * (1 + self._tolerance)) & ~tried)
            if len(chosen) > _SCOUTS and tried.sum() < _SCOUTS:
                chosen = np.sort(chosen[np.argsort(-found[chosen])[:_SCOUTS]])
        return found

    def _last_order(self, orders: Array) -> int:
        """One at which D_α of some pair is all but the pure cost, or the last."""
        if not self._tolerance:
            return len(orders) - 1
        steepest = np.array([self._falls.argmax()])
        for place in range(3, len(orders), 4):
            if self._largest(steepest, orders[place])[0] >= _NEAR_PURE * self.pure * (orders[place] - 1):
                return place
        return len(orders) - 1

    def _largest(self, chosen: Places, order: float) -> Array:
        """F of some blocks. Exponents lose a few parts in 2⁵³ of at most 56α, sums one for each point: that is added."""
        if (order - 1) * max(self._room, self.pure) <= _EXPONENT_MAX:
            found = self._by_tables(chosen, order)
        else:
            found = np.array([self._by_few(self._blocks[place], order) for place in chosen])
        lost = 2.0**-50 * (48 * order + self._size)
        return np.asarray(found + lost)

    def _by_tables(self, chosen: Places, order: float) -> Array:
        found = np.zeros(len(chosen))
        before, after = _Slabs(order, (1 - order) * self._centre), _Slabs(1 - order, (order - 1) * self._centre)
        for i, place in enumerate(chosen):
            block = self._blocks[place]
            here, there = self._tables[block.rows], self._tables[block.other]
            alone = (
                len(self._tables) == 1 or len(chosen) <= _FEW
            )  # no other block asks for the same datasets, or few do
            if alone and len(here) > 2 * len(block.mask):
                first, second = before.values(here[block.here]), after.values(there[block.there])
            else:
                first = before.of(block.rows, here)[block.here]
                second = after.of(block.other, there)[block.there]
            with np.errstate(over="ignore"):  # between those that are no neighbours
                sums = first @ second.T
            found[i] = np.log(max(1.0, float(np.where(block.mask, sums, 0.0).max())))
        return found

    def _by_few(self, block: Block, order: float) -> float:
        power, largest = order - 1, 0.0
        for start in range(0, len(block.mask), _FEW):
            mask = block.mask[start : start + _FEW]
            near = np.flatnonzero(mask.any(axis=0))
            near_all = slice(int(near[0]), int(near[-1]) + 1)
            here = self._tables[block.rows][block.here][start : start + _FEW]
            there, mask = self._tables[block.other][block.there][near_all], mask[:, near_all]
            low, high = np.minimum(here.min(axis=0), there.min(axis=0)), np.maximum(here.max(axis=0), there.max(axis=0))
            if power * float((high - low).max()) <= _EXPONENT_MAX:
                centre = power * (low + high) / 2
                sums = np.exp(order * here - centre) @ np.exp(centre - power * there).T
                largest = max(largest, float(np.log(np.where(mask, sums, 1.0).max())))
            else:
                largest = max(largest, *(_by_pair(row, there[to], order) for row, to in zip(here, mask, strict=True)))
        return largest

    def _largest_falls(self, unimodal: bool) -> Array:
        """The largest log-ratio in every block."""
        falls: dict[tuple[int, int], Array] = {}
        for rows, here in self._tables.items():
            t = np.arange(len(here))
            for other in others_of(self._neighbours, rows):
                reached = self._neighbours.reached(t, rows, other)
                if reached is None:
                    continue
                found = falls[rows, other] = np.zeros(len(t))
                for places, ends in ((t, reached[0]), (t, reached[1])) if unimodal else by_change(t, *reached):
                    for here_part, there_part in equally_far(places, ends):
                        fall = (here[here_part] - self._tables[other][there_part]).max(axis=1)
                        found[here_part] = np.maximum(found[here_part], fall)
        return np.array([falls[block.rows, block.other][block.here].max() for block in self._blocks])


def _by_pair(here: Array, there: Array, order: float) -> float:
    joint = order * here - (order - 1) * there
    top = joint.max(axis=1)
    return float((top + np.log(np.exp(joint - top[:, None]).sum(axis=1))).max())


def _least(bounds: Array, orders: Array, place: int, known: list[int]) -> float:
    """About the least that convexity leaves of the largest F, from chords before and after: what decides work, no bound."""
    least = 0.0
    for side in ([each for each in known if each < place][-2:], [each for each in known if each > place][:2]):
        if len(side) == 2:
            first, second = bounds[:, side[0]].max(), bounds[:, side[1]].max()
            slope = (second - first) / (orders[side[1]] - orders[side[0]])
            least = max(least, float(first + slope * (orders[place] - orders[side[0]])))
    return least


class _Slabs:
    """e^{a·L + c} of all datasets of some rows, of which only the latest are asked for again."""

    def __init__(self, power: float, moved: Array) -> None:
        self._power, self._moved = power, moved
        self._kept: dict[int, Array] = {}

    def of(self, rows: int, table: Array) -> Array:
        if rows not in self._kept:
            if len(self._kept) > _SLABS_KEPT:
                del self._kept[min(self._kept)]
            self._kept[rows] = self.values(table)
        return self._kept[rows]

    def values(self, table: Array) -> Array:
        values = self._power * table
        values += self._moved
        return np.exp(values, out=values)
