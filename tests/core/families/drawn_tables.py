"""The cost of the table really drawn, share of the uniform one included, straight from definitions: all pairs handed in.

γ is written down a second time, and so are posteriors (`family_cases.exact_tables`): nothing here asks the code under test.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.families import Model
from app.core.privacy import ORDERS
from tests.core.families.family_cases import exact_tables

GAMMA = np.longdouble(1) / 2**24
_CHUNK_CELLS = 40_000

Pair = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Owed:
    """The largest log-ratio, D_α at every order, and the largest change of one point's probability."""

    pure: float
    curve: NDArray[np.float64]
    pointwise: float


def drawn_tables(model: Model, rows_max: int, temperature: float, statistics: list[tuple[int, int]]) -> Any:
    grid = model.grid(rows_max, temperature)
    return np.log((1 - GAMMA) * np.exp(exact_tables(model, grid, statistics)) + GAMMA / grid.size)


def owed(model: Model, people: int, unit_rows: int, temperature: float, pairs: list[Pair]) -> Owed:
    statistics = sorted({statistic for pair in pairs for statistic in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    tables = drawn_tables(model, people * unit_rows, temperature, statistics)
    return owed_by_tables(tables, [(place[first], place[second]) for first, second in pairs])


def owed_by_tables(tables: Any, places: list[tuple[int, int]]) -> Owed:
    """From log-probabilities, one row each, and ordered pairs of rows."""
    best, pure, pointwise = np.zeros(len(ORDERS)), 0.0, 0.0
    for part in np.array_split(np.array(places), max(1, len(places) * tables.shape[1] // _CHUNK_CELLS)):
        log_p, log_q = tables[part[:, 0]], tables[part[:, 1]]
        pure = max(pure, float(np.abs(log_p - log_q).max()))
        pointwise = max(pointwise, float(np.abs(np.exp(log_p) - np.exp(log_q)).max()))
        p = log_p.astype(np.float64)
        gap = (log_p - log_q).astype(np.float64)
        best = np.maximum(best, [_largest(p, gap, order) for order in ORDERS])
    return Owed(pure, best, pointwise)


def _largest(log_p: NDArray[np.float64], gap: NDArray[np.float64], order: float) -> float:
    exponent = (order - 1) * gap + log_p
    top = exponent.max(axis=1)
    return float((top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))).max()) / (order - 1)
