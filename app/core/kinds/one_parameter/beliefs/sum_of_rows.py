"""The law of the statistic itself given θ: the sum over the rows of T, in lattice steps.

`depth` is a coordinate in which that law has sd 1 everywhere, d depth = d mean/sd: nodes and windows are even in it. For m rows
it is √m times that of one row.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.beliefs.untrimmed import Untrimmed, untrimmed
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

PROBES = 2_048


@dataclass(frozen=True, slots=True)
class RowLaw:
    """One row at probes of φ across the untrimmed range, in increasing order of its mean, in steps of the lattice."""

    prior: Untrimmed
    phi: Array = field(repr=False)
    mean: Array = field(repr=False)
    depth: Array = field(repr=False)
    log_weight: Array = field(repr=False)

    @property
    def model(self) -> NaturalModel:
        return self.prior.model

    def log_sum(self, totals: Array, phi: Array, rows: int) -> Array:
        """(φ, totals): the log probability that `rows` rows sum to so many steps."""
        request = self.model.statistic
        values = rows * request.lower + request.step * totals
        return self.model.sums.log_density(values, self.prior.theta(phi)[:, None], rows)


@lru_cache(maxsize=64)
def row_law(model: NaturalModel) -> RowLaw:
    """Raises CalibratedUnavailable where the law of the clipped sum is not known."""
    prior, request = untrimmed(model), model.statistic
    if model.sums.kind != "binomial":
        raise CalibratedUnavailable(
            "rows beyond the column's bounds are clipped, and the law of clipped sums is not known"
        )
    edges = np.linspace(prior.first, prior.last, PROBES + 1)
    phi = (edges[:-1] + edges[1:]) / 2
    theta = prior.theta(phi)
    mean = (model.sums.mean(theta, 1) - request.lower) / request.step
    sd = model.sums.sd(theta, 1) / request.step
    if mean[0] > mean[-1]:
        phi, mean, sd = phi[::-1], mean[::-1], sd[::-1]
    steps = np.diff(mean) * (1 / sd[1:] + 1 / sd[:-1]) / 2
    depth = np.concatenate([[0.0], np.cumsum(steps)])
    return RowLaw(prior, phi, mean, depth, prior.log_weight(phi))
