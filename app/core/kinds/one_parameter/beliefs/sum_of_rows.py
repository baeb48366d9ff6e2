"""The law of the statistic itself given θ: the sum over the rows of T, clipped and rounded row by row, in lattice steps.

Where no row is clipped (fewer than one dataset in a thousand has one) and rounding does not show, it is the family's own law;
otherwise the shifted gamma law with the same three moments, which needs rows enough.

`depth` is a coordinate in which that law has sd 1 everywhere, d depth = d mean/sd: nodes and windows are even in it. For m rows
it is √m times that of one row.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.beliefs.clipped_row import ClippedRow, clipped_row, log_three_moments
from app.core.kinds.one_parameter.beliefs.untrimmed import Untrimmed, untrimmed
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

PROBES = 2_048
ROWS_MIN = 30
"""For three moments to do."""
SELDOM = 1e-3
SPREAD_MIN = 0.5
"""Steps: below, the sum is one whole number as good as surely."""


@dataclass(frozen=True, slots=True)
class RowLaw:
    """One row at probes of φ across the untrimmed range, in increasing order of its mean, in steps of the lattice."""

    prior: Untrimmed
    row: ClippedRow
    phi: Array = field(repr=False)
    mean: Array = field(repr=False)
    depth: Array = field(repr=False)
    log_weight: Array = field(repr=False)
    clipped: float
    """The share of rows that is clipped, on average over the prior."""

    @property
    def model(self) -> NaturalModel:
        return self.prior.model

    def check(self, rows: int) -> None:
        """Raises CalibratedUnavailable where this law would not be right."""
        if rows < ROWS_MIN and (self.row.rounded or rows * self.clipped > 0.01):
            raise CalibratedUnavailable(
                f"rows may lie beyond the column's bounds or between its steps, and with fewer than {ROWS_MIN} of them the "
                "law of their sum is not known well enough"
            )

    def log_sum(self, totals: Array, phi: Array, rows: int) -> Array:
        """(φ, totals): the log probability that `rows` rows sum to so many steps."""
        theta = self.prior.theta(phi)
        clipped = self.row.rounded | (rows * self.row.clipped(theta) > SELDOM)
        found = np.empty((len(phi), len(totals)))
        if not clipped.all():
            found[~clipped] = self._family(totals, theta[~clipped], rows)
        if clipped.any():
            mean, variance, third = self.row.at(phi[clipped], theta[clipped])
            spread = np.maximum(rows * variance, SPREAD_MIN**2)
            found[clipped] = log_three_moments(totals, rows * mean, spread, rows * third)
        return found

    def _family(self, totals: Array, theta: Array, rows: int) -> Array:
        request = self.model.statistic
        values = rows * request.lower + request.step * totals
        density = self.model.sums.log_density(values, theta[:, None], rows)
        return density if self.model.sums.discrete else density + np.log(request.step)


@lru_cache(maxsize=64)
def row_law(model: NaturalModel) -> RowLaw:
    prior = untrimmed(model)
    edges = np.linspace(prior.first, prior.last, PROBES + 1)
    phi = (edges[:-1] + edges[1:]) / 2
    row = clipped_row(model, edges[[0, -1]], prior.theta)
    mean, variance, _ = row.at(phi, prior.theta(phi))
    if mean[0] > mean[-1]:
        phi, mean, variance = phi[::-1], mean[::-1], variance[::-1]
    mean = np.maximum.accumulate(mean)
    sd = np.sqrt(np.maximum(variance, 1e-12))
    steps = np.diff(mean) * (1 / sd[1:] + 1 / sd[:-1]) / 2
    depth = np.concatenate([[0.0], np.cumsum(steps)])
    log_weight = prior.log_weight(phi)
    weight = np.exp(log_weight - log_weight.max())
    clipped = float(weight @ row.clipped(prior.theta(phi)) / weight.sum())
    return RowLaw(prior, row, phi, mean, depth, log_weight, clipped)
