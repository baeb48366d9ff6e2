"""How wide the calibrated posterior will be on average over the prior: what `auto` compares mechanisms by. No data.

Whatever is published measures the sum t of n rows with some variance w of its own, so that with P the prior's precision, μ and
σ² the mean and variance of a row as it is summed,

    sd(θ|R)² ≈ 1/(P + J),   J = (n·dμ/dθ)²/(n·σ² + w)

    laplace, gaussian   w the variance of the noise; with several rows a person of t − μ·m, the number m being noisy too
    baps                w = 1/(N·ψ″), ψ″ the variance of τη under the table at t: N draws measure t like Gaussian noise
    map                 by log-density the draw it is, N = 1 at its power; by probability w from how far the point lies from the
                        centre for being drawn, simulated (`map_simulation.py`)

Truths are those of the prior most of whose rows lie within the column's bounds: nothing is learned about others by any mechanism.
Beyond the trim a table tells little more than the side, and that only as well as it tells sums at the end of the trim apart: with
S the precision of the prior on that side alone, J₀ the information there and 1−2/π the variance of half a normal law,

    sd(θ|R)² ≈ 1/(S + J) + 1/(P + J₀/(1−2/π)),   at most 1/(P + J)
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.gaussian import Gaussian
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.privacy.windows import posterior_windows, window_width

Array = NDArray[np.float64]

LEVELS = 65
CLIPPED_MOST = 0.5
HALF_NORMAL = 1 - 2 / math.pi


@dataclass(frozen=True, slots=True)
class _Truths:
    """At quantiles of the untrimmed prior: θ, and of one row in lattice steps its mean, variance and dμ/dθ."""

    theta: Array
    mean: Array
    variance: Array
    slope: Array
    prior: float
    """Its precision."""
    side: Array
    """The same of the part beyond the trim, for truths there."""
    edge: NDArray[np.int64]
    """The truth nearest to that end of the trim, for truths beyond it."""


def noise_calibrated_sd(
    model: Model, mechanism: Laplace | Gaussian, people: int, unit_rows: int, wider: float = 1.0
) -> float:
    """`wider`: with so many times the variance of this mechanism's noise."""
    truths = _truths(model)
    return _mean_sd(truths, people, wider * noise_variance(model, mechanism, unit_rows))


def noiseless_calibrated_sd(model: Model, people: int) -> float:
    """What no mechanism falls below: that of the sum itself."""
    truths = _truths(model)
    return _mean_sd(truths, people, np.zeros_like(truths.mean))


def drawn_calibrated_sd(model: Model, baps: Baps, people: int, unit_rows: int) -> float:
    return tempered_calibrated_sd(model, baps.samples, baps.temperature, people, unit_rows)


def tempered_calibrated_sd(model: Model, samples: int, temperature: float, people: int, unit_rows: int) -> float:
    """Of draws at any power on the likelihood, that of a `map` point above 1 too."""
    truths = _truths(model)
    bend = _table_bends(model, people, unit_rows, temperature)
    with np.errstate(divide="ignore", over="ignore"):
        return _mean_sd(truths, people, 1 / (samples * bend), beyond=True)


def scored_calibrated_sd(model: Model, people: int, drawing_sd: float) -> float:
    """Of a point that lies so far from the posterior's centre for being drawn."""
    truths = _truths(model)
    return _mean_sd(truths, people, (people * truths.slope * drawing_sd) ** 2, beyond=True)


def beyond_range(model: Model, lower: float | None = None, upper: float | None = None) -> float:
    """What the untrimmed prior has beyond the public range of the samples, or beyond another one."""
    lower = model.parameter.lower if lower is None else lower
    upper = model.parameter.upper if upper is None else upper
    law = row_law(model)
    weight, theta = np.exp(law.log_weight - law.log_weight.max()), law.prior.theta(law.phi)
    beyond = (theta < lower) | (theta > upper)
    return float(weight[beyond].sum() / weight.sum())


