"""The fast roads to a supremum (kernel, map of the curvature), forced on cases small enough to visit in full."""

from bisect import bisect_left

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.grids.natural_model import NaturalModel
from app.core.grids.public_grid import PublicGrid, directions
from app.core.numerics.hull import hull_vertices
from app.core.privacy import ORDERS
from app.core.privacy.enumeration import enumerate_supremum
from app.core.privacy.kernel import kernel_supremum
from app.core.privacy.peak_regions import Peaks, tops_of, weighted_means
from app.core.privacy.peaks import TOLERANCE_SLOW, CurvatureMap, Region, scan_variance
from app.core.privacy.posterior_cost import posterior_draw_cost
from tests.core.brute_force import Neighbourhood, Prior, log_posteriors, renyi_divergences
from tests.deep import deep, deep_unless

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]

ROUNDING = 1e-12
"""What the definition loses in doubles for a prior of thousands of records: two logarithms near 10⁵ are subtracted."""
LONG_ROUNDING = 1e5 * float(np.finfo(np.longdouble).eps)
STRONG = [(1000.0, 1000.0), (1e4, 0.5), (3e4, 1.0)]
MILD = [(1.0, 1.0), (0.5, 0.5), (1e-3, 1e-3), (5.0, 2.0), (30.0, 40.0)]


def all_pairs(
    model: NaturalModel, grid: PublicGrid, people: int, unit_rows: int, precise: bool = False
) -> Neighbourhood:
    prior = Prior(model.prior.value("alpha"), model.prior.value("beta"))
    return Neighbourhood(grid.theta.tolist(), prior, grid.temperature, people, unit_rows, precise)


def exact_curve(model: NaturalModel, grid: PublicGrid, people: int, unit_rows: int) -> Array:
    return all_pairs(model, grid, people, unit_rows).curve(ORDERS).astype(np.float64)


TEMPERATURES = [1.0, 0.5, 0.1]


def in_turn(prior: tuple[float, float], temperature: float) -> bool:
    """Every prior at one temperature, every temperature with mild priors and strong ones."""
    return ([*MILD, *STRONG].index(prior) + TEMPERATURES.index(temperature)) % 3 == 0 and prior != STRONG[-1]


@pytest.mark.cases(3)
@pytest.mark.parametrize(("prior", "temperature"), deep_unless(in_turn, [*MILD, *STRONG], TEMPERATURES))
def test_the_kernel_covers_brute_force_and_follows_it_within_one_percent(
    prior: tuple[float, float], temperature: float
) -> None:
    for people in (1, 2, 12 if prior in STRONG else 60):
        model = bernoulli("x", *prior, trim=0.05)
        grid = model.grid(people, temperature)
        pairs = all_pairs(model, grid, people, 1, precise=prior in STRONG)
        exact = pairs.curve(ORDERS).astype(np.float64)
        found = kernel_supremum(grid, (0, 1), people)
        assert found is not None
        assert (found.curve >= exact * (1 - 1e-9) - LONG_ROUNDING).all()
        assert (found.curve <= exact * 1.01 + LONG_ROUNDING).all()
        kl = pairs.kl()
        assert kl * (1 - 1e-9) - LONG_ROUNDING <= found.kl <= kl * 1.01 + LONG_ROUNDING


@pytest.mark.cases(1)
@pytest.mark.parametrize(("prior", "trim"), [((1.0, 1.0), 0.05), ((30.0, 40.0), 0.2), ((900.0, 100.0), 0.01)])
def test_the_kernel_stays_close_for_hundreds_of_people_and_priors_far_from_the_likelihood(
    prior: tuple[float, float], trim: float
) -> None:
    """Posteriors sit where the prior puts them; a window around the likelihood alone would miss them."""
    model = bernoulli("x", *prior, trim)
    grid = model.grid(400, 1.0)
    exact = exact_curve(model, grid, 400, 1)
    found = kernel_supremum(grid, (0, 1), 400)
    assert found is not None
    assert (found.curve >= exact * (1 - 1e-9)).all()
    assert (found.curve <= exact * 1.01).all()


VISITED = [(40, 1), (10, 2), (6, 3)]
"""(people, rows a person)."""
PRIORS = [*MILD, (1000.0, 1000.0), (300.0, 20.0)]


