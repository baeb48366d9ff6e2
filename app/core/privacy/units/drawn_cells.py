"""D_α and the pure cost of the table really drawn, several rows a person, any n: cells of first datasets, halved where needed.

Drawn is q = (1−γ)p + γ/K, L = log q, ℓ = log p; β = α − 1.

**One first dataset v.** As in `units/lattice.py`: the changes open to it are a fan of triangles (0, d, e), q_k(v + c) is on each
at least its least value at a corner, and points are parted, once for each triangle, into A with that bound and B with a convex
one:

    e^{βD_α} ≤ Σ_A max_c e^{αL_k(v) − βL_k(v+c)} + max_c Σ_B ((1−γ)·e^{αℓ_k(v) − βℓ_k(v+c)} + γ/K),   c in 0, d, e.         (1)

**All v = Σ λ_i·v_i of a cell** (`units/cells.py`). Each exponent in (1) is at most the same mean of its values at corners v_i,
plus what `units/corner_tables.py` says that L bends by; in B, with ℓ in place of L, E + β·(E − E′). The logarithm of a sum of
exponentials that are linear in λ is convex in λ: so (1) with those terms in its exponents is largest at a corner of the cell.
β = ∞ is the pure cost: the largest L_k(v_i) − L_k(v_i + c), and what it can be more by inside.

Points outside a window have p under a bound b/K (`windows.py`) before and after: at most (γ + b)·e^{βb/γ} in all.

Cells that may exceed the largest divergence seen by more than TOLERANCE are halved; a cell of one dataset has only its corner.
A few orders are tried, the loosest first: (α−1)·D_α is convex in α, which bounds the orders between. Where it is small, the
largest variances of b say more (`units/near_curve.py`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.mixed_orders import convex_envelope
from app.core.privacy.units.cells import ROWS_MAX
from app.core.privacy.units.corner_tables import CornerTables
from app.core.privacy.units.near_curve import near_curve
from app.core.privacy.units.sectors import Quads, Sectors
from app.core.privacy.windows import points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

TOLERANCE = 0.03
WORK_MAX = 28_000_000
"""Corners times changes times points of a window times orders."""
_SEEN_LEAST = 0.7
"""Below that (α−1)·D_α the share γ does not matter, nor how far a path goes: the largest Var(b) near it says more."""
_PARTED = 60.0
"""Up to that (α−1)·D_α it matters that terms of (1) under 1 stay so."""
_NEAR_MOST = 4.0
_CHERNOFF = 1.3
"""How many times what was seen a pure cost must be for Chernoff's bound to be worth a region of its own."""
_LOOSE = 0.07
_AT_ONCE = 3
_APART = 1.55
_SHARE = 0.5
_SCOUTS = 3
_NO_BETTER = 0.01
"""Cells whose bound is that near to their corners' own gain nothing by being halved."""
_WINDOW_SDS = 10.0
_LOOK = 168
"""Times a window's sds and points a sd: the work of a first look at a cell, four corners and six changes at two orders."""
_CHUNK_ELEMENTS = 120_000
_EXPONENT_MAX = 650.0


@dataclass(frozen=True, slots=True)
class DrawnCells:
    """(α−1)·D_α at every order, and the pure cost."""

    powers: Array
    pure: float


def drawn_cells(grid: PublicGrid, steps: int, people: int, unit_rows: int, powers: Array, pure: float) -> DrawnCells:
    """No worse than bounds `powers` of (α−1)·D_α and `pure` that are known."""
    powers = convex_envelope(powers, pure)
    spread, sectors = points_per_sd(grid, float(people)), Sectors(steps, people, unit_rows)
    if people < 2 * unit_rows or unit_rows > ROWS_MAX or sectors.many(grid, spread):
        return DrawnCells(powers, pure)
    first = sectors.cells(grid, spread)
    if first.count * _LOOK * _WINDOW_SDS * max(spread, 1.0) > WORK_MAX:
        return DrawnCells(powers, pure)
    search = _Search(grid, sectors, spread, first)
    powers, pure = _with_near_orders(grid, (steps, people, unit_rows), powers, pure, search.seen)
    tried = np.append(search.seen[:-1] < _SEEN_LEAST, False)
    while not search.exhausted:
        known = np.append(powers, pure)
        chosen = _loosest(np.where(tried, 0.0, known / np.maximum(search.seen, 1e-300)))
        if not chosen:
            break
        tried[chosen] = True
        found = search.suprema(chosen, known[chosen])
        if (found >= known[chosen]).all() and chosen[-1] < len(ORDERS):
            break
        known[chosen] = np.minimum(known[chosen], found)
        pure = float(known[-1])
        powers = convex_envelope(known[:-1], pure)
    return DrawnCells(powers, pure)


