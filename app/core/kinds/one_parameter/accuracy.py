"""How accurate a release can be expected to be, from public numbers only: averages over the prior, no data.

One measure for every mechanism: the root mean squared error of the *mean answer* (the mean of the released samples, what
`squared` responds) as an estimate of θ, with θ from the prior and data from the model. In the usual large-sample form, with
P = 1/v₀ the prior's precision and I = n·μ'²/σ² the information of n records (μ, σ² the mean and variance of T),

    baps      (P + τ²I)/(P + τI)²  +  1/(P + τI)/N        the tempered posterior's centre shrinks more; N draws of it
    laplace   1/(P + J)  +  1/(P + J)/N,   J = (nμ')²/(nσ² + w)     w the variance of the noise beside the data's own nσ²
    gaussian  the same

`map` has no such form and is simulated (`map_simulation.py`). The share γ = 2⁻²⁴ that the sampler keeps for every point is
left out: a draw in sixteen million would otherwise decide the figure for a hundred million people.

That is about the samples as they are. What calibrated answers will show is `calibrated_sd` (`calibrated_accuracy.py`).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.mechanism_fields import AUTO_SCORE, SCORES
from app.core.kinds.one_parameter.calibrated_accuracy import (
    drawn_calibrated_sd,
    noise_calibrated_sd,
    noise_variance,
    scored_calibrated_sd,
    tempered_calibrated_sd,
)
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Mechanism
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.gaussian import Gaussian
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint, likelihood_power, score_error
from app.errors import NumericalFailure

Array = NDArray[np.float64]

PRIOR_POINTS = 65


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Standard deviations in units of the parameter.

    `posterior_sd` is the spread the samples show, `sampling_sd` what drawing only N of them adds to the error of their
    mean, and `total_sd` that error. `limit_sd` is what `total_sd` falls to when more samples cost nothing; where samples are
    paid for, or there is only one, it is `total_sd` itself. `calibrated_sd` is the expected sd of the calibrated posterior.
    """

    posterior_sd: float
    sampling_sd: float
    total_sd: float
    limit_sd: float
    calibrated_sd: float


def expected_accuracy(model: Model, mechanism: Mechanism, people: int, unit_rows: int = 1) -> Accuracy:
    """People are taken to bring one row each. Raises NumericalFailure for a mechanism without a known error."""
    if isinstance(mechanism, MapPoint):
        return _point_accuracy(model, mechanism, people, unit_rows)
    if isinstance(mechanism, Laplace | Gaussian):
        return _noise_accuracy(model, mechanism, people, unit_rows)
    if not isinstance(mechanism, Baps):
        raise NumericalFailure(f"the error of a {mechanism.kind} release is not known")
    prior = _prior_moments(model)
    power, information = mechanism.temperature, people * prior.slope**2 / prior.variance
    shown = prior.precision + power * information
    centre = float(((prior.precision + power**2 * information) / shown**2).mean())
    spread = float((1 / shown).mean())
    sampling = spread / mechanism.samples
    total = math.sqrt(centre + sampling)
    calibrated = drawn_calibrated_sd(model, mechanism, people, unit_rows)
    return Accuracy(math.sqrt(spread), math.sqrt(sampling), total, total, calibrated)


def _noise_accuracy(model: Model, mechanism: Laplace | Gaussian, people: int, unit_rows: int) -> Accuracy:
    prior, step = _prior_moments(model), model.statistic.step
    noise = float(noise_variance(model, mechanism, unit_rows).mean()) * step**2
    information = (people * prior.slope) ** 2 / (people * prior.variance + noise)
    spread = float((1 / (prior.precision + information)).mean())
    sampling = spread / mechanism.samples
    calibrated = noise_calibrated_sd(model, mechanism, people, unit_rows)
    return Accuracy(math.sqrt(spread), math.sqrt(sampling), math.sqrt(spread + sampling), math.sqrt(spread), calibrated)


def _point_accuracy(model: Model, point: MapPoint, people: int, unit_rows: int) -> Accuracy:
    scores = SCORES if point.score == AUTO_SCORE else (point.score,)
    errors = {score: score_error(score, model, point.epsilon, people, unit_rows, point.law) for score in scores}
    best = min(scores, key=lambda score: errors[score].total_sd)
    chosen = errors[best]
    if best == "log_density":
        power = likelihood_power(model, point.epsilon, people, unit_rows)
        calibrated = tempered_calibrated_sd(model, 1, power, people, unit_rows)
    else:
        calibrated = scored_calibrated_sd(model, people, chosen.drawing_sd)
    return Accuracy(chosen.drawing_sd, chosen.drawing_sd, chosen.total_sd, chosen.total_sd, calibrated)


@dataclass(frozen=True, slots=True)
class _PriorMoments:
    """The prior's precision, and (dE[T]/dθ, Var T) of one record at its quantiles."""

    precision: float
    slope: Array
    variance: Array


@lru_cache(maxsize=256)
def _prior_moments(model: Model) -> _PriorMoments:
    """A plan asks for dozens of figures. E[T] = A'/η', and its derivative over η' is the variance."""
    grid = model.grid(1, 1.0)
    weight = np.exp(grid.log_prior - grid.log_prior.max())
    weight /= weight.sum()
    mean = float((weight * grid.theta).sum())
    spread = float((weight * (grid.theta - mean) ** 2).sum())
    order = np.argsort(grid.theta)
    levels = (np.arange(PRIOR_POINTS) + 0.5) / PRIOR_POINTS
    chosen = np.searchsorted(np.cumsum(weight[order]), levels)
    theta = grid.theta[order][np.minimum(chosen, grid.size - 1)]
    variance = model.sums.sd(theta, 1) ** 2
    return _PriorMoments(1 / spread, np.abs(variance * model.eta.slope(theta)), variance)
