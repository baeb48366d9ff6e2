"""Figures of one block for every way a person's rows can move its counts: their names, and where they are kept."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]
Direction = tuple[int, int]

REMOVE: tuple[Direction, Direction] = ((-1, 0), (0, -1))
ADD: tuple[Direction, Direction] = ((1, 0), (0, 1))
SWAP: tuple[Direction, Direction] = ((-1, 1), (1, -1))
"""By the side (success, failure) an observation leaves or enters; a swap by the side it leaves."""
DIRECTIONS = (*REMOVE, *ADD, *SWAP)

KL, PURE, RANGE, DISTANCE = 0, len(ORDERS) + 1, len(ORDERS) + 2, len(ORDERS) + 3
CURVE = slice(1, len(ORDERS) + 1)
COLUMNS = len(ORDERS) + 4
"""A row of figures: KL, every order, pure, range of b, total variation distance. All of them add over blocks."""


@lru_cache(maxsize=64)
def moves(unit_rows: int) -> tuple[Direction, ...]:
    """Every change of (s, f) that replacing up to `unit_rows` rows by as many others can make, but none."""
    if unit_rows == 1:
        return DIRECTIONS
    steps = range(-unit_rows, unit_rows + 1)
    return tuple((p, q) for p in steps for q in steps if (p, q) != (0, 0) and abs(p + q) <= unit_rows)


@dataclass(frozen=True, slots=True)
class BlockTerms:
    """`rows[i]` are the figures of `moves(unit_rows)[i]`; `by_total[t]`, where every pair of counts was visited, are those of
    at most t observations before the move: blocks of one node share the rows there are. In a block of `every_row` there
    is nothing to share. For one row a person `by_pair[s, f]` are the figures at just these counts before;
    `by_group[g]` those of totals in a group (`drawn_cost.py:total_groups`), `by_successes[s]` those of s in a block of
    `every_row`."""

    rows: Array
    exact: bool
    grid_points: int
    unit_rows: int = 1
    by_total: Array | None = None
    every_row: bool = False
    by_pair: Array | None = None
    by_group: Array | None = None
    by_successes: Array | None = None

    def of(self, direction: Direction) -> Array:
        row: Array = self.rows[moves(self.unit_rows).index(direction)]
        return row


def range_figures(reach: float) -> Array:
    """Of any mechanism whose log-ratio between neighbours has this range."""
    row = np.empty(COLUMNS)
    row[KL], row[CURVE] = min(reach, reach**2 / 8), np.minimum(reach, np.array(ORDERS) * reach**2 / 8)
    row[PURE], row[RANGE], row[DISTANCE] = reach, reach, math.tanh(reach / 4)
    return row
