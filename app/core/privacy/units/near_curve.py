"""D_α of a draw at small orders, and its pure cost by Chernoff's bound, several rows a person: from sup Var(b) on a few regions
(`peak_regions.py`).

Where an order's path is a small part of a posterior's width, Var(b) hardly changes along it, and its largest value over all that
can be reached says what D_α is to a few parts in a hundred. A few regions are enough: what holds further out holds further in.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid, directions
from app.core.privacy.peak_regions import REACHES, chernoff, weighted_means
from app.core.privacy.peaks import CurvatureMap, Region, scan_variance
from app.core.privacy.windows import rounding_factor

Array = NDArray[np.float64]

TOLERANCE = 0.02
WORK_MAX = 6_000_000
"""Cells times points of a window."""
_ROWS_LEFT = 0.5
_FIRST_ORDERS = (2.0, 8.0)


def near_curve(
    grid: PublicGrid, steps: int, people: int, unit_rows: int, last_orders: list[float]
) -> tuple[Array, float]:
    """(a bound at every order, one of the pure cost of the table really drawn); each of `last_orders` is the end of a region."""
    changes = directions((0, steps), unit_rows)
    moved_sum, moved_rows = (max(abs(change[side]) for change in changes) for side in (0, 1))

    def region(reach: float) -> Region:
        extra, spill = reach * moved_rows, reach * (moved_sum + moved_rows * steps)
        return Region(0.0, float(steps), people - extra, people * unit_rows + extra, spill)

    span = max(float(np.ptp(grid.change(change))) for change in changes)
    tops = np.full(len(REACHES), span**2 / 4)
    wanted = sorted({order - 1 for order in (*_FIRST_ORDERS, *last_orders) if 2 <= order <= max(last_orders)})
    wanted = [reach for reach in wanted if region(reach).rows_low >= _ROWS_LEFT * people]
    if not wanted:
        return weighted_means(tops), chernoff(tops, grid.size)
    seen = [scan_variance(grid, changes, region(0.0))]
    ceilings = CurvatureMap(grid, changes, region(wanted[-1]), seen, TOLERANCE, WORK_MAX)
    for reach in wanted:
        there = region(reach)
        slack = rounding_factor(grid, there.rows_high * steps + there.spill, there.rows_high)
        top = ceilings.supremum(there) * slack
        if np.isfinite(top):
            tops[REACHES.index(reach)] = min(top, span**2 / 4)
    return weighted_means(tops), chernoff(tops, grid.size)