def _with_near_orders(
    grid: PublicGrid, people: tuple[int, int, int], powers: Array, pure: float, seen: Array
) -> tuple[Array, float]:
    """Both bounds with those of `units/near_curve.py`, where (α−1)·D_α is small and not known well."""
    small = np.flatnonzero(seen[:-1] < _NEAR_MOST)
    if not len(small) or not (powers[small] > seen[small] * (1 + _LOOSE)).any():
        return powers, pure
    ends = [np.flatnonzero(seen[:-1] < most) for most in (_SEEN_LEAST, _NEAR_MOST)]
    last = [ORDERS[places[-1]] for places in ends if len(places)]
    if pure > seen[-1] * _CHERNOFF:
        # where Chernoff's λ is best, of a point about half as far from the mean as its log-ratio says
        last.append(min(ORDERS, key=lambda order: abs(order - 1 - 2 * np.log(grid.size / UNIFORM_SHARE) / seen[-1])))
    near, chernoff = near_curve(grid, *people, last)
    pure = min(pure, chernoff)
    return convex_envelope(np.minimum(powers, (np.array(ORDERS) - 1) * near), pure), pure


def _loosest(ratios: Array) -> list[int]:
    """Places of a few orders, not next to each other, the loosest first; before them that of the pure cost, which bounds all."""
    if ratios[-1] > 1 + _LOOSE:
        return [len(ORDERS)]
    chosen: list[int] = []
    for place in np.argsort(-ratios, kind="stable").tolist():
        if not ratios[place] > 1 + _LOOSE or len(chosen) == _AT_ONCE:
            break
        orders = [ORDERS[other] for other in chosen]
        if all(max(ORDERS[place] / order, order / ORDERS[place]) >= _APART for order in orders):
            chosen.append(place)
    return sorted(chosen)


