"""log p(R|t) at as many sums as it takes to read it between them, and where p(t)·p(R|t) is worth looking at.

Cells are halved until a straight line says what the middle does. Only cells whose ends come within e^{−CUT} of the largest
p(t)·p(R|t) are: with one peak it lies beside the best node, and other peaks, which the sampler's uniform share can make, are
hinted at. p(t) is sized up as sup_φ of prior times law, enough to tell where to look.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw

Array = NDArray[np.float64]

CUT = 42.0
STRAIGHT = 0.01
_COARSE = 97
_ROUNDS = 60
_NODES_MAX = 6_000
_REACH = 12.0


@dataclass(frozen=True, slots=True)
class LikelihoodTable:
    """Sums in increasing order, log p(R|t) at each; all that counts lies between the first and the last."""

    totals: Array
    log_likelihood: Array
    scores: Array
    """log p(t)·p(R|t) at each, p(t) as sized up."""

    @property
    def score(self) -> float:
        """The largest."""
        return float(self.scores.max())

    def at(self, totals: Array) -> Array:
        return np.interp(totals, self.totals, self.log_likelihood)


def likelihood_table(law: RowLaw, measurement: Measurement, rows: int) -> LikelihoodTable:
    last = float(rows * law.model.statistic.steps)
    predictive = predictive_size(law, rows)
    coarse = np.interp(np.linspace(law.depth[0], law.depth[-1], _COARSE), law.depth, rows * law.mean)
    hints = np.concatenate([[0.0, last], coarse, measurement.hints(rows)])
    totals = np.unique(np.rint(hints).clip(0, last))
    heights = measurement.log_likelihood(totals, rows)
    straight = np.zeros(len(totals) - 1, dtype=np.int64)
    """How many times in a row a cell's middle was on the line; twice is enough."""
    for _ in range(_ROUNDS):
        scores = heights + np.interp(totals, rows * law.mean, predictive)
        near = scores >= scores.max() - CUT
        open_cells = (near[:-1] | near[1:]) & (np.diff(totals) > 1) & (straight < 2)
        if not open_cells.any() or len(totals) > _NODES_MAX:
            break
        totals, heights, straight = _halved(measurement, rows, totals, heights, straight, open_cells)
    scores = heights + np.interp(totals, rows * law.mean, predictive)
    kept = np.flatnonzero(scores >= scores.max() - CUT)
    inside = slice(max(0, kept[0] - 1), kept[-1] + 2)
    return LikelihoodTable(totals[inside], heights[inside], scores[inside])


def predictive_size(law: RowLaw, rows: int) -> Array:
    """sup over φ' of log prior(φ') − (distance)²/2 at each probe, distance in sds of the sum."""
    depth, weight = np.sqrt(rows) * law.depth, law.log_weight
    found = weight.copy()
    reach = int(np.searchsorted(depth, depth[0] + _REACH)) if len(depth) > 1 else 0
    for shift in range(1, min(max(reach, 1), len(depth) - 1)):
        apart = (depth[shift:] - depth[:-shift]) ** 2 / 2
        found[shift:] = np.maximum(found[shift:], weight[:-shift] - apart)
        found[:-shift] = np.maximum(found[:-shift], weight[shift:] - apart)
    return found


def _halved(
    measurement: Measurement,
    rows: int,
    totals: Array,
    heights: Array,
    straight: NDArray[np.int64],
    open_cells: NDArray[np.bool_],
) -> tuple[Array, Array, NDArray[np.int64]]:
    left = np.flatnonzero(open_cells)
    middles = np.floor((totals[left] + totals[left + 1]) / 2)
    found = measurement.log_likelihood(middles, rows)
    line = np.abs(found - np.interp(middles, totals, heights)) < STRAIGHT
    passed = np.where(line, straight[left] + 1, 0)
    straight = straight.copy()
    straight[left] = passed
    return (
        np.insert(totals, left + 1, middles),
        np.insert(heights, left + 1, found),
        np.insert(straight, left + 1, passed),
    )
