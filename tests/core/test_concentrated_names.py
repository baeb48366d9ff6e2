"""ρ and μ on a card: above the exact divergence at every order, listed or not, and near where they can be."""

import math

import numpy as np
import pytest

from app.core.noise.discrete_laplace import discrete_laplace_cost
from app.core.privacy.concentrated import certified_gdp_mu, zcdp_rho
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost

BETWEEN = np.concatenate([1 + np.geomspace(1e-4, 1, 60), np.geomspace(2, 3e5, 300)])


def two_points(p: float, q: float, order: float) -> float:
    """D_α of a coin, in logarithms: large orders overflow otherwise."""
    terms = [order * math.log(a) + (1 - order) * math.log(b) for a, b in ((p, q), (1 - p, 1 - q))]
    return float(np.logaddexp(*terms)) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("rare", [0.5, 1e-3, 1e-8])
def test_rho_bounds_a_coins_divergence_also_between_and_beyond_the_listed_orders(epsilon: float, rare: float) -> None:
    p = rare / (1 + math.expm1(epsilon) * rare) * math.exp(epsilon) if rare < 0.5 else 1 / (1 + math.exp(-epsilon))
    q = rare if rare < 0.5 else 1 - p
    pure = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
    curve = tuple(max(two_points(p, q, order), two_points(q, p, order)) for order in ORDERS)
    rho = zcdp_rho(Cost(pure * (1 + 1e-12), tuple(min(value, pure) for value in curve)))
    assert rho is not None
    exact = max(max(two_points(p, q, order), two_points(q, p, order)) / order for order in BETWEEN)
    assert exact <= rho * (1 + 1e-9)
    assert rho <= 1.3 * exact


def test_a_curve_that_is_exactly_zcdp_between_orders_loses_nothing_there() -> None:
    rho = zcdp_rho(Cost(656.0, tuple(0.01 * order for order in ORDERS)))
    assert rho == pytest.approx(0.0125, rel=1e-9)


def test_what_has_no_bound_at_every_order_has_no_rho_and_no_mu() -> None:
    unbounded = Cost(math.inf, tuple(0.1 * order for order in ORDERS))
    slack = Cost(1.0, (0.1,) * len(ORDERS), 1e-9)
    for cost in (unbounded, slack):
        assert zcdp_rho(cost) is None
        assert certified_gdp_mu(ReleaseCost(cost, 3, 0.0, 0.0, "made up", 0)) is None
    assert zcdp_rho(ZERO_COST) == 0


def test_many_small_draws_are_told_apart_less_than_their_summed_epsilon_says() -> None:
    each = discrete_laplace_cost(1, 2.0)
    many = ReleaseCost(each, 100, 0.0, 0.0, "made up", 0)
    one = certified_gdp_mu(ReleaseCost(each, 1, 0.0, 0.0, "made up", 0))
    assert one is not None
    assert certified_gdp_mu(many) == pytest.approx(10 * one, rel=1e-9)
