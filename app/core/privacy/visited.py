"""Tables of every dataset there can be, for `every_pair.py`: of the posterior as it is drawn, and of a law made of it.

Drawn is q = (1−γ)p + γ/K. Grid points at which p_k is under 10⁻¹²·γ/K for every dataset have all but the same log q; they
stand as one point of their number. Each such term of Σ q^α·q′^{1−α} is wrong by a part 2α·10⁻¹² at most, of γ in all:
less than what rounding is given (`EveryPair`). Where trims are wide against a prior those are most points.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.every_pair import TOLERANCE, EveryPair
from app.core.privacy.neighbours import Neighbours
from app.core.privacy.windows import rounding_factor

Array = NDArray[np.float64]

TABLES_MAX = 12_000_000
"""Datasets times points of the grid."""
WORK_MAX = 150_000_000
WORK_ONE_ROW_MAX = 40_000_000
"""About nanoseconds of one order. A draw for one row a person has bounds that are nearly as close, and plans ask for many."""
PAIRS_MAX = 120_000_000
"""Pairs times points, where log-ratios of all pairs are compared."""
BLOCKS_MAX = 5_000
EXACT_TABLES_MAX = 1_000_000
"""Up to so many nothing is left to tolerance: a law that has no other bound was enumerated pair by pair before, and no old charge
may look too low beside what it would be now."""
FLAT = 1e-12
"""How far a log q may lie above log(γ/K) for its point to be one of many; more than that no log-ratio there can be."""
_POINTS_LEAST = 65
_CHUNK_ELEMENTS = 40_000


def every_pair(
    grid: PublicGrid, neighbours: Neighbours, law: Callable[[Array, int], Array] | None = None
) -> EveryPair | None:
    """None where that is too much work. `law` makes its own log-probabilities of those drawn, `size` points in all, the last
    column standing for as many as are missing."""
    work_max = WORK_ONE_ROW_MAX if law is None and neighbours.unit_rows == 1 else WORK_MAX
    log_q = visited_tables(grid, neighbours, law, work_max)
    if log_q is None:
        return None
    exact = law is not None and log_q.size <= EXACT_TABLES_MAX
    return EveryPair(neighbours, log_q, unimodal=law is None, tolerance=0.0 if exact else TOLERANCE)


def visited_tables(
    grid: PublicGrid,
    neighbours: Neighbours,
    law: Callable[[Array, int], Array] | None = None,
    work_max: float = WORK_ONE_ROW_MAX,
) -> Array | None:
    """log q of every dataset, a row each, points that none visits as one; None where that is too much work."""
    if not (_few(neighbours, grid.size) and _work(neighbours, 0) <= work_max):
        return None
    log_q = drawn_tables(grid, neighbours)
    flat = (log_q.max(axis=0) - np.log(UNIFORM_SHARE / grid.size)) <= FLAT
    kept = np.flatnonzero(~flat)
    changes = (2 * neighbours.unit_rows - 1) * (2 * neighbours.unit_rows * neighbours.steps + 1)
    compared = 0 if law is None else neighbours.count * len(kept) * changes
    if not (_work(neighbours, len(kept) + 1) <= work_max and compared <= PAIRS_MAX):
        return None
    if len(kept) < grid.size:
        log_q = np.concatenate([log_q[:, kept], log_q[:, flat][:, :1]], axis=1)
    if law is not None:
        log_q = law(log_q, grid.size)
    if len(kept) < grid.size:
        log_q[:, -1] += np.log(grid.size - len(kept))
    return log_q


def lost(grid: PublicGrid, neighbours: Neighbours) -> float:
    """How far a log q may be off in doubles, twice."""
    rows = float(neighbours.people * neighbours.unit_rows)
    return float(np.log(rounding_factor(grid, rows * neighbours.steps, rows))) + 2.0**-50 * (grid.size + 64)


def _few(neighbours: Neighbours, size: int) -> bool:
    rows = len(neighbours.rows)
    blocks = (2 * neighbours.unit_rows - 1) * (neighbours.count // neighbours.block + rows)
    return neighbours.count * size <= TABLES_MAX and blocks <= BLOCKS_MAX


def _work(neighbours: Neighbours, size: int) -> float:
    """An exponential costs some nanoseconds, a term of a product a fifteenth of one; masks have no points, but as many rows."""
    reach = 2 * neighbours.unit_rows * neighbours.steps
    products = 0.07 * (2 * neighbours.unit_rows - 1) * (neighbours.block + reach)
    return neighbours.count * max(size, _POINTS_LEAST) * (10 + products)


def drawn_tables(grid: PublicGrid, neighbours: Neighbours) -> Array:
    """log q of every dataset, a row each."""
    tables, eta = np.empty((neighbours.count, grid.size)), grid.temperature * grid.eta
    for rows in neighbours.rows:
        base, t = grid.log_prior - grid.temperature * rows * grid.partition, np.arange(neighbours.steps * rows + 1.0)
        table = tables[neighbours.first(rows) : neighbours.first(rows + 1)]
        size = max(1, _CHUNK_ELEMENTS // grid.size)
        for start in range(0, len(t), size):
            part = table[start : start + size]
            np.multiply(t[start : start + size, None], eta, out=part)
            part += base
            part -= part.max(axis=1, keepdims=True)
            np.exp(part, out=part)
            part *= (1 - UNIFORM_SHARE) / part.sum(axis=1, keepdims=True)
            part += UNIFORM_SHARE / grid.size
            np.log(part, out=part)
    return tables
