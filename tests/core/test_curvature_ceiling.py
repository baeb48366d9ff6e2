"""The ceiling of the curvature between its nodes, and the hats over it, against long doubles and direct sums."""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.grids.public_grid import PublicGrid
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.privacy import ORDERS
from app.core.privacy.curvature import Ceiling, curvature_ceiling
from app.core.privacy.kernel import _POWERS, Hats, _suprema, kernel_supremum
from tests.core.families.family_cases import build, priors_of, with_steps
from tests.deep import deep

Long = NDArray[np.longdouble]


def log_tables(grid: PublicGrid, rows: int, t: Long) -> Long:
    eta, partition, prior = (part.astype(np.longdouble) for part in (grid.eta, grid.partition, grid.log_prior))
    power = np.longdouble(grid.temperature)
    log_w = prior + power * (np.outer(t, eta) - rows * partition)
    log_w -= log_w.max(axis=1, keepdims=True)
    tables: Long = log_w - np.log(np.exp(log_w).sum(axis=1, keepdims=True))
    return tables


def variances(grid: PublicGrid, rows: int, t: Long) -> Long:
    p = np.exp(log_tables(grid, rows, t))
    x = np.longdouble(grid.temperature) * grid.eta.astype(np.longdouble)
    spread: Long = (p * (x - (p @ x)[:, None]) ** 2).sum(axis=1)
    return spread


@pytest.mark.cases(12)
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize(("people", "temperature"), [(1, 1.0), (9, 0.2), (150, 0.6)])
@pytest.mark.parametrize("places", [300, deep(5_000)])
def test_the_ceiling_lies_above_every_variance_and_within_two_percent_where_it_counts(
    family: str, people: int, temperature: float, places: int
) -> None:
    for prior in priors_of(family)[:3]:
        model = with_steps(build(family, prior), 1 if family == "bernoulli" else 12)
        grid, step = model.grid(people, temperature), model.statistic.steps
        ceiling = curvature_ceiling(grid, people, (-40.0 * step, (people + 40.0) * step))
        assert ceiling is not None
        generator = np.random.default_rng(3)
        cell = generator.integers(len(ceiling.left), size=places)
        share = generator.choice([0.0, 0.5, 1.0, generator.uniform()], size=places)
        t = ceiling.nodes[cell] + share * (ceiling.nodes[cell + 1] - ceiling.nodes[cell])
        line = ceiling.left[cell] + share * (ceiling.right[cell] - ceiling.left[cell])
        exact = variances(grid, people, t.astype(np.longdouble))
        assert (line >= exact * (1 - 1e-9)).all(), prior
        counts = exact > 1e-3 * exact.max()
        assert (line[counts] <= exact[counts] * 1.02).all(), prior


def test_a_hat_over_lines_is_the_integral_of_the_lines() -> None:
    """Against a midpoint sum on 400,000 points."""
    generator = np.random.default_rng(8)
    nodes = np.cumsum(generator.uniform(0.5, 3.0, 60))
    left, right = generator.uniform(0.1, 1.0, (2, 59))
    hats = Hats(Ceiling(nodes, left, right))
    for t, power, step in ((60.0, 2.0, 1.7), (70.0, 8.0, 5.0), (50.5, 1.25, 0.01), (66.0, 1.0, 9.0)):
        back = (power - 1) * step
        u = t - back + (back + step) * (np.arange(400_000) + 0.5) / 400_000
        cell = np.searchsorted(nodes, u, side="right") - 1
        line = left[cell] + (u - nodes[cell]) / (nodes[cell + 1] - nodes[cell]) * (right[cell] - left[cell])
        rising = (u - t + back) / (power - 1) if power > 1 else 0 * u
        wanted = (np.where(u < t, rising, t + step - u) * line).mean() * (back + step)
        found = hats.at(np.array([t]), np.array([power]), np.array([step]))[0]
        assert found == pytest.approx(wanted, rel=1e-4)


def test_the_search_finds_the_worst_place_of_ragged_ceilings() -> None:
    """Lines that jump at every node, so that nothing smooth helps: against every whole number, one by one."""
    generator = np.random.default_rng(21)
    for _ in range(5):
        nodes = np.concatenate([[-4e6], np.sort(generator.choice(np.arange(-300, 700), 80, replace=False)), [1e3]])
        left, right = generator.exponential(size=(2, 81)) ** 3
        found = _suprema(Ceiling(nodes, left, right), (0.0, 497.0), 3.0)
        hats, t = Hats(Ceiling(nodes, left, right)), np.arange(498.0)
        every = [hats.at(t, np.full(498, power), np.full(498, 3.0)).max() for power in _POWERS]
        assert (found >= np.array(every) * (1 - 1e-12)).all()
        assert (found <= np.array(every) * 1.001).all()


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("people", [10**6, 10**8])
def test_at_scale_the_kernel_is_above_the_worst_pair_found_and_within_one_percent(people: int) -> None:
    """Long doubles over the lower eighth of the grid, in which the worst posteriors lie."""
    grid = bernoulli("x").grid(people, 1.0)
    found = kernel_supremum(grid, (0, 1), people)
    assert found is not None
    near = slice(0, grid.size // 8)
    part = [array[near] for array in (grid.eta, grid.partition, grid.log_prior)]
    sd = np.sqrt(people * 0.05 * 0.95)
    starts = np.round(0.05 * people + sd * np.linspace(0, 8, 33)).astype(np.longdouble)
    x, partition, prior = (array.astype(np.longdouble) for array in part)
    for order in (2, 32, 512):
        values = []
        for t in starts:
            places = np.array([t + (order - 1), t, t - 1])  # downward: the path goes into the range
            log_w = prior + np.outer(places - t, x) + (t * x - people * partition)
            top = log_w.max(axis=1)
            psi = top + np.log(np.exp(log_w - top[:, None]).sum(axis=1))
            values.append((psi[0] - order * psi[1] + (order - 1) * psi[2]) / (order - 1))
        ratio = found.curve[ORDERS.index(order)] / float(max(values))
        assert 1 - 1e-6 <= ratio <= 1.01, (order, ratio)
