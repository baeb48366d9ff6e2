"""What is charged against the exact divergence over all neighbouring pairs of small datasets, by brute force."""

import math

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import integer_weights
from app.core.grids.natural_model import NaturalModel
from app.core.privacy import ORDERS
from app.core.privacy.posterior_cost import DrawCost, posterior_draw_cost
from app.core.statistics.sums import ExactStatistic
from tests.core.brute_force import (
    Neighbourhood,
    Prior,
    all_neighbours,
    log_posteriors,
    precise_renyi,
    public_points,
    renyi_divergences,
)
from tests.deep import deep

pytestmark = pytest.mark.slow

PRIORS = [(1.0, 1.0), (0.5, 0.5), (5.0, 2.0), (30.0, 40.0)]
TRIMS = [0.01, 0.05, 0.25]
TEMPERATURES = [1.0, 0.5, 0.1]
SIZES = [(1, 1), (2, 1), (3, 1), (6, 1), (1, 2), (2, 2), (3, 2), (6, 2), (1, 3), (2, 3), (4, 3)]
SAMPLER_SLACK = 2 * 2.0**-44 * (2 * np.array(ORDERS) - 1) / (np.array(ORDERS) - 1)


def models(one_in: int, people: int, unit_rows: int, temperature: float) -> list[NaturalModel]:
    """One model in `one_in` of all, others for the next setting; of one in eight, no two share a prior or a trim."""
    everything = [bernoulli("x", alpha, beta, trim) for alpha, beta in PRIORS for trim in TRIMS]
    turn = 3 * SIZES.index((people, unit_rows)) + TEMPERATURES.index(temperature)
    return everything[turn % one_in :: one_in]


some_or_all = pytest.mark.parametrize("one_in", [8, deep(1)])


def neighbourhood(model: NaturalModel, people: int, unit_rows: int, temperature: float) -> Neighbourhood:
    points = public_points(model, people, unit_rows, temperature)
    return Neighbourhood(
        points, Prior(model.prior.value("alpha"), model.prior.value("beta")), temperature, people, unit_rows
    )


def assert_charged_tightly(draw: DrawCost, exact: Neighbourhood) -> None:
    charged, supremum = np.array(draw.cost.curve), exact.curve(ORDERS)
    assert (charged >= supremum).all()
    assert (charged <= 1.02 * supremum + SAMPLER_SLACK).all()
    assert exact.kl() <= draw.kl_sup <= 1.02 * exact.kl() + 4 * 2.0**-44
    assert exact.largest_log_ratio() <= draw.cost.pure


@pytest.mark.cases(12)
@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(("people", "unit_rows"), SIZES)
@some_or_all
def test_the_charge_covers_every_pair_and_at_most_two_percent_more(
    one_in: int, people: int, unit_rows: int, temperature: float
) -> None:
    for model in models(one_in, people, unit_rows, temperature):
        draw = posterior_draw_cost(model, people, unit_rows, temperature)
        assert_charged_tightly(draw, neighbourhood(model, people, unit_rows, temperature))


@pytest.mark.cases(2)
@pytest.mark.parametrize("prior", PRIORS)
def test_six_people_with_three_rows_each_are_charged_as_tightly(prior: tuple[float, float]) -> None:
    model = bernoulli("x", *prior, trim=0.05)
    draw = posterior_draw_cost(model, 6, 3, 1.0)
    assert_charged_tightly(draw, neighbourhood(model, 6, 3, 1.0))


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(("people", "unit_rows"), [(1, 1), (6, 1), (3, 2), (2, 3)])
@some_or_all
def test_the_integer_table_actually_sampled_stays_within_what_is_charged(
    one_in: int, people: int, unit_rows: int, temperature: float
) -> None:
    for model in models(one_in, people, unit_rows, temperature):
        exact = neighbourhood(model, people, unit_rows, temperature)
        constants = model.constants(model.grid(people * unit_rows, temperature))
        tables = [integer_weights(constants, ExactStatistic(t, m)) for t, m in exact.statistics]
        sampled = np.array([[math.log(w) - math.log(sum(table)) for w in table] for table in tables])
        draw = posterior_draw_cost(model, people, unit_rows, temperature)
        assert exact.largest_log_ratio(sampled) <= draw.cost.pure
        p, q = sampled[exact.first], sampled[exact.second]
        curve = [renyi_divergences(p, q, order).max() for order in ORDERS]
        assert (np.array(draw.cost.curve) >= curve).all()


@pytest.mark.cases(6)
@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.1, 1e-6])
@pytest.mark.parametrize("trim", [1e-6, *TRIMS, 0.49])
def test_the_pure_cost_of_one_row_is_the_width_of_the_logit_over_the_points(trim: float, temperature: float) -> None:
    """The outermost point lies half a cell inside the trim, whose own logit bounds the cost of any grid."""
    for people in (1, 6, 1000):
        model = bernoulli("x", trim=trim)
        draw = posterior_draw_cost(model, people, 1, temperature)
        points = public_points(model, people, 1, temperature)
        first, last = (math.log(point) - math.log1p(-point) for point in (points[0], points[-1]))
        wanted = temperature * (last - first)
        assert draw.cost.pure == pytest.approx(wanted, rel=1e-6, abs=1e-6)
        assert wanted <= draw.cost.pure < 2 * temperature * math.log((1 - trim) / trim) + 1e-9


@pytest.mark.parametrize("unit_rows", [2, 3])
def test_the_pure_cost_of_several_rows_is_reached_by_moving_all_of_them(unit_rows: int) -> None:
    """All k rows from one extreme to the other: k times the range of one row, which the posterior ratio approaches."""
    model = bernoulli("x", trim=0.05)
    point = public_points(model, 4, unit_rows, 1.0)[0]
    draw = posterior_draw_cost(model, 4, unit_rows, 1.0)
    assert draw.cost.pure == pytest.approx(2 * unit_rows * math.log((1 - point) / point), rel=1e-6)


def test_the_brute_force_itself_agrees_with_sixty_digits() -> None:
    model, prior = bernoulli("x", 5.0, 2.0, 0.05), Prior(5.0, 2.0)
    points = public_points(model, 4, 2, 0.5)
    for x, y in all_neighbours(4, 2)[::29]:
        p, q = (log_posteriors(points, prior, 0.5, [v]) for v in (x, y))
        for order in (1.25, 2, 7, 512, 65536):
            exact = precise_renyi(points, prior, 0.5, x, y, order)
            assert renyi_divergences(p, q, order)[0] == pytest.approx(float(exact), rel=1e-9)


def test_neighbours_of_two_people_with_two_rows_are_counted_by_hand() -> None:
    """One other person is one of five kinds; the changed person goes from any kind to any other."""
    pairs = all_neighbours(2, 2)
    assert len({x for pair in pairs for x in pair}) == 12
    assert ((0, 2), (2, 3)) in pairs
    assert ((0, 2), (3, 4)) not in pairs
    assert all((y, x) in set(pairs) for x, y in pairs)


def test_reversing_the_outcome_reverses_the_prior_and_costs_the_same() -> None:
    for n, k in ((5, 1), (3, 2), (50, 1)):
        one = posterior_draw_cost(bernoulli("x", 5, 2, 0.05), n, k, 1.0).cost
        other = posterior_draw_cost(bernoulli("x", 2, 5, 0.05), n, k, 1.0).cost
        assert one.curve == pytest.approx(other.curve, rel=1e-6)
