"""How costs and grids move with the public numbers they are functions of."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.grids.bernoulli import bernoulli
from app.core.grids.public_grid import GRID_POINTS_MAX, GRID_POINTS_MIN
from app.core.kinds.one_parameter.accuracy import expected_accuracy
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.privacy import ORDERS
from app.core.privacy.posterior_cost import posterior_draw_cost
from tests.deep import deep

trims = st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.4])
priors = st.sampled_from([(1.0, 1.0), (0.5, 0.5), (5.0, 2.0), (30.0, 40.0)])
temperatures = st.sampled_from([1.0, 0.7, 0.3, 0.1])
GRID_CHANGE = 5e-3
"""Grids differ between the two sides of a comparison; their curves agree with the continuum to a few parts in 10³."""


def curve(prior: tuple[float, float], trim: float, people: int, rows: int, temperature: float) -> np.ndarray:
    return np.array(posterior_draw_cost(bernoulli("x", *prior, trim), people, rows, temperature).cost.curve)


some_or_many = pytest.mark.parametrize("examples", [12, deep(200)])


@pytest.mark.slow
@some_or_many
def test_more_people_never_cost_more_at_the_orders_that_matter_for_many_samples(examples: int) -> None:
    """At orders far above the number of people it is otherwise: more records let a posterior reach further out."""

    @settings(max_examples=examples)
    @given(priors, trims, temperatures, st.integers(16, 120))
    def check(prior: tuple[float, float], trim: float, temperature: float, people: int) -> None:
        fewer, more = (curve(prior, trim, n, 1, temperature) for n in (people, 2 * people))
        low = [i for i, order in enumerate(ORDERS) if order <= people / 8]
        assert (more[low] <= fewer[low] * (1 + GRID_CHANGE)).all()

    check()


@pytest.mark.slow
@some_or_many
def test_a_wider_trim_never_costs_more(examples: int) -> None:
    @settings(max_examples=examples)
    @given(priors, temperatures, st.integers(1, 200), st.tuples(trims, trims).filter(lambda pair: pair[0] < pair[1]))
    def check(prior: tuple[float, float], temperature: float, people: int, pair: tuple[float, float]) -> None:
        narrow, wide = (curve(prior, trim, people, 1, temperature) for trim in pair)
        assert (wide <= narrow * (1 + GRID_CHANGE)).all()

    check()


@pytest.mark.slow
@some_or_many
def test_a_lower_temperature_never_costs_more(examples: int) -> None:
    @settings(max_examples=examples)
    @given(priors, trims, st.integers(1, 200), st.sampled_from([(1.0, 0.7), (0.7, 0.3), (0.3, 0.1), (1.0, 0.01)]))
    def check(prior: tuple[float, float], trim: float, people: int, pair: tuple[float, float]) -> None:
        warm, cool = (curve(prior, trim, people, 1, temperature) for temperature in pair)
        assert (cool <= warm * (1 + GRID_CHANGE)).all()

    check()


@pytest.mark.slow
@pytest.mark.parametrize("examples", [8, deep(100)])
def test_more_rows_a_person_cost_more(examples: int) -> None:
    @settings(max_examples=examples)
    @given(priors, trims, temperatures, st.integers(1, 8))
    def check(prior: tuple[float, float], trim: float, temperature: float, people: int) -> None:
        one, two, three = (curve(prior, trim, people, rows, temperature) for rows in (1, 2, 3))
        assert (one <= two * (1 + GRID_CHANGE)).all()
        assert (two <= three * (1 + GRID_CHANGE)).all()

    check()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, deep(2), deep(3)])
def test_the_guarantee_gets_cheaper_with_people_at_every_scale(rows: int) -> None:
    epsilons = [Baps(100).cost(bernoulli("x"), 10**power, rows).total.epsilon(1e-6) for power in range(1, 8)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-1] < 0.06 * rows


@pytest.mark.slow
def test_every_curve_rises_with_the_order_and_stays_below_the_pure_cost() -> None:
    for people, rows in ((3, 1), (1000, 1), (50_000, 1), (100, 2), (10**6, 3)):
        cost = posterior_draw_cost(bernoulli("x"), people, rows, 1.0).cost
        # Each order is bounded on its own; a group of orders may share one ceiling within two percent.
        assert all(b >= a * 0.98 for a, b in zip(cost.curve, cost.curve[1:], strict=False))
        assert max(cost.curve) <= cost.pure * (1 + 1e-9)
        assert len(cost.curve) == len(ORDERS)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.floats(1e-6, 0.49), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.integers(1, 10**12), st.floats(1e-6, 1))
def test_a_grid_is_public_increasing_and_inside_the_trim(
    trim: float, alpha: float, beta: float, rows: int, temperature: float
) -> None:
    model = bernoulli("x", alpha, beta, trim)
    grid = model.grid(rows, temperature)
    assert GRID_POINTS_MIN <= grid.size <= GRID_POINTS_MAX
    assert (np.diff(grid.theta) > 0).all()
    assert (np.diff(grid.eta) > 0).all()
    assert trim <= grid.theta[0] < grid.theta[-1] <= 1 - trim
    assert (model.parameters[0].lower, model.parameters[0].upper) == (trim, 1 - trim)
    assert np.isfinite(grid.log_prior).all()
    assert (grid.theta == model.grid(rows, temperature).theta).all()


@pytest.mark.parametrize("people", [1000, 10_000, 10**6, 10**7])
def test_a_grid_has_thirteen_points_to_the_square_root_of_people(people: int) -> None:
    """Six to the narrowest sd: with five, total variation from the continuous posterior can be above 10⁻³."""
    assert bernoulli("x").grid(people, 1.0).size == pytest.approx(13.44 * math.sqrt(people), rel=0.015)


def test_the_grid_stops_growing_at_two_to_the_sixteen_points() -> None:
    assert bernoulli("x").grid(10**8, 1.0).size == 2**16
    assert bernoulli("x").grid(10**12, 1.0).size == 2**16


def test_points_are_at_least_three_to_the_narrowest_posterior_sd() -> None:
    for people, temperature in ((500, 1.0), (5000, 0.3)):
        grid = bernoulli("x").grid(people, temperature)
        gap = np.diff(np.arcsin(np.sqrt(grid.theta))).max()
        assert gap <= 0.5 / math.sqrt(temperature * people + 2) / 3 * (1 + 1e-6)


def test_expected_accuracy_follows_people_and_samples_and_never_asks_for_data() -> None:
    few, many = (expected_accuracy(bernoulli("x"), Baps(100), n) for n in (100, 10_000))
    assert few.posterior_sd == pytest.approx(10 * many.posterior_sd, rel=0.1)
    # Mean of √(θ(1−θ)/n) over the trimmed uniform prior is near 0.4/√n.
    assert many.posterior_sd == pytest.approx(0.4 / 100, rel=0.1)
    assert many.sampling_sd == pytest.approx(many.posterior_sd / 10, rel=1e-9)
    assert many.total_sd == pytest.approx(math.hypot(many.posterior_sd, many.sampling_sd))
