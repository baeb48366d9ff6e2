"""Credible intervals after `laplace` noise cover the truth as often as they say; ignoring the noise, they do not.

θ from the prior, rows from the model, noise from the discrete Laplace law. With the model right, a 90 % interval covers
90 % of the time exactly: over 2,000 datasets one sd is 0.67 %, so ±2 % is a false alarm once in 350 settings; seeds are
fixed. Rows are clipped and rounded one by one as in a release, on bounds so wide that clipping does not show.
"""

import math

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.one_parameter.beliefs.measurements import NoisySum
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.mechanisms import Laplace
from app.core.kinds.one_parameter.mechanisms.laplace import add_noise
from app.core.kinds.one_parameter.noise_aware import _exact, _quadrature, noisy_log_likelihood
from app.core.noise.discrete_laplace import noise_scale
from app.core.schema import parse_columns
from tests.deep import deep_unless
from tests.statistical.noisy_sums import ROWS, covers, discrete_laplace, lattice_sums, noisy_likelihoods, prior_draws

DATASETS = 2_000
SETTINGS = [(people, epsilon) for people in (100, 1_000) for epsilon in (0.1, 1.0, 10.0)]


def test_every_family_is_simulated() -> None:
    assert set(ROWS) == set(FAMILIES)


AMONG_A_THOUSAND = {"bernoulli": 0.1, "gamma": 1.0, "negative_binomial": 0.1, "normal_mean": 10.0}


def always(family: str, setting: tuple[int, float]) -> bool:
    """Strong noise on a hundred people for every family, and weaker noise in turn; a thousand people for four."""
    people, epsilon = setting
    if people == 1_000:
        return AMONG_A_THOUSAND.get(family) == epsilon
    return epsilon == 0.1 or (epsilon == 1.0) == (sorted(FAMILIES).index(family) % 2 == 0)


@pytest.mark.cases(8)
@pytest.mark.parametrize(("family", "setting"), deep_unless(always, sorted(FAMILIES), SETTINGS))
def test_intervals_cover_ninety_percent_and_naive_ones_do_not_under_strong_noise(
    family: str, setting: tuple[int, float]
) -> None:
    """All from one mesh of likelihoods; a few of them are compared with those a release uses, near the peak."""
    people, epsilon = setting
    seed = [11, people, round(10 * epsilon), list(ROWS).index(family)]
    source = np.random.Generator(np.random.PCG64(seed))
    model = ROWS[family].model(family)
    grid, scale = model.grid(people, 1.0), noise_scale(model.statistic.steps, epsilon)
    truth = prior_draws(source, model, DATASETS)
    rows = ROWS[family].draw(source, truth, (people, DATASETS))
    noisy = lattice_sums(model, ROWS[family].column, rows) + discrete_laplace(source, scale, DATASETS)
    aware = noisy_likelihoods(model, grid.theta, people, noisy, scale)
    for i in range(0, DATASETS, 700):
        released = noisy_log_likelihood(model, grid.theta, people, NoisySum(int(noisy[i]), scale, False))
        near = released > released.max() - 12
        assert np.ptp((released - aware[i])[near]) < 0.02
    assert abs(covers(model, grid, aware, truth).mean() - 0.9) <= 0.02
    if epsilon == 0.1:
        clamped = np.clip(noisy, 0, people * model.statistic.steps)[:, None]
        naive = covers(model, grid, grid.eta * clamped - grid.partition * people, truth)
        assert naive.mean() < {100: 0.5, 1_000: 0.8}[people]


@pytest.mark.parametrize(
    ("family", "setting"),
    deep_unless(
        lambda family, setting: setting[0] == 30 or family == "geometric",
        ["binomial", "poisson", "geometric"],
        [(30, 0.1), (30, 3.0), (400, 1.0)],
    ),
)
def test_quadrature_of_a_count_agrees_with_its_exact_sum(family: str, setting: tuple[int, float]) -> None:
    """The two paths of one likelihood, on sums wide enough to be smooth: to 2 % of a log-likelihood unit of the peak."""
    people, epsilon = setting
    column = {"type": "integer", "lower": 0, "upper": 40}
    model = parse_model({"family": family, "column": "x", "trim": TRIMS[family]}, parse_columns({"x": column}))
    grid = model.grid(people, 1.0)
    scale = noise_scale(40, epsilon)
    law, phi = row_law(model), np.array([model.spacing.forward(theta) for theta in grid.theta.tolist()])
    for place in (0.2, 0.5, 0.8):
        noisy = round(people * float(np.quantile(np.clip(grid.mean, 0, 40), place)))
        exact = _exact(law, phi, people, NoisySum(noisy, scale, False))
        smooth = _quadrature(law, phi, people, NoisySum(noisy, scale, False))
        near = exact > exact.max() - 12
        assert np.ptp((exact - smooth)[near]) < 0.02


TRIMS = {"binomial": 0.2, "poisson": {"lower": 3, "upper": 15}, "geometric": 0.2}


def test_noise_is_the_discrete_laplace_law_it_is_charged_as() -> None:
    """4,000 draws of OpenDP's sampler on nine cells; chi-square with 8 degrees above 50 once in ten million."""
    scale, draws = 3.0, 4_000
    found = add_noise(np.full(draws, 17), scale) - 17
    q = math.exp(-1 / scale)
    masses = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-3, 4)]
    tail = (1 - sum(masses)) / 2
    counts = [(found < -3).sum(), *((found == z).sum() for z in range(-3, 4)), (found > 3).sum()]
    expected = np.array([tail, *masses, tail]) * draws
    assert ((np.array(counts) - expected) ** 2 / expected).sum() < 50


def test_free_samples_follow_the_noise_aware_posterior() -> None:
    """The mean of 20,000 samples from one noisy sum, within five standard errors of the table's."""
    model, scale = ROWS["bernoulli"].model("bernoulli"), noise_scale(1, 0.5)
    grid = model.grid(200, 1.0)
    log_w = grid.log_prior + noisy_likelihoods(model, grid.theta, 200, np.array([231]), scale)[0]
    masses = np.exp(log_w - log_w.max())
    masses /= masses.sum()
    mean = masses @ grid.theta
    sd = math.sqrt(masses @ (grid.theta - mean) ** 2)
    source = np.random.Generator(np.random.PCG64(2))
    samples = Laplace(20_000, 0.5).infer(model, 200, 1, np.array([231]), source.bytes)
    assert abs(samples.mean() - mean) < 5 * sd / math.sqrt(20_000)
