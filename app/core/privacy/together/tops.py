"""The exact supremum over sums a fixed step apart, by visiting only those that can be worst.

A ceiling of the curvature gives every sum t a bound G(t) of its own D_α (`kernel.py`), within a part in a thousand of it. Sums
are visited from the largest G down; once G is below the largest D_α seen, no sum left can exceed that. Near its top D_α is flat,
so that is some tens of sums of a thousand, for each order and direction.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.numerics.remainder import centred_cumulant
from app.core.privacy.cost import ORDERS
from app.core.privacy.curvature import Ceiling
from app.core.privacy.enumeration import Supremum, log_tables
from app.core.privacy.kernel import Hats

Array = NDArray[np.float64]

SUMS_MAX = 2_000
VISITS_MAX = 400_000
"""Sums times points of the grid, for one order and direction: beyond, what stands is kept."""
_AT_ONCE = 16


def visited_tops(
    grid: PublicGrid, ceiling: Ceiling, ends: tuple[int, int], rows: int, step: int, known: Supremum, cap: Array
) -> Supremum:
    """The least of `known` and of what is found so, of KL and of the orders at which `known` is below `cap`."""
    first, last = ends[0], ends[1] - step
    if not 0 <= last - first < SUMS_MAX:
        return known
    t = np.arange(first, last + 1, dtype=np.float64)
    powers = np.array([1.0, *ORDERS])
    bounds = np.append(known.kl, known.curve)
    upward, downward = Hats(ceiling), Hats(ceiling.mirrored())
    for place in np.flatnonzero(bounds < np.append(np.inf, cap)).tolist():
        power = np.full(len(t), powers[place])
        wide = np.full(len(t), float(step))
        either = [
            _top(grid, t, rows, step, upward.at(t, power, wide), powers[place]),
            _top(grid, t + step, rows, -step, downward.at(-t - step, power, wide), powers[place]),
        ]
        bounds[place] = min(bounds[place], max(either))
    return Supremum(bounds[1:], float(bounds[0]))


def _top(grid: PublicGrid, starts: Array, rows: int, change: int, ceilings: Array, order: float) -> float:
    """sup D_α(P_v ‖ P_{v+change}) over `starts`, each at most its ceiling; KL where the order is 1."""
    falling = np.argsort(-ceilings)
    best, most = 0.0, max(_AT_ONCE, VISITS_MAX // grid.size)
    for begin in range(0, len(falling), _AT_ONCE):
        part = falling[begin : begin + _AT_ONCE]
        if ceilings[part[0]] <= best or begin >= most:
            return max(best, float(ceilings[part[0]]))
        best = max(best, float(_divergence(grid, starts[part], rows, change, order).max()))
    return best


def _divergence(grid: PublicGrid, starts: Array, rows: int, change: int, order: float) -> Array:
    log_p = log_tables(grid, np.stack([starts, np.full(len(starts), float(rows))], axis=1))
    b = grid.change((change, 0))
    centred = b - (np.exp(log_p) * b).sum(axis=1, keepdims=True)
    kl = centred_cumulant(log_p, centred)
    return kl if order == 1 else centred_cumulant(log_p, (1 - order) * centred) / (order - 1) + kl
