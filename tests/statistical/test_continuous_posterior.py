"""The table of a release against the continuous trimmed posterior it stands for, cell by cell.

A point stands for its cell, one of K equal parts of the trim in the coordinate φ. The continuous posterior comes from
textbook densities (`family_cases`), integrated by Gauss–Legendre on every cell that holds mass; mpmath's adaptive
quadrature of the same densities, written in θ, checks those integrals.
"""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.integer_table import integer_weights
from app.core.grids.public_grid import PublicGrid
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.statistics.sums import ExactStatistic
from tests.core.families.family_cases import CASES, Log, build, log_prior, record_value
from tests.deep import deep_unless

Array = NDArray[np.float64]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
"""Enough for e^{−35x} on a cell to 10⁻¹³; of a steeper density every other cell holds less than 10⁻¹⁵ anyway."""
FAR = 60.0
VARIATION_MAX = 1e-3


def cell_edges(model: Model, count: int) -> Array:
    """In φ, rising."""
    return np.linspace(
        *(model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper)), count + 1
    )


def log_density(model: Model, theta: Any, people: int, total: int, ln: Log = np.log) -> Any:
    """Textbook log posterior density in θ of a sum of `total` lattice steps, up to a constant."""
    case = CASES[model.family]
    at_zero = case.log_density(record_value(model, 0), theta, ln)
    slope = case.log_density(record_value(model, 1), theta, ln) - at_zero
    return log_prior(case, model.prior.as_json(), theta, ln) + people * at_zero + total * slope


def cell_masses(model: Model, count: int, people: int, total: int) -> Array:
    """Posterior mass of every cell; cells e⁻⁶⁰ below the highest hold none worth an integral."""
    edges = cell_edges(model, count)

    def in_phi(phi: Array) -> Array:
        theta = model.spacing.inverse(phi).clip(model.parameter.lower, model.parameter.upper).astype(np.longdouble)
        return log_density(model, theta, people, total) - CASES[model.family].jeffreys(theta, np.log)

    heights = in_phi(edges)
    high = np.maximum(heights[:-1], heights[1:])
    near = np.flatnonzero(high > high.max() - FAR)
    half = (edges[1] - edges[0]) / 2
    values = in_phi(edges[near, None] + half * (1 + NODES))
    masses = np.zeros(count)
    masses[near] = (np.exp(values - values.max()).astype(np.float64) * WEIGHTS).sum(axis=1)
    return masses / masses.sum()


def reachable_totals(model: Model, grid: PublicGrid, people: int) -> list[int]:
    """Both ends, evenly across all sums and across those that peak inside the trim, and near where they leave it."""
    most = people * model.statistic.steps
    ends = (people * grid.mean[[0, -1]]).clip(0, most)
    spread = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 4]) * most / math.sqrt(people)
    away = np.concatenate([-spread, [0.0], spread])
    places = [np.linspace(0, most, 9), np.linspace(*ends, 7), ends[0] + away, ends[1] + away]
    return sorted({round(float(place)) for place in np.concatenate(places).clip(0, most)})


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("family", "people"),
    deep_unless(
        lambda family, people: people in (10, 1_000) or (people == 100_000 and family in ("bernoulli", "normal_mean")),
        sorted(FAMILIES),
        [10, 100, 1_000, 100_000],
    ),
)
def test_total_variation_from_the_continuous_posterior_is_under_a_thousandth(family: str, people: int) -> None:
    """Defaults; the weights are those sampled, the uniform share of 2⁻²⁴ among them."""
    model = build(family, typical=True)
    grid = model.grid(people, 1.0)
    constants = model.constants(grid)
    totals = reachable_totals(model, grid, people)
    for total in totals if people < 100_000 else totals[::3]:
        weights = integer_weights(constants, ExactStatistic(total, people))
        whole = sum(weights)
        table = np.array([weight / whole for weight in weights])
        exact = cell_masses(model, grid.size, people, total)
        gap = table - (exact if grid.theta[0] < grid.theta[-1] else exact[::-1])
        assert np.abs(gap).sum() / 2 < VARIATION_MAX, total


PLACES = [(10, 0.0), (10, 1.0), (1_000, 0.0), (1_000, 0.4)]


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("family", "where"),
    deep_unless(
        lambda family, where: (sorted(FAMILIES).index(family) + PLACES.index(where)) % 2 == 0, sorted(FAMILIES), PLACES
    ),
)
def test_the_reference_masses_agree_with_adaptive_quadrature(family: str, where: tuple[int, float]) -> None:
    """Three cells about the heaviest, as shares of their sum, against mpmath in θ with thirty digits."""
    people, place = where
    model = build(family, typical=True)
    grid = model.grid(people, 1.0)
    total = round(place * people * model.statistic.steps)
    masses = cell_masses(model, grid.size, people, total)
    top = min(max(int(masses.argmax()), 1), grid.size - 2)
    with mpmath.workdps(30):
        edges = model.spacing.inverse(cell_edges(model, grid.size)[top - 1 : top + 3]).tolist()
        peak = log_density(model, mpmath.mpf((edges[1] + edges[2]) / 2), people, total, mpmath.log)
        exact = [
            mpmath.quad(lambda x: mpmath.exp(log_density(model, x, people, total, mpmath.log) - peak), pair)
            for pair in itertools.pairwise(edges)
        ]
        shares = [float(mass / mpmath.fsum(exact)) for mass in exact]
    found = masses[top - 1 : top + 2]
    assert found / found.sum() == pytest.approx(shares, abs=1e-9)
