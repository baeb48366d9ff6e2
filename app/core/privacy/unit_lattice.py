"""Several rows a person, few statistics: D_α of every dataset, without the share γ and with it, for all changes at once.

Without it D_α is convex in the change, so for each dataset the vertices of the changes open to it are enough. With it,
q = (1−γ)p + γ/K and L = log q, that is no longer so. But the changes open to a dataset v have a hull that is a fan of triangles
(0, d, e), d and e neighbouring vertices, and log p_k is concave, so that on a triangle q_k is smallest at a corner:

    e^{(α−1)·D_α(q_v ‖ q_v′)} ≤ Σ_k q_k(v)·e^{(α−1)·max(0, L_k(v) − L_k(v+d), L_k(v) − L_k(v+e))}   for v′ − v in the triangle.

Terms under 1 are replaced by 1, which is little in a sum that is e³ or more, and of no use in one under e: such orders are not
tried.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid
from app.core.numerics.hull import hull_vertices
from app.core.privacy.cost import ORDERS
from app.core.privacy.enumeration import Datasets, changes_by_kind, dataset_count, pairs_by_change
from app.core.privacy.mixed_pairs import log_drawn
from app.core.privacy.unit_paths import Jobs, follow

Array = NDArray[np.float64]

CURVE_WORK_MAX = 14_000_000
"""Datasets times changes times points of the grid times orders."""
MIXED_WORK_MAX = 12_000_000
"""Datasets times changes times points of the grid: of the sums at an order, most are left out."""
_LEAST_TRIED = 3
POWER_LEAST = 1.0
_NEAR_PURE = 0.99
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
    tried = np.flatnonzero((powers * capped >= POWER_LEAST) & (capped <= _NEAR_PURE * pure))
    work = dataset_count(statistic_range, people, unit_rows) * _CHANGES * grid.size
    if not len(tried) or work > MIXED_WORK_MAX:
        return found
    count = max(_LEAST_TRIED, 3 * MIXED_WORK_MAX // work)
    tried = tried[np.unique(np.linspace(0, len(tried) - 1, min(count, len(tried))).round().astype(np.int64))]
    tables = Datasets(grid, statistic_range, people, unit_rows, lambda log_p: log_drawn(log_p, grid.size))
    largest = np.zeros(len(tried))
    for changes, starts in changes_by_kind(statistic_range, people, unit_rows):
        fan = [change for change in hull_vertices(changes | {(0, 0)}) if change != (0, 0)]
        fan = fan if (0, 0) not in hull_vertices(changes | {(0, 0)}) else _opened(changes)
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // _CHUNK)):
            before = tables.at(chunk)
            falls = [before - tables.at(chunk + change) for change in fan]
            for i in range(len(fan)):
                ratio = np.maximum(np.maximum(falls[i - 1], falls[i]), 0.0)
                largest = np.maximum(largest, _sums(before, ratio, powers[tried], largest))
    found[tried] = largest
    return found


def _opened(changes: set[Direction]) -> list[Direction]:
    """Vertices in turn where no change at all is one of them: it starts the fan."""
    vertices = hull_vertices(changes | {(0, 0)})
    start = vertices.index((0, 0))
    return vertices[start + 1 :] + vertices[:start]


def _sums(before: Array, ratio: Array, powers: Array, largest: Array) -> Array:
    """The largest log Σ q·e^{power·ratio} for each power; a sum is at most e^{power·its largest ratio}."""
    found, steepest = largest.copy(), ratio.max(axis=1)
    for i, power in enumerate(powers):
        worth = steepest * power > found[i]
        if worth.any():
            joint = before[worth] + power * ratio[worth]
            top = joint.max(axis=1)
            joint -= top[:, None]
            found[i] = max(found[i], float((top + np.log(np.exp(joint, out=joint).sum(axis=1))).max()))
    return found
