"""Utility bounds against simulated noise and exact divergences; expected errors in the order they must have."""

import math

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from app.core.kinds.networks.accuracy import expected_accuracy, prior_tables, simulated_rows
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkFourier, NetworkLaplace
from app.core.kinds.networks.statistic import count_records
from app.core.kinds.networks.utility_bounds import (
    largest_noise,
    lemma_4,
    proposition_1,
    theorem_1,
    theorem_1_deviation,
    theorem_3,
)
from app.core.noise.discrete_laplace import seeded_noise
from tests.core.networks.test_noise_mechanisms import random_network
from tests.core.networks.test_record_costs import model_of


@pytest.mark.parametrize(("scale", "noises"), [(0.4, 5), (3.0, 40), (50.0, 200)])
def test_largest_of_many_noises_exceeds_its_bound_no_more_often_than_stated(scale: float, noises: int) -> None:
    """δ = 0.1, 4,000 vectors; above δ by 5 sd: false alarm under 10⁻⁶."""
    noise = seeded_noise(np.random.default_rng(3))(np.zeros((4_000, noises), dtype=np.int64), scale)
    over = (np.abs(noise).max(axis=1) > largest_noise(scale, noises, 0.1)).mean()
    assert over <= 0.1 + 5 * math.sqrt(0.09 / 4_000)


def dirichlet_kl(a: np.ndarray, b: np.ndarray) -> float:
    """KL(Dirichlet(a) ‖ Dirichlet(b))."""
    value = gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
    return float(value + ((a - b) * (digamma(a) - digamma(a.sum()))).sum())


def test_divergence_of_noisy_posteriors_stays_within_its_bound() -> None:
    """δ = 0.2, 300 releases; above δ by 5 sd: false alarm under 10⁻⁶."""
    model = model_of((2, 3), ((), (0,)), 0.7, "tree", 0.05)
    rng = np.random.default_rng(9)
    counts = count_records(model.network, np.column_stack([rng.integers(0, 2, 30), rng.integers(0, 3, 30)]))
    mechanism = NetworkLaplace(1, 2.0)
    noise = seeded_noise(rng)
    bound, over = theorem_1(model, mechanism, 30, 1, 0.2), 0
    for _ in range(300):
        noisy = mechanism.noisy_counts(model, 30, 1, counts, noise)
        total = 0.0
        for i, levels in ((0, 2), (1, 3)):
            exact, released = (
                cells[model.network.cells(i)].reshape(-1, levels) + 0.7 for cells in (counts.cells, noisy)
            )
            total += sum(dirichlet_kl(a, b) for a, b in zip(exact, released, strict=True))
        over += total > bound
    assert over / 300 <= 0.2 + 5 * math.sqrt(0.16 / 300)
    assert proposition_1(model, mechanism, 1, 1, 0.2) == 1


def test_fourier_tables_stay_within_their_l1_bound() -> None:
    """δ = 0.2, 400 releases; above δ by 5 sd: false alarm under 10⁻⁶."""
    model = random_network(6, 2, 1)
    rng = np.random.default_rng(2)
    counts = count_records(model.network, rng.integers(0, 2, (30, 6)))
    mechanism = NetworkFourier(1, 1.0, 0.5)
    noise = seeded_noise(rng)
    part = model.network.cells(5)
    bound = theorem_3(model, mechanism, 5, 1, 0.2)
    errors = [
        np.abs(mechanism.noisy_tables(model, 30, 1, counts, noise)[part] - counts.cells[part]).sum() for _ in range(400)
    ]
    assert (np.array(errors) > bound).mean() <= 0.2 + 5 * math.sqrt(0.16 / 400)


def test_exponential_mechanism_rarely_falls_far_below_the_best_score() -> None:
    """Exactly, on tables of random scores."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        scores = rng.random(40)
        epsilon, delta, t = rng.uniform(0.5, 20), rng.uniform(0.1, 1), rng.uniform(0.02, 0.4)
        weights = np.exp(epsilon * scores / (2 * delta))
        far = weights[scores <= scores.max() - 2 * t].sum() / weights.sum()
        share = (scores > scores.max() - t).mean()
        assert far <= lemma_4(epsilon, delta, t, share) * (1 + 1e-12)
    assert theorem_1_deviation([3.0, 4.0], math.exp(-2)) == pytest.approx(5.0)


def test_simulated_rows_follow_their_tables() -> None:
    """60,000 rows, every conditional frequency within 6 standard errors."""
    model = model_of((2, 3), ((), (0,)), 1.0, "tree", 0.05)
    rng = np.random.default_rng(1)
    tables = prior_tables(model, rng)
    counts = count_records(model.network, simulated_rows(model, tables, 60_000, rng)).cells
    for i, levels in ((0, 2), (1, 3)):
        wanted = tables[model.network.cells(i)].reshape(-1, levels)
        found = counts[model.network.cells(i)].reshape(-1, levels)
        rows = found.sum(axis=1, keepdims=True)
        assert (np.abs(found / rows - wanted) < 6 * np.sqrt(wanted * (1 - wanted) / rows)).all()


def test_more_people_a_larger_epsilon_and_more_samples_are_expected_to_err_less() -> None:
    model = random_network(6, 2, 8)
    pairs = [
        ((NetworkLaplace(100, 1.0), 20_000), (NetworkLaplace(100, 1.0), 200)),
        ((NetworkLaplace(100, 10.0), 500), (NetworkLaplace(100, 0.1), 500)),
        ((NetworkFourier(100, 10.0, 0.0), 500), (NetworkFourier(100, 0.1, 0.0), 500)),
        ((NetworkBaps(100), 5_000), (NetworkBaps(1), 5_000)),
        ((NetworkBaps(100), 500), (NetworkBaps(100, 0.001), 500)),
    ]
    for (better, many), (worse, few) in pairs:
        assert expected_accuracy(model, better, many, 1).kl < expected_accuracy(model, worse, few, 1).kl
