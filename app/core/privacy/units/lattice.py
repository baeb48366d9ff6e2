"""Several rows a person, few statistics: D_α of every dataset, without the share γ and with it, for all changes at once.

Without it D_α is convex in the change, so for each dataset the vertices of the changes open to it are enough. With it,
q = (1−γ)p + γ/K and L = log q, that is no longer so. But the changes open to a dataset v have a hull that is a fan of triangles
(0, d, e), d and e neighbouring vertices, and log p_k is concave, so that on a triangle q_k is smallest at a corner:

    e^{(α−1)·D_α(q_v ‖ q_v′)} ≤ Σ_k q_k(v)·e^{(α−1)·max(0, L_k(v) − L_k(v+d), L_k(v) − L_k(v+e))}   for v′ − v in the triangle.

Where such a sum is small, what matters is that terms under 1 stay so. x^α·y^{1−α} is convex in both, so a term with the share is
at most (1−γ)·p_k(v)^α·p_k(v′)^{1−α} + γ/K, convex in v′. So points are parted, once for each triangle: those where that is more
than the bound above have the bound; the others have this, whose sum is largest at a corner.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import Direction, PublicGrid
from app.core.numerics.hull import hull_vertices
from app.core.privacy.cost import ORDERS
from app.core.privacy.enumeration import Datasets, changes_by_kind, dataset_count, pairs_by_change
from app.core.privacy.mixed_pairs import log_drawn
from app.core.privacy.units.paths import Jobs, follow

Array = NDArray[np.float64]

CURVE_WORK_MAX = 14_000_000
"""Datasets times changes times points of the grid times orders."""
MIXED_WORK_MAX = 12_000_000
"""Datasets times changes times points of the grid: of the sums at an order, most are left out."""
_LEAST_TRIED = 5
MOVES_MAX = 400
"""Changes of (total, rows) by one person; the corners of what they span are found anew for every kind of dataset."""
POWER_LEAST = 1e-3
FAR_FROM_PURE = 0.07
"""Where D_α is so much less than the pure cost, mixing hardly matters."""
_NEAR_PURE = 0.99
_ORDERS_AFTER = 10
_CHANGES = 6
_CHUNK = 40_000
_SCOUTS = 64


def lattice_curve(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, pure: float
) -> Array | None:
    """D_α without the share γ, infinite from the order on from which a cost of `pure` says less; None if too much work."""
    datasets = dataset_count(statistic_range, people, unit_rows)
    if datasets * _CHANGES * grid.size * 4 > CURVE_WORK_MAX:
        return None
    pairs = list(pairs_by_change(statistic_range, people, unit_rows))
    jobs = _jobs(pairs)
    orders = _useful_orders(grid, jobs, pure)
    if len(jobs.t) * grid.size * len(orders) > CURVE_WORK_MAX:
        return None
    paths = follow(grid, jobs, grid.size, orders)
    curve = np.full(len(ORDERS), np.inf)
    curve[: len(orders)] = paths.divergence.max(axis=0)
    return curve


def _jobs(pairs: list[tuple[Direction, Array]]) -> Jobs:
    starts = np.concatenate([starts for _, starts in pairs])
    changes = np.repeat([change for change, _ in pairs], [len(starts) for _, starts in pairs], axis=0).astype(
        np.float64
    )
    t, m, dt, dm = np.concatenate([starts, changes], axis=1).T.copy()
    return Jobs(t, m, dt, dm, np.zeros(len(starts), dtype=np.int64))


def _useful_orders(grid: PublicGrid, jobs: Jobs, pure: float) -> Array:
    """Orders at which (α−1)·D_α of some pairs rises more slowly than `pure`."""
    some = np.arange(0, len(jobs.t), max(1, len(jobs.t) // _SCOUTS))
    scouts = Jobs(*(getattr(jobs, field)[some] for field in jobs.__slots__))
    orders = np.array(ORDERS)
    powers = (orders - 1) * follow(grid, scouts, grid.size, orders).divergence.max(axis=0)
    steep = np.flatnonzero(np.diff(powers) >= 1.01 * pure * np.diff(orders))
    return orders[: steep[0] + 2] if len(steep) else orders


def lattice_powers(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, capped: Array, pure: float
) -> Array:
    """(α−1)·D_α with the share γ, infinite where it was not computed; `capped` are bounds of D_α."""
    found = np.full(len(ORDERS), np.inf)
    powers = np.array(ORDERS) - 1
    tried = np.flatnonzero((powers * capped >= POWER_LEAST) & (capped >= FAR_FROM_PURE * pure))
    # a bound of all but the pure cost need not be what is owed, at a few orders after the first of them
    tried = tried[: int((capped[tried] <= _NEAR_PURE * pure).sum()) + _ORDERS_AFTER]
    work = dataset_count(statistic_range, people, unit_rows) * _CHANGES * grid.size
    moves = (2 * (statistic_range[1] - statistic_range[0]) * unit_rows + 1) * (2 * unit_rows - 1)
    if not len(tried) or work > MIXED_WORK_MAX or moves > MOVES_MAX:
        return found
    tried = tried[_spread_out(len(tried), max(_LEAST_TRIED, 2 * MIXED_WORK_MAX // work))]
    mixed = Datasets(grid, statistic_range, people, unit_rows, lambda log_p: log_drawn(log_p, grid.size))
    plain = Datasets(grid, statistic_range, people, unit_rows, lambda log_p: log_p)
    largest = np.zeros(len(tried))
    for changes, starts in changes_by_kind(statistic_range, people, unit_rows):
        fan = _fan(changes)
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // _CHUNK)):
            q, p = mixed.at(chunk), plain.at(chunk)
            falls = [q - mixed.at(chunk + change) for change in fan]
            plain_falls = [p - plain.at(chunk + change) for change in fan]
            for i in range(len(fan)):
                ratio = np.maximum(np.maximum(falls[i - 1], falls[i]), 0.0)
                corner = _Corner(q, p, ratio, (plain_falls[i - 1], plain_falls[i]))
                largest = np.maximum(largest, corner.sums(powers[tried], largest, grid.size))
    found[tried] = largest
    return found


def _spread_out(length: int, count: int) -> NDArray[np.int64]:
    """`count` of so many places, or all: denser at the start, where mixing begins and a curve bends most."""
    if count >= length:
        return np.arange(length)
    share = np.linspace(0.0, 1.0, count)
    return np.unique(((length - 1) * (0.3 * share + 0.7 * share**2)).round().astype(np.int64))


def _fan(changes: set[Direction]) -> list[Direction]:
    """Vertices in turn, starting after no change at all where that is one of them."""
    vertices = hull_vertices(changes | {(0, 0)})
    if (0, 0) not in vertices:
        return vertices
    start = vertices.index((0, 0))
    return vertices[start + 1 :] + vertices[:start]


@dataclass(frozen=True, slots=True)
class _Corner:
    """Datasets, a row each, and a triangle of changes: log q, log p, the largest fall of log q, falls of log p at two corners."""

    log_q: Array
    log_p: Array
    ratio: Array
    falls: tuple[Array, Array]

    def sums(self, powers: Array, largest: Array, size: int) -> Array:
        """The largest log of the sum for each power; it is at most power times the largest ratio, and some need no look."""
        found, steepest = largest.copy(), self.ratio.max(axis=1)
        for i, power in enumerate(powers):
            worth = np.flatnonzero(steepest * power > found[i])
            if len(worth):
                found[i] = max(found[i], float(self._sum(worth, power, size).max()))
        return found

    def _sum(self, rows: NDArray[np.int64], power: float, size: int) -> Array:
        bound = self.log_q[rows] + power * self.ratio[rows]
        plain = [self.log_p[rows] + power * fall[rows] for fall in self.falls]
        parted = (np.maximum(*plain) > bound) & (self.ratio[rows] > 0)
        top = bound.max(axis=1, keepdims=True).clip(0.0)
        drawn = (np.exp(bound - top) * parted).sum(axis=1)
        floor = UNIFORM_SHARE / size * (~parted).sum(axis=1) * np.exp(-top[:, 0])
        others = [
            (np.exp(np.minimum(each - top, 0.0)) * ~parted).sum(axis=1) + floor for each in (*plain, self.log_p[rows])
        ]
        total: Array = top[:, 0] + np.log(drawn + np.max(others, axis=0))
        return total
