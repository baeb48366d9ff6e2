"""Draws follow the integer table, and the table follows the continuous posterior."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from app.core.families import FAMILIES, Model
from app.core.families.exponential import PublicGrid
from app.core.mechanisms import Baps
from app.core.mechanisms.integer_table import integer_table, integer_weights
from app.core.statistics import ExactStatistic
from tests.core.families.family_cases import CASES, build, log_prior, record_value

FALSE_ALARM = 1e-6
DRAWS = 1_000_000


@pytest.mark.parametrize(
    ("family", "people", "place"), [("bernoulli", 300, 0.02), ("poisson", 60, 0.3), ("gamma", 40, 0.2)]
)
def test_a_million_draws_fit_the_exact_table(family: str, people: int, place: float) -> None:
    """Pearson's chi-square on cells of at least twenty expected draws; false-alarm rate 10⁻⁶, fixed seed."""
    model = build(family, typical=True)
    constants = model.constants(model.grid(people, 1.0))
    statistic = ExactStatistic(round(place * people * model.statistic.steps), people)
    weights = integer_weights(constants, statistic)
    drawn = integer_table(constants, statistic).draw(DRAWS, np.random.Generator(np.random.PCG64(7)).bytes)
    counts = np.bincount(drawn, minlength=len(weights))
    expected = shares(weights) * DRAWS
    counts, expected = merged(counts, expected)
    assert len(expected) >= 10
    statistic_value = ((counts - expected) ** 2 / expected).sum()
    assert statistic_value < chi2.isf(FALSE_ALARM, len(expected) - 1)


def test_the_same_chi_square_tells_the_table_of_a_neighbouring_dataset_apart() -> None:
    """The power of the test above: the table of a neighbouring dataset is told apart by the same draws."""
    model = build("bernoulli", typical=True)
    constants = model.constants(model.grid(300, 1.0))
    drawn = integer_table(constants, ExactStatistic(100, 300)).draw(
        DRAWS, np.random.Generator(np.random.PCG64(7)).bytes
    )
    weights = integer_weights(constants, ExactStatistic(101, 300))
    expected = shares(weights) * DRAWS
    counts, expected = merged(np.bincount(drawn, minlength=len(weights)), expected)
    assert ((counts - expected) ** 2 / expected).sum() > chi2.isf(FALSE_ALARM, len(expected) - 1)


def shares(weights: list[int]) -> NDArray[np.float64]:
    total = sum(weights)
    return np.array([weight / total for weight in weights])


def merged(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Runs of neighbouring points of at least twenty expected draws each."""
    ends, held = [], 0.0
    for k, value in enumerate(expected):
        held += value
        if held >= 20:
            ends.append(k + 1)
            held = 0.0
    starts = [0, *ends[:-1]]  # what is left at the end joins the last run
    sums = [np.add.reduceat(values, starts) for values in (counts, expected)]
    return sums[0], sums[1]


def test_draws_of_a_release_are_those_of_its_table_in_order() -> None:
    model = build("poisson", typical=True)
    statistic = ExactStatistic(500, 60)
    released = Baps(50).draw(model, 60, 1, statistic, np.random.Generator(np.random.PCG64(3)).bytes)
    grid = model.grid(60, 1.0)
    table = integer_table(model.constants(grid), statistic)
    assert released.shape == (50, 1)
    assert (released[:, 0] == grid.theta[table.draw(50, np.random.Generator(np.random.PCG64(3)).bytes)]).all()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_table_is_within_a_thousandth_of_the_continuous_posterior(family: str) -> None:
    """Total variation between the mass of each point and of its cell, defaults, at statistics anywhere."""
    for people in (10, 100, 1_000):
        model = build(family, typical=True)
        grid = model.grid(people, 1.0)
        constants = model.constants(grid)
        for total in reachable(model, grid, people):
            weights = integer_weights(constants, ExactStatistic(total, people))
            assert variation(model, grid, people, total, weights) < 1e-3, (people, total)


def reachable(model: Model, grid: PublicGrid, people: int) -> list[int]:
    """Sums from end to end, and denser where posteriors begin to peak beyond the trim."""
    most = people * model.statistic.steps
    ends = people * grid.mean[[0, -1]]
    sd = np.array([-3.0, -1, 0, 1, 2, 3, 5, 8, 13]) * math.sqrt(people) * model.statistic.steps / 20
    places = np.concatenate([np.linspace(0, most, 12), np.linspace(*ends, 6), ends[0] - sd, ends[1] + sd])
    return sorted({round(float(place)) for place in places.clip(0, most)})


def variation(model: Model, grid: PublicGrid, people: int, total: int, weights: list[int]) -> float:
    """Total variation between the table and the continuous posterior's mass of each point's cell."""
    ends = [model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper)]
    masses = shares(weights)
    masses = masses if grid.theta[0] < grid.theta[-1] else masses[::-1]
    edges = np.linspace(*ends, grid.size + 1)
    return float(np.abs(masses - cell_masses(model, people, total, edges)).sum() / 2)


def cell_masses(model: Model, people: int, total: int, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gauss–Legendre on every cell, from the textbook density: eight points where three already suffice."""
    case = CASES[model.family]
    x, w = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    nodes = model.spacing.inverse(edges[:-1, None] + half + half * x)
    theta = np.clip(nodes, model.parameter.lower, model.parameter.upper).astype(np.longdouble)
    at_zero = case.log_density(record_value(model, 0), theta, np.log)
    slope = case.log_density(record_value(model, 1), theta, np.log) - at_zero
    log_w = log_prior(case, model.prior.as_json(), theta, np.log) - case.jeffreys(theta, np.log)
    log_w = log_w + people * at_zero + total * slope
    mass = (np.exp(log_w - log_w.max()).astype(np.float64) * w * half).sum(axis=1)
    result: NDArray[np.float64] = mass / mass.sum()
    return result
