"""Credible intervals after `laplace` noise cover the truth as often as they say; ignoring the noise, they do not.

θ from the prior, rows from the model, noise from the discrete Laplace law. With the model right, a 90 % interval covers
90 % of the time exactly: 2,000 datasets give ±0.7 % (one sd), so ±2 % raises a false alarm once in 340 settings.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from app.core.families import Model, parse_model
from app.core.families.exponential import PublicGrid
from app.core.mechanisms import Laplace
from app.core.mechanisms.laplace import add_noise
from app.core.mechanisms.noise_aware import _exact, _quadrature, noise_scale, noisy_log_likelihood
from app.core.schema import parse_columns

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SETTINGS = [(people, epsilon) for people in (100, 1_000) for epsilon in (0.1, 1.0, 10.0)]


def discrete_laplace(source: np.random.Generator, scale: float, count: int) -> Whole:
    """A difference of two geometric numbers."""
    success = -math.expm1(-1 / scale)
    draws: Whole = source.geometric(success, count) - source.geometric(success, count)
    return draws


def prior_draws(source: np.random.Generator, model: Model, count: int) -> Array:
    """From the trimmed prior, by inverting its distribution on a fine mesh."""
    mesh = np.linspace(model.parameter.lower, model.parameter.upper, 200_001)
    density = np.exp(model.prior.log_density.at(mesh))
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.asarray(np.interp(source.random(count), cumulative / cumulative[-1], mesh))


def covers(grid: PublicGrid, log_likelihood: Array, truth: Array, level: float = 0.9) -> Array:
    """Whether the central interval of each row's posterior holds its truth; cells between midpoints, θ rising."""
    rising = np.argsort(grid.theta)
    theta, log_w = grid.theta[rising], (grid.log_prior + log_likelihood)[:, rising]
    masses = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    cumulative = np.cumsum(masses / masses.sum(axis=1, keepdims=True), axis=1)
    edges = np.concatenate([(theta[:-1] + theta[1:]) / 2, theta[-1:]])
    below = np.array(
        [
            np.interp(one, np.concatenate([theta[:1], edges]), np.concatenate([[0.0], row]))
            for one, row in zip(truth, cumulative, strict=True)
        ]
    )
    return np.abs(below - 0.5) <= level / 2


def bernoulli() -> Model:
    return parse_model({"family": "bernoulli", "column": "x"}, parse_columns({"x": {"type": "binary"}}))


def counted_likelihood(theta: Array, people: int, noisy: Whole, scale: float) -> Array:
    """log Σ_t Binomial(t; n, θ)·e^{−|t̃−t|/b} for many noisy sums at once, written a second time as one product."""
    t = np.arange(people + 1)
    choose = gammaln(people + 1) - gammaln(t + 1) - gammaln(people - t + 1)
    law = np.exp(choose + xlogy(t, theta[:, None]) + xlog1py(people - t, -theta[:, None]))
    nearest = np.clip(noisy, 0, people)  # beyond the ends the noise only scales the whole likelihood
    noise = np.exp(-np.abs(nearest[:, None] - t) / scale)
    return np.asarray(np.log(noise @ law.T + 1e-300))


@pytest.mark.parametrize(("people", "epsilon"), SETTINGS)
def test_bernoulli_intervals_cover_ninety_percent_and_naive_ones_do_not_at_strong_noise(
    people: int, epsilon: float
) -> None:
    source = np.random.Generator(np.random.PCG64([11, people, round(10 * epsilon)]))
    model, scale = bernoulli(), noise_scale(1, epsilon)
    grid = model.grid(people, 1.0)
    truth = prior_draws(source, model, 2_000)
    sums = source.binomial(people, truth)
    noisy = sums + discrete_laplace(source, scale, 2_000)
    aware = counted_likelihood(grid.theta, people, noisy, scale)
    for i in range(0, 2_000, 97):
        ours = noisy_log_likelihood(model, grid.theta, people, int(noisy[i]), scale)
        used = aware[i] > -600
        assert np.ptp((ours - aware[i])[used]) < 1e-8
    assert abs(covers(grid, aware, truth).mean() - 0.9) <= 0.02
    clamped = np.clip(noisy, 0, people)[:, None]
    naive = covers(grid, grid.eta * clamped - grid.partition * people, truth).mean()
    if epsilon == 0.1:
        assert naive < {100: 0.5, 1_000: 0.8}[people]


Simulate = Callable[[np.random.Generator, Array, int], Array]


def _waits(source: np.random.Generator, theta: Array, people: int) -> Array:
    return source.exponential(1 / theta, (people, len(theta))).clip(0, 50)


def _counts(source: np.random.Generator, theta: Array, people: int) -> Array:
    return source.poisson(theta, (people, len(theta))).clip(0, 16).astype(np.float64)