@pytest.mark.parametrize(
    ("size", "prior"),
    deep_unless(
        lambda size, prior: (VISITED.index(size) + PRIORS.index(prior)) % 3 == 0, VISITED, [*MILD, (300.0, 20.0)]
    ),
)
def test_the_enumeration_in_use_visits_enough_pairs(size: tuple[int, int], prior: tuple[float, float]) -> None:
    people, unit_rows = size
    model = bernoulli("x", *prior, trim=0.05)
    grid = model.grid(people * unit_rows, 0.7)
    found = enumerate_supremum(grid, (0, 1), people, unit_rows)
    assert found.curve == pytest.approx(exact_curve(model, grid, people, unit_rows), rel=1e-8)


MAPPED = [(people, temperature) for people in ((2, 1), (40, 1), (12, 2), (6, 3)) for temperature in (1.0, 0.1)]


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("size", "prior"),
    deep_unless(lambda size, prior: MAPPED.index(size) % len(PRIORS) == PRIORS.index(prior), MAPPED, PRIORS),
)
def test_the_map_of_the_curvature_never_charges_too_little(
    size: tuple[tuple[int, int], float], prior: tuple[float, float]
) -> None:
    (people, unit_rows), temperature = size
    model = bernoulli("x", *prior, trim=0.05)
    grid = model.grid(people * unit_rows, temperature)
    peaks = Peaks(grid, (0, 1), people, unit_rows, directions((0, 1), unit_rows))
    tops = tops_of(peaks)
    exact = exact_curve(model, grid, people, unit_rows)
    assert (weighted_means(tops) >= exact * (1 - 1e-9) - ROUNDING).all()
    assert tops[0] / 2 >= exact[0] * (1 - 1e-9) / ORDERS[0] - ROUNDING


