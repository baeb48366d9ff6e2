"""How accurate a release can be expected to be, from public numbers only: averages over the prior, no data.

For θ from the prior and data from the model, in the usual large-sample form,

    baps      Var = 1/(1/v₀ + τ·I)           (the spread of the tempered posterior),      and Var/N for drawing N samples
    laplace   Var = 1/(1/v₀ + (nμ')²/(nσ² + 2b²))   (noise of variance about 2b² beside the data's own nσ²)

with v₀ the prior's variance, I = n·μ'²/σ² the information of n records, μ and σ² the mean and variance of T.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.mechanisms.baps import Baps
from app.core.mechanisms.laplace import Laplace
from app.core.mechanisms.map_point import MapPoint
from app.core.mechanisms.mechanism import Mechanism
from app.core.mechanisms.noise_aware import noise_scale

Array = NDArray[np.float64]

PRIOR_POINTS = 65


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Standard deviations in units of the parameter.

    `posterior_sd` is the spread the samples show, `sampling_sd` what drawing only N of them adds to their mean, and
    `total_sd` the error to expect of that mean as an estimate of θ.
    """

    posterior_sd: float
    sampling_sd: float
    total_sd: float


def expected_accuracy(model: Model, mechanism: Mechanism, people: int) -> Accuracy:
    """People are taken to bring one row each."""
    prior_variance, slope, variance = _prior_moments(model)
    if isinstance(mechanism, Laplace):
        steps = model.statistic.steps
        noise = 2 * (noise_scale(steps, mechanism.epsilon) * model.statistic.step) ** 2
        information = (people * slope) ** 2 / (people * variance + noise)
        return _accuracy(information, information, prior_variance, mechanism.samples)
    information = people * slope**2 / variance
    power = mechanism.temperature if isinstance(mechanism, Baps) else 1.0
    if isinstance(mechanism, MapPoint):
        power = map_power(model, mechanism, people)
    return _accuracy(information, power * information, prior_variance, mechanism.samples)


def _accuracy(own: Array, shown: Array, prior_variance: float, samples: int) -> Accuracy:
    """`own` is the information in what was computed from, `shown` that of the distribution samples come from.

    A tempered posterior is wider than the data deserve but centred as well as the full one.
    """
    centre = float((1 / (1 / prior_variance + own)).mean())
    spread = float((1 / (1 / prior_variance + shown)).mean())
    return Accuracy(math.sqrt(spread), math.sqrt(spread / samples), math.sqrt(centre + spread / samples))


def map_power(model: Model, mechanism: MapPoint, people: int) -> float:
    """The power on the likelihood that the log-density score amounts to."""
    grid = model.grid(people, 1.0)
    low, high = model.statistic_range
    return mechanism.epsilon / float(np.ptp(grid.change((high - low, 0))))


@lru_cache(maxsize=256)
def _prior_moments(model: Model) -> tuple[float, Array, Array]:
    """The prior's variance, then (dE[T]/dθ, Var T) of one record at its quantiles. A plan asks for dozens of figures.

    E[T] = A'/η', and its derivative over η' is the variance.
    """
    theta, prior_variance = _prior_points(model)
    variance = model.sums.sd(theta, 1) ** 2
    return prior_variance, np.abs(variance * model.eta.slope(theta)), variance


def _prior_points(model: Model) -> tuple[Array, float]:
    grid = model.grid(1, 1.0)
    weight = np.exp(grid.log_prior - grid.log_prior.max())
    weight /= weight.sum()
    mean = float((weight * grid.theta).sum())
    variance = float((weight * (grid.theta - mean) ** 2).sum())
    order = np.argsort(grid.theta)
    levels = (np.arange(PRIOR_POINTS) + 0.5) / PRIOR_POINTS
    chosen = np.searchsorted(np.cumsum(weight[order]), levels)
    return grid.theta[order][np.minimum(chosen, grid.size - 1)], variance
