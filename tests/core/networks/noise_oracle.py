"""What noise on a network's counts or characters costs between any two people, summed over everything that moves.

Shares no formula with `app`: counts and characters from the rows themselves, discrete Laplace by its definition in mpmath.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache

import mpmath
import numpy as np
from numpy.typing import NDArray

from tests.core.networks.brute_records import PlainNetwork, Record, all_records


def persons(network: PlainNetwork, unit_rows: int) -> list[tuple[Record, ...]]:
    records = all_records(network)
    return [rows for size in range(1, unit_rows + 1) for rows in itertools.combinations_with_replacement(records, size)]


def cell_counts(network: PlainNetwork, rows: Sequence[Record]) -> dict[object, int]:
    counts: dict[object, int] = {}
    for row in rows:
        for i, parents in enumerate(network.parents):
            cell = (i, tuple(row[p] for p in parents), row[i])
            counts[cell] = counts.get(cell, 0) + 1
    return counts


def character_sums(network: PlainNetwork, rows: Sequence[Record]) -> dict[object, int]:
    families = [{i, *parents} for i, parents in enumerate(network.parents)]
    subsets = {
        frozenset(chosen)
        for family in families
        for size in range(len(family) + 1)
        for chosen in itertools.combinations(family, size)
    }
    return {subset: sum((-1) ** sum(row[v] for v in subset) for row in rows) for subset in subsets}


def shifts(one: dict[object, int], other: dict[object, int]) -> tuple[int, ...]:
    moved = (abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
    return tuple(sorted(shift for shift in moved if shift))


@lru_cache(maxsize=4096)
def noise_divergence(shift: int, scale: float, order: float) -> float:
    """log Σ_z P(z)^α·P(z − m)^{1−α}/(α−1), the tails summed in closed form."""
    with mpmath.workdps(60):
        q, a = mpmath.exp(-1 / mpmath.mpf(scale)), mpmath.mpf(order)
        inner = mpmath.fsum(q ** (a * abs(z) + (1 - a) * abs(z - shift)) for z in range(shift + 1))
        left = q ** (1 + (1 - a) * shift) / (1 - q)
        right = q ** (a * (shift + 1) + (1 - a)) / (1 - q)
        return float(mpmath.log((1 - q) / (1 + q) * (inner + left + right)) / (a - 1))


def exact_noise_cost(moved: set[tuple[int, ...]], scale: float, orders: Sequence[float]) -> NDArray[np.float64]:
    """[D_α …, D_∞], each the largest over all ways in which people can differ."""
    rows = [
        [sum(noise_divergence(m, scale, order) for m in each) for order in orders] + [sum(each) / scale]
        for each in moved
    ]
    return np.asarray(np.max(rows, axis=0))
