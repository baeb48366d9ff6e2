"""How far a point drawn by `map` lies from the truth, by simulation from public numbers: no data, no randomness.

θ runs over quantiles of the prior and the sum over Gauss–Hermite nodes of its law at each θ, so that

    E[(θ̂ − θ)²] ≈ Σ_θ Σ_t weight·Σ_k q_k(t)·(θ_k − θ)²,   q(t) the table `map` draws from, as doubles,

the inner sum exact. Beyond a window around the peak a posterior has no mass worth adding, but the probability score gives
every such point the weight of a probability of 0: that is added in closed form. So the work does not grow with n. Records
are those of the model, not clipped, one a person; the sampler's share γ of the uniform table is left out (`accuracy.py`).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.kinds.one_parameter.families import Model

Array = NDArray[np.float64]

PRIOR_LEVELS = 24
LAW_NODES = 5
WINDOW = 512
"""Points kept on either side of a peak, of which at least five make up the narrowest standard deviation."""


@dataclass(frozen=True, slots=True)
class PointError:
    """Root mean squared distance of the drawn point from θ, and of it what the drawing alone contributes."""

    total_sd: float
    drawing_sd: float


@dataclass(frozen=True, slots=True)
class _Cases:
    """Simulated truths, their sums in lattice steps, and the weight of each."""

    theta: Array
    total: Array
    weight: Array


@dataclass(frozen=True, slots=True)
class _Windows:
    """Of one grid, for every case: probabilities and points near the peak, and moments of the whole grid."""

    probability: Array
    theta: Array
    points: int
    origin: float
    mean: float
    square: float

    @property
    def width(self) -> int:
        return int(self.probability.shape[1])


def log_density_error(model: Model, people: int, unit_rows: int, power: float) -> PointError:
    """Of a point from prior·likelihood^power."""
    cases, windows = _cases(model, people), _windows(model, people, unit_rows, power)
    mean, variance = _moments(windows.probability, windows.theta)
    return _averaged(cases, variance, (mean - (cases.theta - windows.origin)) ** 2)


def probability_error(model: Model, people: int, unit_rows: int, gain: float) -> PointError:
    """Of a point with weight exp(gain·p_k), p the posterior's probabilities: points outside the window have p = 0."""
    cases, windows = _cases(model, people), _posterior(model, people, unit_rows)
    top = windows.probability.max(axis=1, keepdims=True)
    inside = np.exp(gain * (windows.probability - top))
    mean, variance = _moments(inside, windows.theta)
    truth = cases.theta - windows.origin
    away = windows.points - windows.width
    if not away:
        return _averaged(cases, variance, (mean - truth) ** 2)
    outer_mean = (windows.points * windows.mean - windows.theta.sum(axis=1)) / away
    outer_square = (windows.points * windows.square - (windows.theta**2).sum(axis=1)) / away
    outer_variance = np.maximum(outer_square - outer_mean**2, 0.0)
    outer_weight = away * np.exp(-gain * top[:, 0])
    share = outer_weight / (outer_weight + inside.sum(axis=1))
    both = (1 - share) * mean + share * outer_mean
    spread = (1 - share) * (variance + (mean - both) ** 2) + share * (outer_variance + (outer_mean - both) ** 2)
    return _averaged(cases, spread, (both - truth) ** 2)


def _averaged(cases: _Cases, variance: Array, bias: Array) -> PointError:
    drawing = float((cases.weight * variance).sum())
    return PointError(math.sqrt(drawing + float((cases.weight * bias).sum())), math.sqrt(drawing))


def _moments(weights: Array, values: Array) -> tuple[Array, Array]:
    weights = weights / weights.sum(axis=1, keepdims=True)
    mean = (weights * values).sum(axis=1)
    return mean, (weights * (values - mean[:, None]) ** 2).sum(axis=1)


@lru_cache(maxsize=64)
def _cases(model: Model, people: int) -> _Cases:
    grid = model.grid(1, 1.0)
    mass = np.exp(grid.log_prior - grid.log_prior.max())
    order = np.argsort(grid.theta)
    levels = (np.arange(PRIOR_LEVELS) + 0.5) / PRIOR_LEVELS
    theta = np.interp(levels, np.cumsum(mass[order]) / mass.sum() - mass[order] / (2 * mass.sum()), grid.theta[order])
    nodes, weights = np.polynomial.hermite_e.hermegauss(LAW_NODES)
    truth = np.repeat(theta, LAW_NODES)
    total = model.sums.mean(truth, people) + model.sums.sd(truth, people) * np.tile(nodes, PRIOR_LEVELS)
    steps = np.round((total - people * model.statistic.lower) / model.statistic.step)
    weight = np.tile(weights / weights.sum(), PRIOR_LEVELS) / PRIOR_LEVELS
    return _Cases(truth, np.clip(steps, 0, people * model.statistic.steps), weight)


@lru_cache(maxsize=4)
def _posterior(model: Model, people: int, unit_rows: int) -> _Windows:
    """What the probability score is made of: the same for every ε."""
    return _windows(model, people, unit_rows, 1.0)


def _windows(model: Model, people: int, unit_rows: int, power: float) -> _Windows:
    grid = model.grid(people * unit_rows, power)
    total = _cases(model, people).total
    near = _near_peak(grid, total, people, power)
    exponent = grid.log_prior[near] + power * (grid.eta[near] * total[:, None] - grid.partition[near] * people)
    mass = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    origin = float(grid.theta[grid.size // 2])
    apart = grid.theta - origin
    return _Windows(
        probability=mass / mass.sum(axis=1, keepdims=True),
        theta=apart[near],
        points=grid.size,
        origin=origin,
        mean=float(apart.mean()),
        square=float((apart**2).mean()),
    )


def _near_peak(grid: PublicGrid, total: Array, people: int, power: float) -> NDArray[np.int64]:
    """Indices of a window for each sum; the posterior's peak is where the expected sum, prior records added, is met."""
    width = min(grid.size, 2 * WINDOW + 1)
    peak = np.searchsorted(grid.mean, (power * total + grid.prior_sum) / (power * people + grid.prior_rows))
    start = np.clip(peak - width // 2, 0, grid.size - width)
    return np.asarray(start[:, None] + np.arange(width), dtype=np.int64)
