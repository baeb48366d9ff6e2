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
from app.core.kinds.one_parameter.beliefs.clipped_row import ClippedRow, Moments, clipped_row, log_three_moments
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
        """(φ, totals): the log probability that `rows` rows sum to so many steps; totals may be others for every φ."""
        theta = self.prior.theta(phi)
        clipped = self.row.rounded | (rows * self.row.clipped(theta) > SELDOM)
        found = np.empty((len(phi), totals.shape[-1]))
        if not clipped.all():
            chosen = totals if totals.ndim == 1 else totals[~clipped]
            found[~clipped] = self._family(chosen, theta[~clipped], rows)
        if clipped.any():
            chosen = totals if totals.ndim == 1 else totals[clipped]
            mean, variance, third = self.moments(phi[clipped], rows)
            found[clipped] = log_three_moments(chosen, mean, variance, third)
        return found

    def moments(self, phi: Array, rows: int) -> Moments:
        """Of the sum."""
        mean, variance, third = self.row.at(phi, self.prior.theta(phi))
        return rows * mean, np.maximum(rows * variance, SPREAD_MIN**2), rows * third

    def _family(self, totals: Array, theta: Array, rows: int) -> Array:
        """One θ's law serves all at shared totals: the others differ by (η − η₀)·T − m·(A − A₀)."""
        model, request = self.model, self.model.statistic
        values = rows * request.lower + request.step * totals
        if totals.ndim == 1:
            middle = theta[len(theta) // 2]
            eta, partition = (form.at(np.append(theta, middle)) for form in (model.eta, model.partition))
            moved = np.outer(eta[:-1] - eta[-1], values) - rows * (partition[:-1] - partition[-1])[:, None]
            density = model.sums.log_density(values, np.array(middle), rows) + moved
        else:
            density = model.sums.log_density(values, theta[:, None], rows)
        return np.asarray(density if model.sums.discrete else density + np.log(request.step))


@lru_cache(maxsize=64)
def row_law(model: NaturalModel, probes: int = PROBES) -> RowLaw:
    """Probes tell where to look, and nothing else: a law of many groups does with fewer."""
    prior = untrimmed(model)
    edges = np.linspace(prior.first, prior.last, probes + 1)
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
