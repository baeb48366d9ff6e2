"""Whether draws have the law they are said to have: Pearson's test on cells of at least 20 expected draws.

For synthetic data only: of a real release the p-value would be a function of private data. It is blind inside a cell, and no
δ of 10⁻⁶ was ever supported by counting: exact certificates are for that.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELL_LEAST = 20.0
LEVEL, POWER = 1e-3, 0.99


@dataclass(frozen=True, slots=True)
class Conformance:
    statistic: float
    cells: int
    p_value: float


def pearson(counts: NDArray[np.int64], law: Array) -> Conformance:
    """Neighbouring outputs are pooled until each cell expects enough."""
    from scipy.special import chdtrc  # not at start

    draws = int(counts.sum())
    observed, expected = _pooled(counts.astype(np.float64), law / law.sum() * draws)
    found = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    return Conformance(found, len(expected), 1.0 if freedom < 1 else float(chdtrc(freedom, found)))


def least_distance(cells: int, draws: int, level: float = LEVEL, power: float = POWER) -> float:
    """The total variation that so many draws would have found with that probability, were it spread over equal cells.

    Pearson's statistic is then about a noncentral χ² with 4·draws·TV² for its noncentrality.
    """
    from scipy.special import chdtri, chndtrinc

    freedom = max(1, cells - 1)
    return math.sqrt(float(chndtrinc(chdtri(freedom, level), freedom, 1 - power)) / (4 * draws))


def _pooled(counts: Array, expected: Array) -> tuple[Array, Array]:
    """Neighbours together until each cell expects enough; what is left at the end goes to the last."""
    starts, held = [0], 0.0
    for place, value in enumerate(expected.tolist()):
        if held >= CELL_LEAST:
            starts.append(place)
            held = 0.0
        held += value
    if held < CELL_LEAST and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)
