"""How often a true claim is refuted, and how soon a false one is."""

import math

import numpy as np
import pytest

from app.core.audits.black_box import audit_pairs, audit_samples
from app.core.audits.claims import Approximate, Claim, RandomPairs, Renyi, Score
from app.core.audits.outputs import Outputs, read_sides
from app.core.audits.wealth import Bet, best_part, play
from app.core.noise.discrete_laplace import seeded_noise
from tests.deep import deep

LEVEL = 0.05


def laplace_sides(rng: np.random.Generator, runs: int, epsilon: float = 1.0) -> tuple[Outputs, Outputs]:
    noise = seeded_noise(rng)
    x, y = (noise(np.full(runs, at, dtype=np.int64), 1 / epsilon) for at in (0, 1))
    return read_sides(x.tolist(), y.tolist())


def alarms(claim: Claim, rounds: int, runs: int = 1_000) -> int:
    rng = np.random.default_rng(16)
    return sum(audit_samples(claim, *laplace_sides(rng, runs), LEVEL).verdict == "refuted" for _ in range(rounds))


CLAIMS = [Approximate(1.0), Approximate(0.9, 0.08), Renyi(1.0, 0.4622), Renyi(2.0, 0.7617)]
"""True of discrete Laplace noise of scale 1 on neighbours one apart, and the first two all but false."""


@pytest.mark.slow
@pytest.mark.cases(2)
@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_true_claims_are_refuted_no_more_often_than_the_level_says(claim: Claim) -> None:
    """12 audits at .05: 6 alarms would be a fault (2·10⁻⁵)."""
    assert alarms(claim, 12, runs=600) <= 5


@pytest.mark.deep
@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_fewer_than_six_in_a_hundred_of_a_thousand_audits_of_correct_noise_raise_an_alarm(claim: Claim) -> None:
    assert alarms(claim, 1_000) < 60


def refuted_at_half_the_charge(rounds: int, runs: int) -> int:
    """Discrete Laplace ε = 1 charged as ½, by wealth on the half-line between the two, staked as is best for κ = 2."""
    rng, claim, score = np.random.default_rng(363), Approximate(0.5), Score(0, 1)
    p = 1 / (1 + math.exp(-1))
    event = np.array([1.0, 0.0])
    part = best_part(claim, event, event, score, (np.array([p, 1 - p]), np.array([1 - p, p])))
    noise, found = seeded_noise(rng), 0
    for _ in range(rounds):
        x, y = (noise(np.full(runs, at, dtype=np.int64), 1.0) for at in (0, 1))
        wealth = Bet(claim, score, part).log_wealth((x <= 0).astype(float), (y <= 0).astype(float))
        found += play([wealth], 0.01).stopped > 0
    return found


def test_half_the_charge_is_refuted_within_800_runs() -> None:
    """Of 100 rounds at most 1 in 100 may fail; 7 would be a fault (10⁻⁴)."""
    assert refuted_at_half_the_charge(100, 799) >= 94


@pytest.mark.deep
def test_half_the_charge_is_refuted_within_800_runs_with_probability_99_in_100() -> None:
    assert refuted_at_half_the_charge(10_000, 799) >= 9_900


@pytest.mark.parametrize("claim", [Approximate(0.5), Renyi(1.0, 0.2), Renyi(2.0, 0.3)], ids=str)
def test_a_charge_of_about_half_is_refuted_without_knowing_the_law(claim: Claim) -> None:
    rng = np.random.default_rng(2)
    found = audit_samples(claim, *laplace_sides(rng, 6_000), 0.01)
    assert found.verdict == "refuted"
    assert found.lower_bound is not None
    assert found.lower_bound > claim.cost


def test_what_was_not_refuted_says_what_would_have_been() -> None:
    found = audit_samples(Approximate(1.0), *laplace_sides(np.random.default_rng(3), 3_000), 0.01)
    assert found.verdict == "not_refuted"
    assert found.detects is not None
    assert 1.0 < found.detects < 2.0


@pytest.mark.parametrize("rounds", [8, deep(400)])
def test_under_charges_by_what_was_said_to_be_noticed_are_noticed(rounds: int) -> None:
    """Randomised response κ times dearer than claimed, κ as told, at the test's own score: at most 1 in 100 unseen (10⁻³)."""
    runs, claim = 2_000, Approximate(0.5)
    kappa = audit_samples(claim, *laplace_sides(np.random.default_rng(3), runs, 0.5), 0.01).detects
    assert kappa is not None
    rng, chance, missed = np.random.default_rng(1), 1 / (1 + math.exp(-kappa * 0.5)), 0
    for _ in range(rounds):
        x, y = (rng.random(runs) < share for share in (chance, 1 - chance))
        missed += audit_samples(claim, *read_sides(x.tolist(), y.tolist()), 0.01).verdict != "refuted"
    assert missed <= max(3, rounds * 0.04)


@pytest.mark.parametrize("broken", [math.nan, math.inf, None])
def test_an_output_that_is_no_number_is_inconclusive_and_never_passes(broken: float | None) -> None:
    values: list[float | None] = [0.5] * 400
    x, y = read_sides([*values, broken], [*values, 0.1])
    assert audit_samples(Approximate(1.0), x, y, 0.01).verdict == "inconclusive"


def test_few_runs_are_inconclusive() -> None:
    assert audit_samples(Approximate(1.0), *read_sides([1] * 20, [0] * 20), 0.01).verdict == "inconclusive"


@pytest.mark.slow
def test_a_claim_of_all_but_a_few_pairs_is_refuted_when_too_many_violate_it_and_only_then() -> None:
    rng = np.random.default_rng(9)
    private = [laplace_sides(rng, 300, 0.3) for _ in range(9)]
    not_private = [laplace_sides(rng, 300, 4.0) for _ in range(5)]
    claim = RandomPairs(Approximate(0.5), 0.1, "made here")
    assert audit_pairs(claim, private, 0.05, 0.01).verdict == "not_refuted"
    assert audit_pairs(claim, [*private[:4], *not_private], 0.05, 0.01).verdict == "refuted"
    assert audit_pairs(claim, private[:1], 0.05, 0.01).verdict == "inconclusive"
