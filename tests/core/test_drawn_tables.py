"""The cost of the table really drawn: with its share of the uniform one, against every neighbouring pair.

Bounds that small cases do not need are forced on them, at settings nobody tuned them to.
"""

import math

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import directions
from app.core.privacy import ORDERS
from app.core.privacy.kernel import kernel_ceiling
from app.core.privacy.mixed_pairs import pair_supremum
from app.core.privacy.mixed_slope import steepest_slope
from app.core.privacy.peak_regions import Peaks, chernoff, tops_of
from app.core.privacy.posterior_cost import capped_curve, point_change, posterior_draw_cost
from app.core.privacy.units.mesh import mesh_supremum
from tests.core.families.drawn_tables import Owed, drawn_tables, owed, owed_by_tables
from tests.core.families.family_cases import CASES, build, priors_of, with_steps
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.deep import deep_unless

FORCED = [
    ("bernoulli", 12, 1, 1.0), ("bernoulli", 60, 1, 0.3), ("poisson", 5, 7, 1.0), ("geometric", 9, 3, 0.2),
    ("exponential", 4, 12, 1.0), ("normal_mean", 3, 9, 0.6), ("pareto", 7, 5, 1.0), ("laplace", 6, 6, 0.05),
]  # fmt: skip
"""(family, people, steps of the lattice, temperature)."""


def forced(family: str, steps: int, variant: int) -> object:
    trims = (None, *CASES[family].trims)
    model = build(family, priors_of(family)[variant % len(priors_of(family))], trims[variant % len(trims)])
    return model if family == "bernoulli" else with_steps(model, steps)


@pytest.mark.parametrize(
    ("setting", "variant"), deep_unless(lambda setting, variant: FORCED.index(setting) % 4 == variant, FORCED, range(6))
)
def test_slopes_and_pairs_of_nodes_cover_every_pair_of_the_table_drawn(
    setting: tuple[str, int, int, float], variant: int
) -> None:
    """Log-ratios and changes of one point's probability; by pairs within three percent, also between coarse nodes."""
    family, people, steps, temperature = setting
    model = forced(family, steps, variant)
    exact = owed(model, people, 1, temperature, reachable_pairs(steps, people, 1))
    unmixed = largest_change(model, people, temperature, steps)
    grid = model.grid(people, temperature)
    ceiling = kernel_ceiling(grid, (0, steps), people)
    sd = float(np.sqrt(np.maximum(ceiling.left, ceiling.right).max()))
    ends = (0.0, float(people * steps))
    assert steps * steepest_slope(grid, people, ceiling, ends) >= exact.pure * (1 - 1e-9)
    assert steps * steepest_slope(grid, people, ceiling, ends, pointwise=True) >= unmixed * (1 - 1e-9)
    for pointwise, largest in ((False, exact.pure), (True, unmixed)):
        found = pair_supremum(grid, people, steps, sd, pointwise)
        assert 1 - 1e-9 <= found / largest <= 1.03


def largest_change(model: object, people: int, temperature: float, steps: int) -> float:
    """Of a point's posterior probability: of the table drawn, less its share."""
    pairs = reachable_pairs(steps, people, 1)
    return owed(model, people, 1, temperature, pairs).pointwise / (1 - 2**-24)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("people", "trim"), [(300, 0.05), (1_000, 0.05), (2_500, 0.004)])
def test_one_row_a_person_is_charged_within_a_percent_of_the_pure_cost_of_what_is_drawn(
    people: int, trim: float
) -> None:
    """Beyond what the code enumerates itself; the curve within 7 %, where orders turn from their own cost to the pure one."""
    model = bernoulli("x", 1.0, 1.0, trim)
    totals = sorted({*range(min(people, 400)), *range(people - min(people, 400), people + 1)})
    exact = owed_in_line(model, people, totals)
    charged = posterior_draw_cost(model, people, 1, 1.0).drawn
    assert 1 <= charged.pure / exact.pure <= 1.01
    ratio = np.array(charged.curve) / exact.curve
    assert ratio.min() >= 1 - 1e-12
    assert ratio.max() <= 1.07
    assert 1 <= point_change(model, people, 1) / exact.pointwise <= 1.015


def owed_in_line(model: object, people: int, totals: list[int]) -> Owed:
    tables = drawn_tables(model, people, 1.0, [(total, people) for total in totals])
    apart = [(i, i + 1) for i in range(len(totals) - 1) if totals[i + 1] - totals[i] == 1]
    return owed_by_tables(tables, apart + [(j, i) for i, j in apart])


