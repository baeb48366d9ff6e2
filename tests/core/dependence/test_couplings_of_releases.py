"""Probable odds, guesses and curves between secrets, against every output of small random releases; and of groups of people."""

import math

import numpy as np
import pytest

from app.core.dependence import leakage, odds
from app.core.dependence.descriptions import read_people, structure_of
from app.core.dependence.inference import best_guess, secret_curve
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.together.path import people_apart
from tests.core.dependence.every_mechanism import random_law
from tests.core.dependence.every_release import PEOPLE, divergence, given, releases

_ORDERS = np.array(ORDERS)


@pytest.mark.parametrize("spread", [0.4, 2.0])
def test_nothing_between_two_values_of_a_secret_exceeds_its_curve_odds_or_guess(spread: float) -> None:
    generator = np.random.default_rng(6)
    for _ in range(2):
        losses, law = releases(generator, spread), random_law(generator, (2,) * PEOPLE, 1.0)
        structure = structure_of(
            read_people({"kind": "joint", "levels": [2] * PEOPLE, "probabilities": law.ravel().tolist()}), [0], False
        )
        curve = secret_curve(losses, structure)
        first, second = given(law, losses.table, 0)
        for p, q in ((first, second), (second, first)):
            assert (divergence(p, q) <= curve + 1e-9).all()
            ratio = np.log(p / q)
            for exception in (0.5, 0.05, 1e-3):
                found = odds.probable_rise(curve, 0.0, exception)
                assert found is not None
                assert p[ratio > found[0]].sum() <= exception
                assert p[ratio < -found[0]].sum() <= odds.fall_probability(curve, found[0], 0.0) + 1e-12
            for epsilon in (0.0, 0.3, 1.0):
                assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= odds.delta_at(curve, epsilon) + 1e-12
        told = odds.points(curve, 0.0, losses.group(PEOPLE).pure)
        for prior in ((0.5, 0.5), (0.8, 0.2)):
            guessed = np.maximum(prior[0] * first, prior[1] * second).sum()
            assert guessed <= best_guess(losses, structure, prior, told) + 1e-12
            gain = ((1.0, 0.2), (0.1, 0.7), (0.5, 0.5))
            won = np.max([g[0] * prior[0] * first + g[1] * prior[1] * second for g in gain], axis=0).sum()
            assert won <= leakage.gained(leakage.prior_gain(prior, gain), 2, told) + 1e-12


@pytest.mark.parametrize("spread", [0.2, 1.0, 4.0])
def test_several_people_cost_no_more_than_the_path_between_them_says(spread: float) -> None:
    losses = releases(np.random.default_rng(9), spread)
    one = losses.group(1)
    for count in (2, 3, 4):
        bound, exact = people_apart(one, count), losses.group(count)
        assert exact.pure <= bound.pure * (1 + 1e-9)
        assert (np.array(exact.curve) <= np.array(bound.curve) * (1 + 1e-9)).all()


def test_gaussian_noise_costs_the_square_and_nothing_is_lost_where_it_is_taken_as_a_curve() -> None:
    rho = 0.01
    gaussian = Cost(math.inf, tuple(order * rho for order in ORDERS), gaussian=True)
    assert people_apart(gaussian, 3).gaussian_rho == pytest.approx(9 * rho)
    plain = Cost(math.inf, tuple(order * rho for order in ORDERS))
    found = np.array(people_apart(plain, 4).curve) / (16 * rho * _ORDERS)
    assert (found[4:30] > 1 - 1e-9).all()
    assert (found[4:30] < 1.06).all()


def test_a_slack_is_taken_from_the_exception_before_anything_is_promised() -> None:
    curve = np.array(ORDERS) * 0.02
    plain, with_slack = odds.probable_rise(curve, 0.0, 1e-2), odds.probable_rise(curve, 1e-4, 1e-2)
    assert plain is not None
    assert with_slack is not None
    assert with_slack[0] > plain[0]
    assert odds.probable_rise(curve, 2e-2, 1e-2) is None
