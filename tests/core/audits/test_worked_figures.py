"""The figures that were worked out beforehand, from code that was written from the theorems."""

import math

import numpy as np
import pytest

from app.core.audits.claims import Approximate, Renyi, Score, payoffs
from app.core.audits.events import claim_bound, clopper_pearson, epsilon_bound
from app.core.audits.testers import (
    RandomTest,
    algorithm_3_pairs,
    algorithm_4,
    algorithm_4_runs,
    algorithm_4_thesis_runs,
    algorithm_6,
    algorithm_6_runs,
    algorithm_6_thesis_runs,
    excess,
    gamma_bound,
    hits_to_refute,
)
from app.core.audits.wealth import growth, wealth_cap


def test_sample_sizes_of_algorithms_4_and_6_are_the_corrected_ones() -> None:
    assert round(algorithm_4_runs(100, 0.5, 0.1, 1 / 3, directions=1)) == 12_256
    assert round(algorithm_4_thesis_runs(100, 0.5, 0.1)) == 148_731
    assert math.ceil(algorithm_6_runs(50, 0.005, 0.2)) == 77_873
    assert algorithm_6_thesis_runs(50, 0.005, 0.2) == pytest.approx(3.9e6, rel=0.01)


def test_algorithm_3_needs_as_many_pairs_as_was_worked_out_and_none_of_3000_says_so_much() -> None:
    sizes = {"alarm": 0.001, "found": 0.99, "level": 0.01, "power": 0.99}
    assert algorithm_3_pairs(0.05, 0.1, **sizes) == RandomTest(642, 47, 0.001)  # 643 was written down, which also do
    assert algorithm_3_pairs(0.0, 0.01, **sizes) == RandomTest(1_169, 5, 0.001)  # and 1,184
    assert [hits_to_refute(pairs, gamma, 0.001, 0.01) for pairs, gamma in ((643, 0.05), (1_184, 0.0))] == [47, 5]
    assert gamma_bound(3_000, 0.01) == pytest.approx(1.5e-3, rel=0.03)


def test_binomial_bounds_are_those_of_other_libraries_to_six_digits() -> None:
    assert round(epsilon_bound(731, 269, 1_000, 0.01), 6) == 0.815708
    assert round(epsilon_bound(50, 0, 1_000, 0.01), 6) == 1.859460
    assert clopper_pearson(0, 10, 0.01)[0] == 0.0
    assert clopper_pearson(10, 10, 0.01)[1] == 1.0


@pytest.mark.parametrize(
    ("epsilon", "kappa", "runs"),
    [(1, 1.1, 13_470), (1, 1.5, 886), (1, 2, 363), (0.1, 1.1, 919_000), (0.1, 1.5, 68_000), (0.1, 2, 30_000)],
)
def test_discrete_laplace_noise_needs_as_many_runs_as_was_simulated(epsilon: float, kappa: float, runs: int) -> None:
    """Half of the outcomes speak for either side, and which half is all the best test looks at."""
    p = 1 / (1 + math.exp(-epsilon))
    laws, event = (np.array([p, 1 - p]), np.array([1 - p, p])), np.array([1.0, 0.0])
    needed = wealth_cap(*growth(Approximate(epsilon / kappa), laws, (event, event), Score(0, 1)), 0.01)
    assert needed == pytest.approx(runs, rel=0.02 if epsilon < 1 else 2e-3)


def test_a_pair_that_is_private_one_way_only_is_refused_by_the_corrected_algorithm_4_and_not_by_the_thesis() -> None:
    """P rare where Q is not: δ at ε = ½ is 0 one way and .27 the other."""
    q = np.array([300, 700])
    p = np.array([0, 1_000])
    assert excess(p, q, 0.5) < 0.05 < 0.27 < excess(q, p, 0.5)
    assert not algorithm_4(p, q, 0.5, 0.0, 0.1)
    assert algorithm_4(q, q, 0.5, 0.0, 0.1)


def test_algorithm_6_refuses_tables_that_are_not_private_however_well_samples_fit_them() -> None:
    first, second = np.array([0.25, 0.75]), np.array([0.75, 0.25])
    fits = np.array([250, 750]), np.array([750, 250])
    assert algorithm_6(*fits, (first, second), 1.1, 0.1)
    assert not algorithm_6(*fits, (first, second), 1.0, 0.1)
    assert not algorithm_6(fits[1], fits[1], (first, second), 1.1, 0.1)


def test_the_corrected_algorithm_4_is_complete_and_sound_as_often_as_it_says() -> None:
    """200 rounds each; a round fails with probability a third at most, so 90 failures of 200 would be a fault (5·10⁻⁴)."""
    rng = np.random.default_rng(4)
    outputs, epsilon, alpha = 20, 0.4, 0.2
    runs = math.ceil(algorithm_4_runs(outputs, epsilon, alpha))
    p = rng.dirichlet(np.ones(outputs))
    q = p * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, outputs))
    q /= q.sum()
    worst = max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p)))
    far = np.eye(outputs)[0] * 0.5 + 0.5 * p
    errors = [0, 0]
    for _ in range(200):
        errors[0] += not algorithm_4(rng.multinomial(runs, p), rng.multinomial(runs, q), epsilon, worst, alpha)
        errors[1] += algorithm_4(rng.multinomial(runs, far), rng.multinomial(runs, q), epsilon, 0.0, alpha / 2)
    assert errors[0] <= 90
    assert errors[1] <= 90


@pytest.mark.parametrize("order", [1.0, 1.25, 2.0, 8.0])
def test_payoffs_of_a_true_claim_have_no_positive_mean_whatever_the_function_and_those_of_a_false_one_can(
    order: float,
) -> None:
    """Exact expectations over every small table; the best function reaches the divergence itself."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        ratio = np.log(p / q)
        powers = float(p @ np.exp((order - 1) * ratio))
        exact = float(p @ ratio) if order == 1 else math.log(powers) / (order - 1)
        best = Score(-50, 50, 1.0 if order == 1 else float(p @ np.exp((order - 1) * ratio)))
        tight = _mean(Renyi(order, exact), p, q, ratio, best)
        assert abs(tight) < 1e-9
        assert _mean(Renyi(order, exact * 0.9), p, q, ratio, best) > 0
        for _ in range(20):
            other = rng.normal(0, 1, 6)
            assert _mean(Renyi(order, exact), p, q, other, Score(-50, 50, float(rng.uniform(0.2, 5)))) <= 1e-9


def _mean(claim: Renyi, p: np.ndarray, q: np.ndarray, values: np.ndarray, score: Score) -> float:
    x, y = (side.ravel() for side in np.meshgrid(values, values, indexing="ij"))
    return float(np.outer(p, q).ravel() @ payoffs(claim, x, y, score))


def test_an_event_that_is_chosen_and_bounded_on_the_same_draws_would_refute_two_equal_laws() -> None:
    """Why audits have three parts: of 60 pairs, 60."""
    rng = np.random.default_rng(500)
    violated = 0
    for _ in range(60):
        x, y = (rng.integers(0, 500, 20_000) for _ in range(2))
        counts = np.bincount(x, minlength=500), np.bincount(y, minlength=500)
        best = int((counts[0] / np.maximum(counts[1], 1)).argmax())
        violated += claim_bound(Approximate(0.0), int(counts[0][best]), int(counts[1][best]), 20_000, 0.5) > 0
    assert violated == 60