def _measures(source: np.random.Generator, theta: Array, people: int) -> Array:
    return source.normal(theta, 2.0, (people, len(theta))).clip(-15, 15)


OTHERS = {
    "exponential": ({"type": "real", "lower": 0, "upper": 50}, {"trim": {"lower": 0.3, "upper": 4}}, _waits),
    "poisson": ({"type": "integer", "lower": 0, "upper": 16}, {"trim": {"lower": 1, "upper": 4}}, _counts),
    "normal_mean": (
        {"type": "real", "lower": -15, "upper": 15},
        {"sd": 2, "trim": {"lower": -5, "upper": 5}},
        _measures,
    ),
}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("family", sorted(OTHERS))
def test_intervals_of_other_families_cover_ninety_percent(family: str, epsilon: float) -> None:
    """Rows clipped and rounded one by one as in a release; bounds wide enough for clipping not to matter.

    400 datasets, so one sd is 1.5 % and ±5 % a false alarm in 1,000.
    """
    column, extra, simulate = OTHERS[family]
    people, datasets = 100, 400
    source = np.random.Generator(np.random.PCG64([5, round(10 * epsilon), len(family)]))
    model = parse_model({"family": family, "column": "x", **extra}, parse_columns({"x": column}))
    grid = model.grid(people, 1.0)
    request = model.statistic
    scale = noise_scale(request.steps, epsilon)
    truth = prior_draws(source, model, datasets)
    records = np.floor((simulate(source, truth, people) - request.lower) / request.step + 0.5)
    sums = records.sum(axis=0).astype(np.int64)
    noisy = sums + discrete_laplace(source, scale, datasets)
    aware = np.stack([noisy_log_likelihood(model, grid.theta, people, int(one), scale) for one in noisy])
    assert abs(covers(grid, aware, truth).mean() - 0.9) <= 0.05
    if epsilon == 0.1:
        naive = grid.eta * np.clip(noisy, 0, people * request.steps)[:, None] - grid.partition * people
        assert covers(grid, naive, truth).mean() < 0.5


@pytest.mark.parametrize("family", ["binomial", "poisson", "geometric"])
@pytest.mark.parametrize(("people", "epsilon"), [(30, 0.1), (30, 3.0), (400, 1.0)])
def test_quadrature_of_a_count_agrees_with_its_exact_sum(family: str, people: int, epsilon: float) -> None:
    """The two paths of one likelihood, on sums wide enough to be smooth: to 2 % of a log-likelihood unit of the peak."""
    column = {"type": "integer", "lower": 0, "upper": 40}
    model = parse_model({"family": family, "column": "x", "trim": TRIMS[family]}, parse_columns({"x": column}))
    grid = model.grid(people, 1.0)
    scale = noise_scale(40, epsilon)
    for place in (0.2, 0.5, 0.8):
        noisy = round(people * float(np.quantile(np.clip(grid.mean, 0, 40), place)))
        exact = _exact(model, grid.theta, people, noisy, scale)
        smooth = _quadrature(model, grid.theta, people, noisy, scale)
        near = exact > exact.max() - 12
        assert np.ptp((exact - smooth)[near]) < 0.02


TRIMS = {"binomial": 0.2, "poisson": {"lower": 3, "upper": 15}, "geometric": 0.2}


def test_noise_is_the_discrete_laplace_law_it_is_charged_as() -> None:
    """4,000 draws of OpenDP's sampler on nine cells; chi-square with 8 degrees above 50 once in ten million."""
    scale, draws = 3.0, 4_000
    found = np.array([add_noise(17, scale) for _ in range(draws)]) - 17
    q = math.exp(-1 / scale)
    masses = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-3, 4)]
    tail = (1 - sum(masses)) / 2
    counts = [(found < -3).sum(), *((found == z).sum() for z in range(-3, 4)), (found > 3).sum()]
    expected = np.array([tail, *masses, tail]) * draws
    assert ((np.array(counts) - expected) ** 2 / expected).sum() < 50


def test_free_samples_follow_the_noise_aware_posterior() -> None:
    """The mean of 20,000 samples from one noisy sum, within five standard errors of the table's."""
    model, scale = bernoulli(), noise_scale(1, 0.5)
    grid = model.grid(200, 1.0)
    log_w = grid.log_prior + counted_likelihood(grid.theta, 200, np.array([231]), scale)[0]
    masses = np.exp(log_w - log_w.max())
    masses /= masses.sum()
    mean = masses @ grid.theta
    sd = math.sqrt(masses @ (grid.theta - mean) ** 2)
    samples = Laplace(20_000, 0.5).from_noisy(model, 200, 231, scale, np.random.Generator(np.random.PCG64(2)).bytes)
    assert abs(samples.mean() - mean) < 5 * sd / math.sqrt(20_000)