class _Search:
    """`seen` has the largest divergence looked at, at every order, and the largest log-ratio."""

    def __init__(self, grid: PublicGrid, sectors: Sectors, spread: float, first: Quads) -> None:
        self._grid, self._sectors, self._spread = grid, sectors, max(spread, 1.0)
        self._betas = np.append(np.array(ORDERS) - 1, np.inf)
        self._first = first
        self.seen = np.zeros(len(self._betas))
        self._work = 0.0
        self._scout()

    @property
    def exhausted(self) -> bool:
        return self._work > WORK_MAX

    def _scout(self) -> None:
        """The cells where a pure cost or an order in the middle is largest, at every order."""
        _, _, large = self._bounds(self._first, [len(ORDERS), len(ORDERS) // 2])
        best = np.unique(np.argsort(-large, axis=0, kind="stable")[:_SCOUTS])
        self._bounds(self._first.take(best), list(range(len(ORDERS))))

    def suprema(self, orders: list[int], known: Array) -> Array:
        """Bounds at some orders, `known` or more where that takes too much work."""
        quads, settled, limit = self._first, np.zeros(len(orders)), self._work + _SHARE * WORK_MAX
        while quads.count:
            bounds, across, plain = self._bounds(quads, orders)
            enough = self.seen[orders] * (1 + TOLERANCE)
            open_ = ~(bounds <= np.maximum(enough, plain * (1 + _NO_BETTER))) & quads.divisible[:, None]
            open_ &= enough < known
            if self._work > limit:
                return np.asarray(np.maximum(settled, bounds.max(axis=0)))
            some = np.flatnonzero(open_.any(axis=1))
            settled = np.maximum(settled, np.delete(bounds, some, axis=0).max(axis=0, initial=0.0))
            quads = self._sectors.halved(quads.take(some), across[some])
        return settled

    def _bounds(self, quads: Quads, orders: list[int]) -> tuple[Array, Mask, Array]:
        """For every cell: bounds at some orders, whether rows are the longer side, the largest value of (1) at a corner."""
        bounds, plain, seen = np.zeros((3, quads.count, len(orders)))
        across = np.zeros(quads.count, dtype=np.bool_)
        alike = np.stack([quads.kind, quads.most, self._sectors.reaches(quads).astype(np.int64)])
        _, first, group = np.unique(alike, axis=1, return_index=True, return_inverse=True)
        for place, kind in enumerate(first):
            changes = np.array(self._sectors.changes(quads, int(kind)), dtype=np.float64)
            for part, columns in self._windows(quads, np.flatnonzero(group.ravel() == place), changes):
                tables = CornerTables(self._grid, columns, self._sectors.corners(quads.take(part)), changes)
                across[part] = tables.across
                for i, order in enumerate(orders):
                    beta, parted = float(self._betas[order]), bool(self.seen[order] < _PARTED)
                    bounds[part, i], plain[part, i], seen[part, i] = _values(tables, self._grid.size, beta, parted)
                self._work += 4 * (len(changes) + 1) * columns.size * (1 + len(orders))
        self.seen[orders] = np.maximum(self.seen[orders], seen.max(axis=0, initial=0.0))
        return bounds, across, plain

    def _windows(self, quads: Quads, places: Index, changes: Array) -> list[tuple[Index, Index]]:
        """(cells, grid points of each) in parts of about the same width."""
        grid, (t, m) = self._grid, self._sectors.corners(quads.take(places))
        moved = np.concatenate([np.zeros((1, 2)), changes])[:, None, None]
        sums, rows = t + moved[..., 0], np.maximum(m + moved[..., 1], 1.0)
        power = grid.temperature
        peaks = np.searchsorted(grid.mean, (power * sums + grid.prior_sum) / (power * rows + grid.prior_rows))
        low, high = peaks.min(axis=(0, 1)), peaks.max(axis=(0, 1))
        widths = np.minimum(grid.size, high - low + int(2 * _WINDOW_SDS * self._spread))
        order, start, parts = np.argsort(widths, kind="stable"), 0, []
        while start < len(order):
            narrowest = int(widths[order[start]])
            size = max(1, _CHUNK_ELEMENTS // (4 * (len(changes) + 1) * narrowest))
            near = int(np.searchsorted(widths[order], 1.3 * narrowest, side="right"))
            part = order[start : min(start + size, near)]
            width = int(widths[part[-1]])
            first = ((low[part] + high[part]) // 2 - width // 2).clip(0, grid.size - width)
            parts.append((places[part], first[:, None] + np.arange(width)))
            start += len(part)
        return parts


def _values(tables: CornerTables, size: int, beta: float, parted: bool) -> tuple[Array, Array, Array]:
    """(bounds, the largest value of (1) at a corner, the largest divergence there) for every cell."""
    here, there = tables.log_q[:, :, :1], tables.log_q[:, :, 1:]
    beyond = tables.outside
    if np.isinf(beta):
        fall = (here - there).max(axis=(1, 2))
        bound = (fall + tables.bend).max(axis=1) + beyond * (2 + 1 / UNIFORM_SHARE)
        largest = fall.max(axis=1)
        return np.where(np.isnan(bound), np.inf, bound), largest, largest
    exponents = (1 + beta) * here - beta * there
    top = exponents.max(axis=(1, 2, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        more = np.exp(tables.gap[:, None] * tables.share + beta * tables.bend)[:, None]
        largest = np.exp(exponents - top[:, None, None, None])
        exact = largest.sum(axis=3)
        largest = np.maximum(np.maximum(largest, np.roll(largest, -1, axis=2)), np.exp(here - top[:, None, None, None]))
        if parted:
            plain, bound = _parted(tables, size, beta, top, largest, more)
        else:
            plain, bound = largest.sum(axis=3), np.einsum("jicl,jbl->jic", largest, more)
        plain, bound, exact = (np.log(each.max(axis=(1, 2))) + top for each in (plain, bound, exact))
        bound = np.logaddexp(bound, np.log(UNIFORM_SHARE + beyond) + beta * beyond / UNIFORM_SHARE) + 2 * beta * beyond
    return np.where(np.isnan(bound), np.inf, bound), plain, exact


def _parted(
    tables: CornerTables, size: int, beta: float, top: Array, largest: Array, more: Array
) -> tuple[Array, Array]:
    """Sums of (1), at corners and for the whole cell, by cell, corner and triangle."""
    top = top[:, None, None, None]
    exponents = (1 + beta) * tables.log_p[:, :, :1] - beta * tables.log_p[:, :, 1:] - top
    factor = np.exp(tables.gap + beta * tables.drift)[:, None, None]
    small = exponents.max(axis=1) <= _EXPONENT_MAX
    convex = np.exp(np.minimum(exponents, _EXPONENT_MAX))
    highest = convex.max(axis=1)
    inner = np.maximum(highest, np.roll(highest, -1, axis=1)) * factor <= largest.max(axis=1) * more
    inner &= small & np.roll(small, -1, axis=1)
    mask = inner.astype(np.float64)
    at_first = np.einsum("jicl,jcl->jic", convex, mask)
    at_second = np.einsum("jicl,jcl->jic", np.roll(convex, -1, axis=2), mask)
    at_none = np.einsum("jil,jcl->jic", tables.p[:, :, 0], mask) * np.exp(-top[..., 0])
    convex_sums = np.maximum(np.maximum(at_first, at_second), at_none)
    floor = UNIFORM_SHARE / size * mask.sum(axis=2)[:, None] * np.exp(-top[..., 0])
    others = np.einsum("jicl,jcl->jic", largest, 1 - mask)
    lifted = np.einsum("jicl,jcl->jic", largest, np.where(inner, 0.0, more))
    return others + convex_sums + floor, lifted + convex_sums * factor + floor
