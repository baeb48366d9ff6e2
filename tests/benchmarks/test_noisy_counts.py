"""The other side of the accuracy benchmark is charged what it should be, no more, and answers as well as it can."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism, from_gaussian_mechanism

from benchmarks.adaptive_analyst import Asked, interview
from benchmarks.clinic_network import clinic_model, joint_table, mass, simulated, true_tables
from benchmarks.noisy_counts import NoisyCounter, gaussian_mu, noises, tight_laplace_scale, whole_table, zcdp_sigma
from benchmarks.noisy_estimates import Noise, mean_ratio, mean_share
from benchmarks.posterior_answers import MODEL, compiled

EPSILON, DELTA = 1.0, 1e-6


def test_the_gaussian_scale_uses_up_delta_and_no_more_for_one_question_and_for_many() -> None:
    sigma = 1 / gaussian_mu(EPSILON, DELTA)
    exact = from_gaussian_mechanism(sigma, value_discretization_interval=1e-4).get_delta_for_epsilon(EPSILON)
    assert exact == pytest.approx(DELTA, rel=2e-3)
    many = from_gaussian_mechanism(10 * sigma, value_discretization_interval=1e-4).self_compose(100)
    assert many.get_delta_for_epsilon(EPSILON) == pytest.approx(DELTA, rel=2e-2)


def test_the_integer_gaussian_that_is_drawn_costs_what_the_continuous_one_does() -> None:
    sigma = 1 / gaussian_mu(EPSILON, DELTA)
    drawn = from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    assert drawn.get_delta_for_epsilon(EPSILON) == pytest.approx(DELTA, rel=0.05)


def test_exact_accounting_asks_for_less_noise_than_zcdp_and_tight_less_than_basic_composition() -> None:
    assert 1 / gaussian_mu(EPSILON, DELTA) < zcdp_sigma(EPSILON, DELTA)
    assert tight_laplace_scale(EPSILON, DELTA, 100) < 0.5 * 100 / EPSILON


@pytest.mark.parametrize("gaussian", [True, False])
def test_no_replaced_record_moves_a_conditional_question_by_more_than_a_count(gaussian: bool) -> None:
    """All pairs of (not given, given without the event, given with it), in units of the noise."""
    noise = Noise("", 3.0, gaussian)
    places = {"outside": (0, 0), "without": (-1, 1), "with": (1, 1)}
    costs = []
    for before, after in itertools.permutations(places.values(), 2):
        moved = [
            (b - a) / scale for a, b, scale in zip(before, after, (noise.of_difference, noise.of_given), strict=True)
        ]
        costs.append(sum(m * m for m in moved) if gaussian else sum(map(abs, moved)))
    assert max(costs) == pytest.approx(1 / 9 if gaussian else 1 / 3)


def test_weighted_noise_spends_the_budget_of_equal_noise() -> None:
    equal, weighted = noises(EPSILON, DELTA, 1_000, 600)[:2]
    spent = 600 / (weighted.of_difference / 2) ** 2 + 400 / weighted.scale**2
    assert spent == pytest.approx(1_000 / equal.scale**2)


@pytest.mark.parametrize("gaussian", [True, False])
def test_posterior_means_agree_with_sums_over_a_fine_grid(gaussian: bool) -> None:
    n, noise = 400.0, Noise("", 25.0, gaussian)

    def log_law(value: np.ndarray, scale: float) -> np.ndarray:
        return -((value / scale) ** 2) / 2 if gaussian else -np.abs(value / scale)

    p = (np.arange(2_000) + 0.5) / 2_000
    people = (np.arange(1_600) + 0.5) / 4
    for difference, size in ((30.0, 120.0), (-180.0, 150.0), (90.0, 60.0), (10.0, 390.0)):
        law = np.exp(
            log_law(difference - people[:, None] * (2 * p - 1), noise.of_difference)
            + log_law(size - people, noise.of_given)[:, None]
        )
        found = mean_ratio(np.array([difference]), np.array([size]), noise, n)
        assert found[0] == pytest.approx((law * p).sum() / law.sum(), abs=5e-3)
    for count in (-20.0, 3.0, 200.0, 430.0):
        law = np.exp(log_law(count - n * p, noise.scale))
        found = mean_share(np.array([count]), noise, n)
        assert found[0] == pytest.approx((law * p).sum() / law.sum(), abs=2e-3)


def test_noise_has_the_scale_that_was_accounted_for() -> None:
    """sds of 4,000 draws each, within 10 %: five standard errors and more; a false alarm in 10⁵ runs, OpenDP takes no seed."""
    people = simulated(MODEL, 1_000, np.random.default_rng(1))
    asked = [Asked(((0, True),), ((1, False),))] * 4_000
    noise = noises(EPSILON, DELTA, 100)[0]
    numbers = NoisyCounter(people, noise, len(asked)).numbers(asked)
    expected = (noise.scale, noise.of_difference, noise.of_given)
    assert [found.std() for found in numbers] == pytest.approx(expected, rel=0.1)
    both, given = mass(people.counts, ((0, True), (1, False))), mass(people.counts, ((1, False),))
    for found, exact, scale in zip(numbers, (both, 2 * both - given, given), expected, strict=True):
        assert found.mean() == pytest.approx(exact, abs=6 * scale / math.sqrt(len(asked)))


def test_a_projected_table_is_one_of_n_people() -> None:
    people = simulated(MODEL, 1_000, np.random.default_rng(2))
    cells = whole_table(people, EPSILON, DELTA)["projected"]
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(people.size)


def test_the_law_of_the_people_is_what_the_engine_answers_from_the_true_tables() -> None:
    model = clinic_model()
    cells = true_tables(model)
    law = joint_table(model, cells)
    asked = Asked(((6, True), (9, False)), ((1, True), (5, False)))
    exact = mass(law, (*asked.event, *asked.given)) / mass(law, asked.given)
    estimand = compiled(asked).estimand
    assert law.sum() == pytest.approx(1.0)
    assert estimand.compiled.values(list(cells[:, None]))[0] == pytest.approx(exact, abs=1e-12)


def test_the_analyst_asks_nothing_twice_and_follows_the_answers() -> None:
    law = joint_table(MODEL, true_tables(MODEL))

    def truth(question: Asked) -> float:
        return mass(law, (*question.event, *question.given)) / mass(law, question.given)

    asked = interview(truth, 2_000, 10, np.random.default_rng(3))
    assert len(asked) == len(set(asked)) == 2_000
    assert all(mass(law, question.given) >= 0.05 for question in asked)
    assert 0.4 < sum(question.conditional for question in asked) / 2_000 < 0.7
    other = interview(lambda question: 1 - truth(question), 2_000, 10, np.random.default_rng(3))
    assert other != asked