def dense_variance(grid: PublicGrid, model: NaturalModel, region: Region, unit_rows: int) -> float:
    """Largest variance of the log-likelihood ratio of any change, on a fine net of real statistics in the region."""
    yes, no = np.log(grid.theta), np.log1p(-grid.theta)
    base = (model.prior.value("alpha") - 0.5) * yes + (model.prior.value("beta") - 0.5) * no
    persons = [(t, m) for m in range(1, unit_rows + 1) for t in range(m + 1)]
    moved = {(y[0] - x[0], (y[1] - y[0]) - (x[1] - x[0])) for x in persons for y in persons}
    best = 0.0
    for m in np.unique(np.linspace(region.rows_low, region.rows_high, 1 if unit_rows == 1 else 20_000 // grid.size)):
        t = m * np.linspace(region.bottom, region.top, 1001)[:, None]
        log_w = base + grid.temperature * (t * yes + (m - t) * no)
        p = np.exp(log_w - log_w.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = p @ yes, p @ no
        spread = p @ yes**2 - mean[0] ** 2, p @ no**2 - mean[1] ** 2, p @ (yes * no) - mean[0] * mean[1]
        for ones, zeros in moved:
            variance = ones**2 * spread[0] + zeros**2 * spread[1] + 2 * ones * zeros * spread[2]
            best = max(best, grid.temperature**2 * float(variance.max()))
    return best


SEARCHED = {(40, 1): (1.0, 1.0), (300, 1): (0.5, 0.5), (30, 2): (30.0, 40.0), (20, 3): (1000.0, 1000.0)}
"""(people, rows a person), and the prior they are tried with in every run."""


@pytest.mark.parametrize(
    ("size", "prior"), deep_unless(lambda size, prior: SEARCHED[size] == prior, SEARCHED, SEARCHED.values())
)
def test_the_supremum_of_the_curvature_is_within_one_percent_of_a_dense_search(
    size: tuple[int, int], prior: tuple[float, float]
) -> None:
    people, unit_rows = size
    model = bernoulli("x", *prior, trim=0.05)
    grid = model.grid(people * unit_rows, 1.0)
    extra = 3.0 * (unit_rows - 1)
    region = Region(0, 1, people - extra, people * unit_rows + extra, 3.0 * (2 * unit_rows - 1))
    changes = directions((0, 1), unit_rows)
    found = CurvatureMap(grid, changes, region, [scan_variance(grid, changes, region)]).supremum(region)
    dense = dense_variance(grid, model, region, unit_rows)
    assert dense <= found * (1 + 1e-9)
    assert found <= dense * (1 + TOLERANCE_SLOW + 1e-3)


def test_asking_for_inner_regions_first_or_last_gives_the_same_suprema() -> None:
    """One set of cells serves every region; the order of asking must not matter beyond the tolerance."""
    grid, changes = bernoulli("x").grid(200, 1.0), directions((0, 1), 2)
    regions = [Region(0, 1, 100 - r, 200 + r, 3.0 * r) for r in (1.0, 4.0, 15.0, 40.0)]
    seen = [scan_variance(grid, changes, regions[0])]
    outward = CurvatureMap(grid, changes, regions[-1], seen)
    inward = CurvatureMap(grid, changes, regions[-1], seen)
    forth = [outward.supremum(region) for region in regions]
    back = [inward.supremum(region) for region in reversed(regions)][::-1]
    assert forth == pytest.approx(back, rel=TOLERANCE_SLOW)
    assert forth == sorted(forth)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
def test_the_roads_meet_where_pairs_become_too_many_to_visit(prior: tuple[float, float]) -> None:
    model, sizes = bernoulli("x", *prior, trim=0.05), range(150, 550, 8)

    def certified(people: int) -> bool:
        return posterior_draw_cost(model, people, 1, 1.0).method.startswith("certified")

    assert not certified(sizes[0])
    assert certified(sizes[-1])
    first = bisect_left(sizes, True, key=certified)
    below, above = (np.array(posterior_draw_cost(model, n, 1, 1.0).cost.curve) for n in sizes[first - 1 : first + 1])
    assert below == pytest.approx(above, rel=0.05)


def test_hull_vertices_leave_out_what_lies_inside_or_on_an_edge() -> None:
    square = [(x, y) for x in range(4) for y in range(4)]
    assert sorted(hull_vertices(square)) == [(0, 0), (0, 3), (3, 0), (3, 3)]
    assert hull_vertices([(0, 0), (1, 1), (2, 2), (-3, -3)]) == [(-3, -3), (2, 2)]
    assert hull_vertices([(5, 5), (5, 5)]) == [(5, 5)]


@pytest.mark.parametrize("unit_rows", [1, 2, 3, 7])
def test_every_possible_change_lies_in_the_hull_of_the_changes_searched(unit_rows: int) -> None:
    """A convex function is largest at a vertex: no direction may reach further along any line than those searched."""
    persons = [(t, m) for m in range(1, unit_rows + 1) for t in range(m + 1)]
    chosen = np.array([sign * np.array(change) for change in directions((0, 1), unit_rows) for sign in (1, -1)])
    changes = np.array([(y[0] - x[0], y[1] - x[1]) for x in persons for y in persons])
    angles = np.linspace(0, 2 * np.pi, 721)
    normals = np.stack([np.cos(angles), np.sin(angles)])
    assert ((changes @ normals).max(axis=0) <= (chosen @ normals).max(axis=0) + 1e-9).all()


@pytest.mark.parametrize(("unit_rows", "loosest"), [(2, 1.03), deep(3, 1.03)])
def test_at_scale_several_rows_a_person_cost_little_more_than_the_worst_pair_found(
    unit_rows: int, loosest: float
) -> None:
    """Beyond enumeration: the worst of many thousand real pairs, with the fewest rows, where the variance is largest."""
    people, orders = 10_000, (1.25, 2, 5, 16)
    model = bernoulli("x", 1.0, 1.0, 0.05)
    grid = model.grid(people * unit_rows, 1.0)
    persons = [(t, m) for m in range(1, unit_rows + 1) for t in range(m + 1)]
    near = slice(0, grid.size // 3)  # the posteriors below sit near the lower trim; the rest weighs under 1e-30
    points = grid.theta[near].tolist()
    worst = np.zeros(len(orders))
    for ones in range(400, 700, 6):
        firsts = [(ones + old[0], people - 1 + old[1]) for old in persons for _ in persons]
        seconds = [(ones + new[0], people - 1 + new[1]) for _ in persons for new in persons]
        p, q = (log_posteriors(points, Prior(1.0, 1.0), 1.0, v).astype(float) for v in (firsts, seconds))
        worst = np.maximum(worst, [renyi_divergences(p, q, order).max() for order in orders])
    charged = posterior_draw_cost(model, people, unit_rows, 1.0).cost.curve
    ratios = np.array([charged[ORDERS.index(order)] for order in orders]) / worst
    assert (ratios >= 1).all()
    assert (ratios <= loosest).all()
