"""Many noisy sums at once: rows of every family from numpy's samplers, and the noise integrated out on a mesh.

A second implementation of `app/core/kinds/one_parameter/noise_aware.py`: the law of the sum on an even mesh, convolved with
e^{−|z|/b} by two recursive filters, read between mesh points. One mesh serves thousands of noisy sums.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from app.core.grids.public_grid import PublicGrid
from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import Model
from app.core.schema import parse_columns

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Source = np.random.Generator

_REACH_SDS = 9.0
_COLUMNS = 64


@dataclass(frozen=True)
class Rows:
    """A family on a column whose bounds hardly clip, and `draw(source, θ, shape)`, rows of it from numpy."""

    column: Mapping[str, Any]
    draw: Callable[[Source, Array, tuple[int, int]], Array]
    known: Mapping[str, Any] = field(default_factory=dict)
    trim: Any = None

    def model(self, family: str) -> Model:
        spec = {"family": family, "column": "x", **self.known}
        return parse_model(spec if self.trim is None else spec | {"trim": self.trim}, parse_columns({"x": self.column}))


def _count(upper: int) -> dict[str, Any]:
    return {"type": "integer", "lower": 0, "upper": upper}


def _real(lower: float, upper: float) -> dict[str, Any]:
    return {"type": "real", "lower": lower, "upper": upper}


def _ends(lower: float, upper: float) -> dict[str, float]:
    return {"lower": lower, "upper": upper}


ROWS: dict[str, Rows] = {
    "bernoulli": Rows({"type": "binary"}, lambda s, p, shape: s.binomial(1, p, shape)),
    "binomial": Rows(_count(4), lambda s, p, shape: s.binomial(4, p, shape), {"trials": 4}),
    "geometric": Rows(_count(40), lambda s, p, shape: s.geometric(p, shape) - 1.0, trim=0.2),
    "negative_binomial": Rows(
        _count(60), lambda s, p, shape: s.negative_binomial(2.5, p, shape), {"successes": 2.5}, 0.2
    ),
    "poisson": Rows(_count(16), lambda s, rate, shape: s.poisson(rate, shape), trim=_ends(1, 4)),
    "exponential": Rows(_real(0, 50), lambda s, rate, shape: s.exponential(1 / rate, shape), trim=_ends(0.3, 4)),
    "gamma": Rows(_real(0, 50), lambda s, rate, shape: s.gamma(2.25, 1 / rate, shape), {"shape": 2.25}, _ends(0.5, 5)),
    "weibull": Rows(
        _real(0, 10), lambda s, rate, shape: rate ** (-1 / 1.5) * s.weibull(1.5, shape), {"shape": 1.5}, _ends(0.5, 4)
    ),
    "pareto": Rows(_real(1, 1e4), lambda s, tail, shape: 1 + s.pareto(tail, shape), {"scale": 1}, _ends(1.5, 10)),
    "laplace": Rows(
        _real(-20, 20), lambda s, rate, shape: s.laplace(0.5, 1 / rate, shape), {"location": 0.5}, _ends(0.7, 6)
    ),
    "normal_precision": Rows(
        _real(-20, 20), lambda s, rate, shape: s.normal(0.5, rate**-0.5, shape), {"mean": 0.5}, _ends(0.08, 1)
    ),
    "normal_mean": Rows(_real(-15, 15), lambda s, mean, shape: s.normal(mean, 2.0, shape), {"sd": 2}, _ends(-5, 5)),
}


def discrete_laplace(source: Source, scale: float, count: int) -> Whole:
    """A difference of two geometric numbers."""
    success = -math.expm1(-1 / scale)
    draws: Whole = source.geometric(success, count) - source.geometric(success, count)
    return draws


def prior_draws(source: Source, model: Model, count: int) -> Array:
    """From the trimmed prior, by inverting its distribution on a fine mesh."""
    mesh = np.linspace(model.parameter.lower, model.parameter.upper, 200_001)
    density = np.exp(model.prior.log_density.at(mesh))
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.asarray(np.interp(source.random(count), cumulative / cumulative[-1], mesh))


def lattice_sums(model: Model, column: Mapping[str, Any], rows: Array) -> Whole:
    """Σ over rows (the first axis) of T, clipped and rounded row by row, in lattice steps."""
    sums: Whole = lattice_steps(model, column, rows).sum(axis=0)
    return sums


def lattice_steps(model: Model, column: Mapping[str, Any], rows: Array) -> Whole:
    x = rows if column["type"] == "binary" else rows.clip(column["lower"], column["upper"])
    request = model.statistic
    transforms: dict[str, Callable[[Array], Array]] = {
        "identity": lambda x: x,
        "absolute": lambda x: np.abs(x - request.anchor),
        "square": lambda x: (x - request.anchor) ** 2 / 2,
        "power": lambda x: x**request.anchor,
        "log_ratio": lambda x: np.log(x / request.anchor),
    }
    steps = np.floor((transforms[request.transform](x) - request.lower) / request.step + 0.5)
    return np.asarray(steps.clip(0, request.steps).astype(np.int64))


def noisy_likelihoods(model: Model, theta: Array, people: int, noisy: Whole, scale: float) -> Array:
    """log Σ_t p(t|θ)·e^{−|t̃−t|/b}, one row for each noisy sum, up to a constant in each row.

    Beyond the mesh, which holds the law of every θ, the noise only scales the whole likelihood.
    """
    step, origin = model.statistic.step, people * model.statistic.lower
    mean, sd = (np.asarray(of(theta, people)) / step for of in (model.sums.mean, model.sums.sd))
    apart = min(sd.min() / 6, max(scale / 5, sd.min() / 12))
    apart = max(1.0, np.floor(apart)) if model.sums.discrete else apart
    low, high = (mean - _REACH_SDS * sd).min() - origin / step, (mean + _REACH_SDS * sd).max() - origin / step
    if model.sums.kind != "normal":
        low = max(low, -origin / step)
    mesh = np.floor(low) + apart * np.arange(math.ceil((high - low) / apart) + 1)
    place = np.clip((noisy - mesh[0]) / apart, 0, len(mesh) - 1.001)
    left = place.astype(np.int64)
    share = (place - left)[:, None]
    keep = math.exp(-apart / scale)
    found = []
    for start in range(0, len(theta), _COLUMNS):
        law = np.exp(model.sums.log_density(origin + step * mesh[:, None], theta[start : start + _COLUMNS], people))
        ahead = lfilter([1.0], [1.0, -keep], law, axis=0)
        behind = lfilter([1.0], [1.0, -keep], law[::-1], axis=0)[::-1]
        both = np.log(ahead + behind - law + 1e-300)
        found.append((1 - share) * both[left] + share * both[left + 1])
    return np.concatenate(found, axis=1)


def covers(
    model: Model, grid: PublicGrid, log_likelihood: Array, truth: Array, level: float = 0.9
) -> NDArray[np.bool_]:
    """Whether the central interval of each row's posterior holds its truth, mass spread evenly in φ over each cell."""
    log_w = grid.log_prior + log_likelihood
    masses = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    masses = masses if grid.theta[0] < grid.theta[-1] else masses[:, ::-1]
    cumulative = np.cumsum(masses, axis=1)
    first, last = (model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper))
    place = np.array([model.spacing.forward(one) for one in truth.tolist()])
    place = ((place - first) / (last - first) * grid.size).clip(0, grid.size - 1e-9)
    cell = place.astype(np.int64)[:, None]
    within = np.take_along_axis(masses, cell, axis=1)[:, 0]
    below = np.take_along_axis(cumulative, cell, axis=1)[:, 0] - within * (1 - (place - cell[:, 0]))
    return np.asarray(np.abs(below / cumulative[:, -1] - 0.5) <= level / 2)
