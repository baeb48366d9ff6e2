"""Numbers on the guarantee card against direct computation on distributions small enough to see through."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.privacy import statements as say
from app.core.privacy.posterior_cost import posterior_draw_cost
from tests.core.brute_force import Neighbourhood, Prior, log_posteriors, public_points


def randomized_response(epsilon: float, values: int) -> np.ndarray:
    """Rows: true value; columns: answer. The truth with odds e^ε against each other value."""
    channel = np.ones((values, values)) + (math.exp(epsilon) - 1) * np.eye(values)
    return channel / channel.sum(axis=1, keepdims=True)


def min_entropy_leakage(channel: np.ndarray) -> float:
    """log₂ of how much better the best guess gets under a uniform prior: Σ over answers of the largest entry."""
    return math.log2(channel.max(axis=0).sum())


@pytest.mark.parametrize("values", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 5.9, 40.0])
def test_the_leakage_bound_is_reached_by_randomized_response(epsilon: float, values: int) -> None:
    leaked = min_entropy_leakage(randomized_response(epsilon, values))
    assert say.leakage_bits(epsilon, values) == pytest.approx(leaked, rel=1e-9, abs=1e-12)


def test_no_random_mechanism_of_that_epsilon_leaks_more() -> None:
    generator = np.random.default_rng(7)
    for _ in range(2000):
        epsilon, values = generator.uniform(0.05, 3), int(generator.integers(2, 6))
        logs = generator.uniform(0, epsilon / 2, (values, 4))
        channel = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
        ratio = max(float(np.abs(np.log(x / y)).max()) for x, y in itertools.combinations(channel, 2))
        assert min_entropy_leakage(channel) <= say.leakage_bits(ratio, values) + 1e-12


def test_a_posterior_draw_leaks_less_about_one_person_than_the_card_says() -> None:
    model, people = bernoulli("x", 1, 1, 0.05), 5
    points = public_points(model, people, 1, 1.0)
    pure = Baps(1).cost(model, people, 1).total.pure
    for others in range(people):
        channel = np.exp(log_posteriors(points, Prior(1, 1), 1.0, [(others, people), (others + 1, people)]))
        assert min_entropy_leakage(channel.astype(float)) <= say.leakage_bits(pure, 2)


def test_leakage_saturates_at_the_whole_secret_without_overflow() -> None:
    assert say.leakage_bits(1e6, 8) == pytest.approx(3)
    assert say.leakage_bits(math.inf, 8) == pytest.approx(3)
    assert say.leakage_bits(699.9, 2) == pytest.approx(1)
    assert say.odds_factor(1e6) == math.inf
    assert say.odds_factor(1.0) == pytest.approx(math.e)


def test_nobody_tells_neighbours_apart_with_fewer_samples_than_stated() -> None:
    """The errors of the best test on N samples sum to 1 − TV(Pᴺ, Qᴺ), here computed over every outcome of N draws."""
    model, people, error = bernoulli("x", 1, 1, 0.25), 6, 0.2
    needed = say.samples_to_distinguish(posterior_draw_cost(model, people, 1, 0.7).kl_sup, error)
    assert needed > 2
    exact = Neighbourhood(public_points(model, people, 1, 0.7), Prior(1, 1), 0.7, people, 1)
    for x, y in zip(exact.first, exact.second, strict=True):
        p, q = np.exp(exact.log_p[x]), np.exp(exact.log_p[y])
        for samples in range(1, min(4, math.ceil(needed))):
            outcomes = [reduce(np.multiply.outer, [one] * samples).ravel() for one in (p, q)]
            assert np.minimum(*outcomes).sum() > 2 * error


@pytest.mark.parametrize("error", [0.05, 0.01, 0.2])
def test_the_number_of_samples_solves_the_inequality_it_comes_from(error: float) -> None:
    for kl in (1e-9, 1e-3, 0.5):
        needed = say.samples_to_distinguish(kl, error)
        assert 0.5 * math.exp(-needed * kl) == pytest.approx(2 * error)


@pytest.mark.parametrize("error", [0.0, 0.25, 0.5, -1.0, math.nan])
def test_error_rates_without_meaning_are_refused(error: float) -> None:
    with pytest.raises(ValueError, match="error rate"):
        say.samples_to_distinguish(0.1, error)


def test_identical_datasets_are_never_told_apart() -> None:
    assert say.samples_to_distinguish(0.0, 0.05) == math.inf


def test_the_papers_figure_is_their_formula() -> None:
    assert say.papers_samples_to_distinguish(math.log(20), 0.05) == pytest.approx(0.75)


def ising_chain(people: int, coupling: float) -> np.ndarray:
    """Joint distribution of ±1 records on a ring: neighbours agree with odds e^{2·coupling}."""
    states = np.array(list(itertools.product((-1, 1), repeat=people)))
    energy = coupling * (states * np.roll(states, 1, axis=1)).sum(axis=1)
    weights = np.exp(energy).reshape((2,) * people)
    return weights / weights.sum()


def influence(joint: np.ndarray) -> np.ndarray:
    """γ_ij: half the largest log-ratio of P(x_i | rest) when x_j alone changes."""
    people = joint.ndim
    gamma = np.zeros((people, people))
    for i in range(people):
        conditional = np.log(joint / joint.sum(axis=i, keepdims=True))
        for j in range(people):
            if i != j:
                gamma[i, j] = np.abs(np.diff(conditional, axis=j)).max() / 2
    return gamma


@pytest.mark.parametrize("coupling", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_dependent_records_are_inferred_no_better_than_the_card_allows(coupling: float, epsilon: float) -> None:
    """Everyone's record through randomized response of ε: the log-odds of one person, over every answer seen."""
    people = 5
    joint = ising_chain(people, coupling)
    total_influence = float(influence(joint).sum(axis=1).max())
    assert 0 < total_influence < 1
    channel = randomized_response(epsilon, 2)
    prior = joint.sum(axis=tuple(range(1, people)))
    worst = 0.0
    for answer in itertools.product((0, 1), repeat=people):
        seen = joint
        for person, value in enumerate(answer):
            shape = [1] * people
            shape[person] = 2
            seen = seen * channel[:, value].reshape(shape)
        posterior = seen.sum(axis=tuple(range(1, people)))
        moved = math.log(posterior[0] / posterior[1]) - math.log(prior[0] / prior[1])
        worst = max(worst, abs(moved))
    assert epsilon < worst <= say.inferential_bound(epsilon, total_influence)


def test_independent_records_are_bounded_by_epsilon_itself() -> None:
    assert say.inferential_bound(0.7, 0.0) == 0.7
    for wrong in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="influence"):
            say.inferential_bound(0.7, wrong)
