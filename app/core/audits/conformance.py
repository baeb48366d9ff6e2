"""Whether draws have the law they are said to have: Pearson's test on cells of at least 20 expected draws.

For synthetic data only: of a real release the p-value would be a function of private data. It is blind inside a cell, and no
δ of 10⁻⁶ was ever supported by counting: exact certificates are for that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELL_LEAST = 20.0


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


def _pooled(counts: Array, expected: Array) -> tuple[Array, Array]:
    reached = np.floor(np.cumsum(expected) / CELL_LEAST).astype(np.int64)
    starts = np.r_[0, np.flatnonzero(np.diff(reached) > 0) + 1]
    starts = starts[starts < len(expected)]
    pooled = [np.add.reduceat(each, starts) for each in (counts, expected)]
    if len(starts) > 1 and pooled[1][-1] < CELL_LEAST:
        pooled = [np.r_[each[:-2], each[-2] + each[-1]] for each in pooled]
    return pooled[0], pooled[1]
