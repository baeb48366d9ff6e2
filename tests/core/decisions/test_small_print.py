"""Coverage of intervals between order statistics, and when samples are piled up at an end of their public range."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from app.core.decisions import SampleSet
from app.core.decisions.small_print import STRAY_SHARE, Ranks, end_piled_at
from app.core.parameters import Parameter

THETA = Parameter("theta", 0.05, 0.95)
ENDS = Fraction(1, 20), Fraction(19, 20)
MODEL = (0.5, 0.3, 0.2), ((0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.1, 0.1, 0.8))
"""A prior over three values of θ and the law of one of three outcomes given each."""


def posteriors() -> list[tuple[float, list[float]]]:
    """(probability, posterior) of every outcome."""
    prior, law = MODEL
    joint = [[p * row[y] for p, row in zip(prior, law, strict=True)] for y in range(3)]
    return [(sum(each), [value / sum(each) for value in each]) for each in joint]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_an_interval_of_draws_holds_the_truth_as_often_as_it_says(size: int):
    """All data, all draws and all truths, enumerated: on average over the prior, with ties as bad as a table of three has."""
    for low, high in itertools.combinations_with_replacement(range(1, size + 1), 2):
        held = 0.0
        for share, posterior in posteriors():
            for drawn in itertools.product(range(3), repeat=size):
                chance = share * float(np.prod([posterior[value] for value in drawn]))
                ordered = sorted(drawn)
                held += chance * sum(posterior[ordered[low - 1] : ordered[high - 1] + 1])
        ranks = Ranks(low, high, size)
        assert held >= ranks.share - 1e-12
        assert ranks.of_draws(1) == max(0.0, ranks.share - STRAY_SHARE)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_an_interval_of_points_from_equal_strata_holds_at_least_its_share(size: int):
    """θ is uniform, a function of it is not monotone: false alarm below 10⁻⁶ at five standard errors, seed fixed."""
    rng = np.random.default_rng(3)
    runs = 20_000

    def number(theta: np.ndarray) -> np.ndarray:
        return np.abs(theta - 0.4) + 0.3 * np.sin(9 * theta)

    points = np.sort(number((np.arange(size) + rng.uniform(size=(runs, size))) / size), axis=1)
    truth = number(rng.uniform(size=runs))
    for low, high in itertools.combinations(range(1, size + 1), 2):
        held = np.mean((points[:, low - 1] <= truth) & (truth <= points[:, high - 1]))
        assert held >= Ranks(low, high, size).of_points() - 5 * 0.5 / runs**0.5


def test_one_sample_is_an_interval_that_holds_nothing_for_certain():
    one = Ranks.of(ENDS, 1)
    assert (one.low, one.high, one.of_draws(1)) == (1, 1, 0.0)
    assert one.is_short(0.9)
    assert not Ranks.of(ENDS, 20).is_short(0.9)
    assert Ranks.of(ENDS, 5).is_short(0.9)


def test_a_pile_at_an_end_is_seen_and_a_wide_or_distant_law_is_not():
    rng = np.random.default_rng(1)
    draws = {
        "lower": 0.05 + rng.exponential(0.002, 400),
        "upper": 0.95 - np.abs(rng.normal(0, 0.02, 400)),
        "wide": rng.uniform(0.05, 0.95, 400),
        "distant": rng.normal(0.5, 0.02, 400),
        "three deviations off": np.clip(rng.normal(0.11, 0.02, 400), 0.05, 0.95),
    }
    found = {name: SampleSet([THETA], values[:, None]).piled_at(0) for name, values in draws.items()}
    assert found == {"lower": "lower", "upper": "upper", "wide": None, "distant": None, "three deviations off": None}
    assert end_piled_at(THETA, 0.052, None) == "lower"
    assert end_piled_at(THETA, 0.3, None) is None


def test_what_is_said_of_a_prefix_is_a_function_of_the_prefix():
    low, high = np.full((50, 1), 0.0505), np.full((50, 1), 0.9)
    one, other = (SampleSet([THETA], np.concatenate([low, tail])) for tail in (low, high))
    assert one.prefix(50).piled_at(0) == other.prefix(50).piled_at(0) == "lower"
    assert other.piled_at(0) is None