def noise_variance(model: Model, mechanism: Laplace | Gaussian, unit_rows: int) -> Array:
    """What is added to the sum in lattice steps squared, at every truth."""
    if isinstance(mechanism, Laplace):
        variances = [_laplace_variance(scale) for scale in mechanism.scales(model, unit_rows)]
    else:
        scales, factors = mechanism.scales(model, unit_rows)
        variances = [(scale / factor) ** 2 for scale, factor in zip(scales, factors, strict=True)]
    if unit_rows == 1:
        return np.full_like(_truths(model).mean, variances[0])
    return _beside_rows(model, variances[0], variances[1])


def measured_calibrated_sd(model: Model, variances: tuple[float, float], rows: int) -> float:
    """Of `rows` rows of which the centred sum and the number are measured with noise of these variances."""
    return _mean_sd(_truths(model), rows, _beside_rows(model, *variances))


def _beside_rows(model: Model, of_sum: float, of_rows: float) -> Array:
    """What t − μ·m is off by, at every truth, where 2t − hm and m are measured."""
    return np.asarray((of_sum + (model.statistic.steps - 2 * _truths(model).mean) ** 2 * of_rows) / 4)


def _laplace_variance(scale: float) -> float:
    """2q/(1−q)², q = e^{−1/b}."""
    return 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2


def _mean_sd(truths: _Truths, people: int, noise: Array, *, beyond: bool = False) -> float:
    information = (people * truths.slope) ** 2 / (people * truths.variance + noise)
    variance = 1 / (truths.prior + information)
    if beyond:
        apart = 1 / (truths.side + information)
        told = 1 / (truths.prior + information[truths.edge] / HALF_NORMAL)
        variance = np.where(truths.side > truths.prior, np.minimum(variance, apart + told), variance)
    return float(np.mean(np.sqrt(variance)))


@lru_cache(maxsize=512)
def _table_bends(model: Model, people: int, unit_rows: int, temperature: float) -> Array:
    """ψ″ at the expected sum of every truth, people having one row each."""
    grid = model.grid(people * unit_rows, temperature)
    totals = people * _truths(model).mean
    rows = np.full(len(totals), float(people))
    windows = posterior_windows(grid, totals, rows, window_width(grid, totals, rows))
    mass, x = np.exp(windows.log_p), temperature * grid.eta[windows.columns]
    x = x - (mass * x).sum(axis=1, keepdims=True)
    return np.asarray((mass * x**2).sum(axis=1))


@lru_cache(maxsize=256)
def _truths(model: Model) -> _Truths:
    law = row_law(model)
    order = np.argsort(law.phi)
    phi = law.phi[order]
    theta = law.prior.theta(phi)
    weight = np.exp(law.log_weight[order] - law.log_weight.max())
    weight = np.where(law.row.clipped(theta) <= CLIPPED_MOST, weight, 0.0)
    weight /= weight.sum()
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    chosen = np.interp(levels, np.cumsum(weight) - weight / 2, phi)
    step = (phi[-1] - phi[0]) * 1e-5
    low, high = chosen - step, chosen + step
    means = [law.row.at(each, law.prior.theta(each))[0] for each in (low, high)]
    slope = np.abs(means[1] - means[0]) / np.maximum(law.prior.theta(high) - law.prior.theta(low), 1e-300)
    mean, variance, _ = law.row.at(chosen, law.prior.theta(chosen))
    truth = law.prior.theta(chosen)
    prior, edge = _precision(theta, weight), np.arange(LEVELS)
    own = np.full(LEVELS, prior)
    inside = np.flatnonzero((truth >= model.parameter.lower) & (truth <= model.parameter.upper))
    for outside, end in ((theta < model.parameter.lower, np.argmin), (theta > model.parameter.upper, np.argmax)):
        if weight[outside].sum() > 0 and len(inside):
            there = (truth >= theta[outside].min()) & (truth <= theta[outside].max())
            own[there] = np.maximum(own[there], _precision(theta[outside], weight[outside]))
            edge[there] = inside[end(truth[inside])]
    return _Truths(truth, mean, np.maximum(variance, 1e-12), slope, prior, own, edge)


def _precision(theta: Array, weight: Array) -> float:
    mean = float(weight @ theta) / float(weight.sum())
    return float(weight.sum()) / max(float(weight @ (theta - mean) ** 2), 1e-300)