UNITS = [(22, 2, 1, 1.0), (12, 3, 1, 0.4), (9, 2, 2, 1.0)]


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "people", "unit_rows", "steps", "temperature"),
    [*(("poisson", *unit) for unit in UNITS), *(("bernoulli", *unit) for unit in UNITS if unit[2] == 1)],
)
def test_several_rows_a_person_are_never_charged_less_than_any_pair(
    family: str, people: int, unit_rows: int, steps: int, temperature: float
) -> None:
    """By the mesh and by the largest curvature alone, whatever the code would have chosen."""
    model = forced(family, steps, 1)
    exact = owed(model, people, unit_rows, temperature, reachable_pairs(steps, people, unit_rows))
    grid = model.grid(people * unit_rows, temperature)
    mesh = mesh_supremum(grid, steps, people, unit_rows)
    assert mesh is not None
    assert mesh.pure >= exact.pure * (1 - 1e-9)
    assert (capped_curve(np.minimum(mesh.exact.curve, mesh.pure), mesh.pure) >= exact.curve * (1 - 1e-9)).all()
    tops = tops_of(Peaks(grid, (0, steps), people, unit_rows, directions((0, steps), unit_rows)))
    assert chernoff(tops, grid.size) >= exact.pure * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "unit_rows"), [(40, 2), pytest.param(40, 3, marks=pytest.mark.deep)])
def test_two_or_three_rows_a_person_are_charged_within_fifteen_percent(people: int, unit_rows: int) -> None:
    """The worst datasets have few rows; those with up to four more than the fewest are enough to see them."""
    model = bernoulli("x", 1.0, 1.0, 0.05)
    pairs = [pair for pair in near_fewest(people, unit_rows, 4) if max(pair[0][0], pair[1][0]) <= 22]
    exact = owed(model, people, unit_rows, 1.0, pairs)
    charged = posterior_draw_cost(model, people, unit_rows, 1.0).drawn
    ratio = np.array(charged.curve) / exact.curve
    assert ratio.min() >= 1
    assert ratio.max() <= 1.15
    assert 1 <= charged.pure / exact.pure <= 1.01


def near_fewest(people: int, unit_rows: int, more: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    person = [(ones, rows) for rows in range(1, unit_rows + 1) for ones in range(rows + 1)]
    found = set()
    for rows in range(people - 1, people + more):
        for ones in range(rows + 1):
            for old in person:
                for new in person:
                    if old != new:
                        found.add(((ones + old[0], rows + old[1]), (ones + new[0], rows + new[1])))
    return sorted(found)


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize(("people", "unit_rows"), [(40, 1), (12, 2)])
@pytest.mark.parametrize(("family", "lower"), [("poisson", 0.9999), ("exponential", 2.75), ("pareto", 1.0)])
def test_a_narrow_trim_far_from_zero_has_the_range_of_the_integers_it_is_drawn_by(
    family: str, lower: float, people: int, unit_rows: int
) -> None:
    """Doubles of η lose six digits of their differences there; the charge may not."""
    model = build(family, trim={"lower": lower, "upper": lower * (1 + 1e-9)})
    constants = model.constants(model.grid(people * unit_rows, 1.0))
    widest = 0
    for moved_sum, moved_rows in directions(model.statistic_range, unit_rows):
        moved = [moved_sum * h - moved_rows * b for h, b in zip(constants.eta, constants.partition, strict=True)]
        widest = max(widest, max(moved) - min(moved))
    assert posterior_draw_cost(model, people, unit_rows, 1.0).range_pure * 2**80 >= widest


def test_a_curve_under_a_pure_cost_is_below_both_and_as_convex_as_the_true_one() -> None:
    curve = np.array(ORDERS) * 0.01
    capped = capped_curve(curve, 0.5)
    assert (capped <= curve).all()
    assert (capped <= 0.5).all()
    powers = (np.array(ORDERS) - 1) * capped
    slopes = np.diff(powers) / np.diff(ORDERS)
    assert slopes.max() <= 0.5 + 1e-12
    assert capped[-1] > 0.49


@pytest.mark.parametrize("family", ["gamma", "poisson"])
@pytest.mark.parametrize(("people", "unit_rows", "temperature"), [(1, 1, 0.3), (1, 2, 1.0), (2, 5, 0.01), (40, 9, 1.0)])
def test_any_number_of_people_and_rows_has_a_pure_cost_within_the_range(
    family: str, people: int, unit_rows: int, temperature: float
) -> None:
    """Columns as shipped: lattices too fine to enumerate, one person alone, more rows a person than a mesh follows."""
    found = posterior_draw_cost(build(family, typical=True), people, unit_rows, temperature)
    assert 0 < found.drawn.pure <= found.cost.pure
    assert all(drawn <= exact * (1 + 1e-9) for drawn, exact in zip(found.drawn.curve, found.cost.curve, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "people", "unit_rows", "trim"), [(11, 1, 3, 0.27), (21, 2, 2, 0.05)])
def test_no_draw_costs_more_than_its_uniform_share_allows(steps: int, people: int, unit_rows: int, trim: float) -> None:
    """Points have probabilities from γ/K to 1; bounds of their log-ratios alone came to three and four times as much."""
    model = with_steps(build("binomial", None, trim), steps)
    found = posterior_draw_cost(model, people, unit_rows, 1.0)
    most = math.log1p((1 - UNIFORM_SHARE) * found.grid_points / UNIFORM_SHARE)
    assert found.drawn.pure <= most * (1 + 1e-8)
    assert max(found.drawn.curve) <= most * (1 + 1e-8)
    assert found.cost.pure > most
