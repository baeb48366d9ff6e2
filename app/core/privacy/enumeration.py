"""Exact Rényi curves by visiting every neighbouring pair. For small cases, and to check every other method.

    D_α(P_v ‖ P_{v+d}) = C((1−α)·d)/(α−1) + C(d),   KL = C(d),   C(h) = log Σ P_v·exp(h·(b − E b))

with b = τ(η·Δt − A·Δm) on the grid. For a fixed first dataset v the divergence is convex in the change d, so of all the
changes that one of v's people could make only the vertices of their hull need visiting.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid, person_points
from app.core.numerics.hull import hull_vertices
from app.core.numerics.remainder import centred_cumulant
from app.core.privacy.cost import ORDERS
from app.core.privacy.mixed_pairs import log_drawn

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Supremum:
    """Upper bounds over all neighbouring pairs in both directions, for one draw."""

    curve: Array
    kl: float

    def times(self, factor: float) -> "Supremum":
        return Supremum(self.curve * factor, self.kl * factor)


def reachable(statistic_range: tuple[int, int], people: int, unit_rows: int) -> list[tuple[int, int]]:
    """Every (Σ T, rows) that `people` persons with 1 to `unit_rows` rows each can have."""
    low, high = statistic_range
    rows = range(people, people * unit_rows + 1)
    return [(t, m) for m in rows for t in range(m * low, m * high + 1)]


def dataset_count(statistic_range: tuple[int, int], people: int, unit_rows: int) -> int:
    """How many (Σ T, rows) are `reachable`."""
    rows = people * (unit_rows - 1) + 1
    return rows + (statistic_range[1] - statistic_range[0]) * rows * people * (unit_rows + 1) // 2


def pair_count(statistic_range: tuple[int, int], people: int, unit_rows: int) -> int:
    """About how many pairs `enumerate_supremum` visits, before it visits any: six extreme changes, or two."""
    return dataset_count(statistic_range, people, unit_rows) * (6 if unit_rows > 1 else 2)


def all_pair_count(statistic_range: tuple[int, int], people: int, unit_rows: int) -> int:
    """At most how many pairs `enumerate_drawn` visits."""
    reach = unit_rows * (statistic_range[1] - statistic_range[0])
    changes = (2 * reach + 1) * (2 * unit_rows - 1) - 1
    return pair_count(statistic_range, people, unit_rows) // (6 if unit_rows > 1 else 2) * changes


def enumerate_supremum(grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int) -> Supremum:
    best = np.zeros(len(ORDERS))
    best_kl = 0.0
    for change, starts in pairs_by_change(statistic_range, people, unit_rows):
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // 50_000)):
            curves, kl = divergences(grid, chunk, change)
            best = np.maximum(best, curves.max(axis=0))
            best_kl = max(best_kl, float(kl.max()))
    return Supremum(best, best_kl)


def divergences(grid: PublicGrid, starts: Array, change: Direction) -> tuple[Array, Array]:
    """(D_α for every start v and order, KL for every start) between P_v and P_{v+change}."""
    log_p = log_tables(grid, starts)
    b = grid.change(change)
    centred = b - (np.exp(log_p) * b).sum(axis=1, keepdims=True)
    kl = centred_cumulant(log_p, centred)
    curves = [centred_cumulant(log_p, (1 - order) * centred) / (order - 1) + kl for order in ORDERS]
    return np.stack(curves, axis=1), kl


def enumerate_pure(grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int) -> float:
    """The largest log-ratio between the tables really drawn, with their share of the uniform one (`mixed_pairs.py`)."""
    return _largest_fall(grid, statistic_range, people, unit_rows, lambda log_p: log_drawn(log_p, grid.size))


def enumerate_pointwise(grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int) -> float:
    """The largest change of one point's posterior probability (`mixed_pairs.py`)."""
    return _largest_fall(grid, statistic_range, people, unit_rows, np.exp)


def _largest_fall(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, of: Callable[[Array], Array]
) -> float:
    """Of a function that rises with log p: for a fixed first dataset at an extreme change."""
    datasets = Datasets(grid, statistic_range, people, unit_rows, of)
    largest = 0.0
    for change, starts in pairs_by_change(statistic_range, people, unit_rows):
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // 50_000)):
            largest = max(largest, float((datasets.at(chunk) - datasets.at(chunk + change)).max()))
    return largest


