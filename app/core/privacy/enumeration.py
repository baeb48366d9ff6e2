"""Exact Rényi curves by visiting every neighbouring pair. For small cases, and to check every other method.

    D_α(P_v ‖ P_{v+d}) = C((1−α)·d)/(α−1) + C(d),   KL = C(d),   C(h) = log Σ P_v·exp(h·(b − E b))

with b = τ(η·Δt − A·Δm) on the grid. For a fixed old record the divergence is convex in the new one, so only the
corners of what a person can become need visiting.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import Direction, PublicGrid, person_corners, person_points
from app.core.numerics.remainder import centred_cumulant
from app.core.privacy.orders import ORDERS

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Supremum:
    """Upper bounds over all neighbouring pairs in both directions, for one draw."""

    curve: Array
    kl: float


def reachable(statistic_range: tuple[int, int], people: int, unit_rows: int) -> list[tuple[int, int]]:
    """Every (Σ T, rows) that `people` persons with 1 to `unit_rows` rows each can have."""
    low, high = statistic_range
    rows = range(people, people * unit_rows + 1)
    return [(t, m) for m in rows for t in range(m * low, m * high + 1)]


def pair_count(statistic_range: tuple[int, int], people: int, unit_rows: int) -> int:
    """How many pairs `enumerate_supremum` visits, before it visits any."""
    span = statistic_range[1] - statistic_range[0]
    others = people - 1
    rows = others * (unit_rows - 1) + 1
    points = rows * (1 + span * others * (unit_rows + 1) // 2)
    olds = unit_rows + span * unit_rows * (unit_rows + 1) // 2
    return points * olds * (4 if unit_rows > 1 else 2)


def enumerate_supremum(grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int) -> Supremum:
    best = np.zeros(len(ORDERS))
    best_kl = 0.0
    for change, starts in _pairs_by_change(statistic_range, people, unit_rows):
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // 2_000_000)):
            curves, kl = divergences(grid, chunk, change)
            best = np.maximum(best, curves.max(axis=0))
            best_kl = max(best_kl, float(kl.max()))
    return Supremum(best, best_kl)


def divergences(grid: PublicGrid, starts: Array, change: Direction) -> tuple[Array, Array]:
    """(D_α for every start v and order, KL for every start) between P_v and P_{v+change}."""
    t, m = starts[:, 0:1], starts[:, 1:2]
    log_w = grid.log_prior + grid.temperature * (grid.eta * t - grid.partition * m)
    top = log_w.max(axis=1, keepdims=True)
    log_p = log_w - top - np.log(np.exp(log_w - top).sum(axis=1, keepdims=True))
    b = grid.change(change)
    centred = b - (np.exp(log_p) * b).sum(axis=1, keepdims=True)
    kl = centred_cumulant(log_p, centred)
    curves = [centred_cumulant(log_p, (1 - order) * centred) / (order - 1) + kl for order in ORDERS]
    return np.stack(curves, axis=1), kl


def _pairs_by_change(
    statistic_range: tuple[int, int], people: int, unit_rows: int
) -> Iterator[tuple[Direction, Array]]:
    rest = np.array(reachable(statistic_range, people - 1, unit_rows), dtype=np.float64)
    corners = person_corners(statistic_range, unit_rows)
    for old in person_points(statistic_range, unit_rows):
        for new in corners:
            if new != old:
                yield (new[0] - old[0], new[1] - old[1]), rest + np.array(old, dtype=np.float64)
