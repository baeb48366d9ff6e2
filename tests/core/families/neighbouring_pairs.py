"""Rényi divergences straight from their definition, over all neighbouring datasets of a small case."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.families import Model
from app.core.privacy import ORDERS
from tests.core.families.family_cases import exact_tables

_CHUNK = 256


def reachable_pairs(steps: int, people: int, unit_rows: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ordered pairs of different (Σj, rows) that differ in the rows of one person, all of them."""
    person = [(j, rows) for rows in range(1, unit_rows + 1) for j in range(rows * steps + 1)]
    rest = {(0, 0)}
    for _ in range(people - 1):
        rest = {(t + j, m + rows) for t, m in rest for j, rows in person}
    found = {
        ((t + old[0], m + old[1]), (t + new[0], m + new[1]))
        for t, m in rest
        for old, new in itertools.permutations(person, 2)
    }
    return sorted(found)


def widest_pairs(steps: int, people: int, stride: int = 1) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """One row a person, one record moving by Δ, both ways, and by 1 and Δ−1 here and there: for larger lattices."""
    found = []
    for t in range(0, people * steps + 1, stride):
        moves = {steps, -steps} | ({1, -1, steps - 1, 1 - steps} - {0} if t % 5 == 0 else set())
        found += [((t, people), (t + d, people)) for d in sorted(moves) if 0 <= t + d <= people * steps]
    return found


def renyi_curve(model: Model, people: int, unit_rows: int, temperature: float, pairs: list[Any]) -> NDArray[np.float64]:
    """max over `pairs` of log Σ P^α Q^{1−α}/(α−1), for every order."""
    grid = model.grid(people * unit_rows, temperature)
    statistics = sorted({statistic for pair in pairs for statistic in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    tables = exact_tables(model, grid, statistics).astype(np.float64)
    best = np.zeros(len(ORDERS))
    for start in range(0, len(pairs), _CHUNK):
        chunk = pairs[start : start + _CHUNK]
        log_p = tables[[place[first] for first, _ in chunk]]
        gap = log_p - tables[[place[second] for _, second in chunk]]
        for i, order in enumerate(ORDERS):
            exponent = (order - 1) * gap  # one array, overwritten: memory passed over is what this costs
            exponent += log_p
            top = exponent.max(axis=1, keepdims=True)
            exponent -= top
            total = top[:, 0] + np.log(np.exp(exponent, out=exponent).sum(axis=1))
            best[i] = max(best[i], float(total.max()) / (order - 1))
    return best


def pure_range(model: Model, people: int, unit_rows: int, temperature: float, pairs: list[Any]) -> float:
    """max over `pairs` of the width of log P/Q."""
    grid = model.grid(people * unit_rows, temperature)
    statistics = sorted({statistic for pair in pairs for statistic in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    tables = exact_tables(model, grid, statistics)
    first, second = (tables[[place[pair[side]] for pair in pairs]] for side in (0, 1))
    return float(np.ptp(first - second, axis=1).max())