class Datasets:
    """A function of the table of every dataset there can be, computed once."""

    def __init__(
        self,
        grid: PublicGrid,
        statistic_range: tuple[int, int],
        people: int,
        unit_rows: int,
        of: Callable[[Array], Array],
    ) -> None:
        self._low, high = statistic_range
        self._people = people
        every = np.array(reachable(statistic_range, people, unit_rows), dtype=np.float64)
        chunks = np.array_split(every, max(1, len(every) * grid.size // 50_000))
        self._values = np.concatenate([of(log_tables(grid, chunk)) for chunk in chunks])
        rows = np.arange(people, people * unit_rows + 1)
        self._first = np.concatenate([[0], np.cumsum(rows * (high - self._low) + 1)[:-1]])

    def at(self, statistics: Array) -> Array:
        t, m = statistics.astype(np.int64).T
        found: Array = self._values[self._first[m - self._people] + t - m * self._low]
        return found


def enumerate_drawn(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, orders: Array
) -> Array:
    """(α−1)·D_α between the tables really drawn: every pair, as with a share γ D_α is no longer convex in the change.

    It is at most (α−1) times a pair's largest log-ratio: pairs that cannot exceed the largest seen are left out.
    """
    datasets = Datasets(grid, statistic_range, people, unit_rows, lambda log_p: log_drawn(log_p, grid.size))
    powers, largest = orders - 1, np.zeros(len(orders))
    pairs = pairs_by_change(statistic_range, people, unit_rows, vertices_only=False)
    for change, starts in sorted(pairs, key=lambda pair: -abs(pair[0][0]) - abs(pair[0][1])):
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // 50_000)):
            before = datasets.at(chunk)
            ratio = before - datasets.at(chunk + change)
            steepest = ratio.max(axis=1)
            for i, power in enumerate(powers):
                worth = steepest * power > largest[i]
                if worth.any():
                    largest[i] = max(largest[i], float(_log_sums(before[worth] + power * ratio[worth]).max()))
    return largest + 2.0**-50 * (orders + grid.size)


def _log_sums(joint: Array) -> Array:
    top = joint.max(axis=1)
    sums: Array = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return sums


def enumerate_laws(
    grid: PublicGrid,
    statistic_range: tuple[int, int],
    people: int,
    unit_rows: int,
    orders: Array,
    law: Callable[[Array], Array],
) -> tuple[float, Array]:
    """(largest log-ratio, D_α at `orders`) over every pair, between laws made of log-posteriors, log-probabilities both.

    A sum near 1 loses 2⁻⁵² for every point; that is added back.
    """
    pure, largest = 0.0, np.zeros(len(orders))
    for change, starts in pairs_by_change(statistic_range, people, unit_rows, vertices_only=False):
        for chunk in np.array_split(starts, max(1, len(starts) * grid.size // 50_000)):
            before, after = (law(log_tables(grid, each)) for each in (chunk, chunk + change))
            ratio = before - after
            pure = max(pure, float(ratio.max()))
            for i, order in enumerate(orders):
                largest[i] = max(largest[i], float(_log_sums(before + (order - 1) * ratio).max()))
    return pure, (np.maximum(largest, 0.0) + 2.0**-50 * (orders + grid.size)) / (orders - 1)


def log_tables(grid: PublicGrid, starts: Array) -> Array:
    t, m = starts[:, 0:1], starts[:, 1:2]
    log_w = grid.log_prior + grid.temperature * (grid.eta * t - grid.partition * m)
    top = log_w.max(axis=1, keepdims=True)
    log_p: Array = log_w - top - np.log(np.exp(log_w - top).sum(axis=1, keepdims=True))
    return log_p


def pairs_by_change(
    statistic_range: tuple[int, int], people: int, unit_rows: int, vertices_only: bool = True
) -> Iterator[tuple[Direction, Array]]:
    """(change, every first dataset it must be tried on): for each dataset all changes open to it, or only extreme ones."""
    changes: dict[Direction, list[Array]] = {}
    for open_to_it, starts in changes_by_kind(statistic_range, people, unit_rows):
        for change in _extreme(open_to_it) if vertices_only else open_to_it:
            changes.setdefault(change, []).append(starts)
    for change, found in changes.items():
        yield change, np.concatenate(found)


def changes_by_kind(
    statistic_range: tuple[int, int], people: int, unit_rows: int
) -> Iterator[tuple[set[Direction], Array]]:
    """(changes, every first dataset to which just these are open)."""
    low, high = statistic_range
    starts = np.array(reachable(statistic_range, people, unit_rows), dtype=np.int64)
    persons = person_points(statistic_range, unit_rows)
    possible = np.empty((len(starts), len(persons)), dtype=np.bool_)
    for i, (total, rows) in enumerate(persons):
        t, m = starts[:, 0] - total, starts[:, 1] - rows
        enough = (m >= people - 1) & (m <= (people - 1) * unit_rows)
        possible[:, i] = enough & (t >= low * m) & (t <= high * m)
    kinds, kind_of = np.unique(possible, axis=0, return_inverse=True)
    for i, kind in enumerate(kinds):
        olds = [person for person, may in zip(persons, kind, strict=True) if may]
        changes = {(new[0] - old[0], new[1] - old[1]) for old in olds for new in persons} - {(0, 0)}
        yield changes, starts[kind_of.ravel() == i].astype(np.float64)


def _extreme(changes: set[Direction]) -> list[Direction]:
    """Vertices of all changes; D is convex in the change and 0 at no change."""
    return [change for change in hull_vertices(changes | {(0, 0)}) if change != (0, 0)]
