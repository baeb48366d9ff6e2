"""Laws of losses above every pair of neighbours whose tables are at hand, a few for pairs that are alike.

One law for all pairs would do (`grid_laws.py`), but one pair may be the worst in its middle and another in its tail. Pairs are
told apart by the direction of the change and by where the sum lies: sixteen laws, of which the largest ε holds.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.losses.composed import ComposedLaw
from app.core.privacy.losses.grid_laws import LossGrid
from app.core.privacy.neighbours import Neighbours, by_change, others_of

Array = NDArray[np.float64]
Places = NDArray[np.int64]

BANDS = 8
WORK_MAX = 16_000_000
"""Pairs times points, of the parameter's grid and of the losses': some 0.5 s."""
POINTS_LEAST = 64
STEPS_PER_SD = 10
"""Sharing adds at most h²/4 to the variance of a draw: a quarter of a percent."""
STEPS_LEAST, STEPS_MAX = 150, 1_500
"""Of a grid of losses, as there is room for."""
_CHUNK = 150_000


def laws_of_pairs(neighbours: Neighbours, log_q: Array) -> list[ComposedLaw] | None:
    """`log_q`: a row to each dataset in the order of `neighbours`; None where that is too much work, or nothing is told apart."""
    room = WORK_MAX // pair_count(neighbours) - log_q.shape[1]
    if room < STEPS_LEAST:
        return None
    mass = np.exp(log_q)
    furthest, variance = _spread(neighbours, log_q, mass)
    if not (furthest > 0 and variance > 0):
        return None
    step = max(math.sqrt(variance) / STEPS_PER_SD, 2 * furthest / min(STEPS_MAX, room))
    grid = LossGrid.reaching(furthest, step)
    each = log_q.shape[1] + grid.count
    largest: dict[tuple[bool, int], Array] = {}
    for upward, here, there in _chunks(neighbours, each):
        bands = here * BANDS // len(log_q)
        profile = grid.profile(grid.beyond(log_q[here] - log_q[there], mass[here]))
        for band in np.unique(bands):
            found = profile[bands == band].max(axis=0)
            known = largest.get((upward, int(band)))
            largest[upward, int(band)] = found if known is None else np.maximum(known, found)
    return [ComposedLaw(grid, grid.above(profile)) for profile in largest.values()]


def _spread(neighbours: Neighbours, log_q: Array, mass: Array) -> tuple[float, float]:
    """(the largest loss, the largest E L²) of any pair."""
    furthest = variance = 0.0
    for _, here, there in _chunks(neighbours, log_q.shape[1]):
        losses = log_q[here] - log_q[there]
        furthest = max(furthest, float(np.abs(losses).max()))
        variance = max(variance, float(np.einsum("ij,ij,ij->i", losses, losses, mass[here]).max()))
    return furthest, variance


def too_many(neighbours: Neighbours) -> bool:
    """Whatever their tables are."""
    return pair_count(neighbours) * POINTS_LEAST > WORK_MAX


def pair_count(neighbours: Neighbours) -> int:
    """About how many: every dataset with every change but none."""
    rows = 2 * neighbours.unit_rows - 1
    return neighbours.count * (rows * (2 * neighbours.unit_rows * neighbours.steps + 1) - 1)


def epsilon_of(laws: list[ComposedLaw], draws: int, delta: float) -> float:
    """Of the worst of them: first those whose curve says most, the others only while it says more than was found."""
    bounds = [law.by_moments(draws, delta)[0] for law in laws]
    found = 0.0
    for place in np.argsort(bounds)[::-1]:
        if bounds[place] > found:
            found = max(found, laws[place].epsilon(draws, delta))
    return found


def _chunks(neighbours: Neighbours, each: int) -> Iterator[tuple[bool, Places, Places]]:
    """Pairs of one direction, so many that arrays of `each` numbers a pair stay in a processor's cache."""
    size = max(1, _CHUNK // each)
    for upward, first, second in _pairs(neighbours):
        for start in range(0, len(first), size):
            yield upward, first[start : start + size], second[start : start + size]


def _pairs(neighbours: Neighbours) -> Iterator[tuple[bool, Places, Places]]:
    """(whether the sum rises, places of datasets, places of their neighbours)."""
    for rows in neighbours.rows:
        t = np.arange(neighbours.steps * rows + 1)
        for other in others_of(neighbours, rows):
            reached = neighbours.reached(t, rows, other)
            if reached is None:
                continue
            for here, there in by_change(t, *reached):
                if len(here) and (rows != other or here[0] != there[0]):
                    yield bool(there[0] > here[0]), neighbours.first(rows) + here, neighbours.first(other) + there
