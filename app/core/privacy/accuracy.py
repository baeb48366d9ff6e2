"""How accurate a release can be expected to be, from public numbers only.

For parameters drawn from the prior and data drawn from the model, the posterior sd averaged over the prior; the
error that drawing N samples adds to a posterior mean is sd/√N. Nothing here has seen data (PRIVACY §8).
"""

import math
from dataclasses import dataclass

import numpy as np

from app.core.families.exponential import ExponentialModel
from app.core.privacy.windows import posterior_windows

PRIOR_POINTS = 33


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Standard deviations in units of the parameter, averaged over the prior."""

    posterior_sd: float
    sampling_sd: float

    @property
    def total_sd(self) -> float:
        return math.hypot(self.posterior_sd, self.sampling_sd)


def expected_accuracy(
    model: ExponentialModel, people: int, unit_rows: int, temperature: float, samples: int
) -> Accuracy:
    """Data are taken at their expectation for prior quantiles; people are taken to bring one row each."""
    grid = model.grid(people * unit_rows, temperature)
    prior = np.exp(grid.log_prior - grid.log_prior.max())
    cumulative = np.cumsum(prior) / prior.sum()
    levels = (np.arange(PRIOR_POINTS) + 0.5) / PRIOR_POINTS
    chosen = np.searchsorted(cumulative, levels)
    rows = np.full(PRIOR_POINTS, float(people))
    windows = posterior_windows(grid, people * grid.mean[chosen], rows, grid.size if grid.size <= 512 else 512)
    p, theta = np.exp(windows.log_p), grid.theta[windows.columns]
    mean = (p * theta).sum(axis=1, keepdims=True)
    variance = float((p * (theta - mean) ** 2).sum(axis=1).mean())
    return Accuracy(math.sqrt(variance), math.sqrt(variance / samples))
