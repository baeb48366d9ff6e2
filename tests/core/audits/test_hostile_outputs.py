"""Outputs made to raise a false alarm: whatever they are, a score is fixed before the runs that decide are looked at."""

import hashlib

import numpy as np
import pytest

from app.core.audits.black_box import audit_samples
from app.core.audits.claims import Approximate
from app.core.audits.outputs import FITTED, read_sides
from app.core.audits.verdict import TestResult
from tests.deep import deep


def never_twice(rng: np.random.Generator, runs: int) -> list[str]:
    return [rng.bytes(8).hex() for _ in range(runs)]


def test_texts_that_never_come_twice_do_not_tell_a_law_from_itself() -> None:
    """Numbered in the order they came, all of x came before all of y, and two equal laws were told apart for sure."""
    rng = np.random.default_rng(5)
    found = audit_samples(Approximate(0.1), *read_sides(never_twice(rng, 1_000), never_twice(rng, 1_000)), 1e-6)
    assert found.verdict == "not_refuted"


def test_a_text_is_the_same_number_whatever_else_was_printed() -> None:
    (alone, _), (after, _) = read_sides(["b"], ["c"]), read_sides([*"zyxwb"], ["c"])
    assert alone.numbers[0, 0] == after.numbers[-1, 0]
    assert alone.numbers[0, 0] == int.from_bytes(hashlib.sha256(b"b").digest()[:6], "big")


@pytest.mark.parametrize("late", [range(70), [10**9], [-1]])
def test_kinds_of_outputs_are_those_of_the_part_that_fits_whatever_comes_later(late: list[int]) -> None:
    early = [1, 2, 3, 4] * 25
    plain, changed = (read_sides([*early, *tail], early)[0] for tail in ([1] * 70, (list(late) * 70)[:70]))
    assert plain.kinds is not None
    assert changed.kinds is not None
    assert (plain.kinds[:100] == changed.kinds[:100]).all()
    assert set(changed.kinds.tolist()) <= set(range(5))


def test_more_kinds_than_are_told_apart_in_the_part_that_fits_are_none() -> None:
    many = list(range(65)) * FITTED
    assert read_sides(many, many)[0].kinds is None


@pytest.mark.parametrize("rounds", [8, deep(400)])
def test_rare_late_outputs_raise_no_more_alarms_than_the_level(rounds: int) -> None:
    """Sixty common outputs and many rare ones, so that late runs used to decide how they are scored. Of 8 audits at .05 4 alarms
    would be a fault (4·10⁻⁴), of 400 36 (10⁻³)."""
    rng, alarms = np.random.default_rng(64), 0
    for _ in range(rounds):
        x, y = (np.where(rng.random(600) < 0.01, rng.integers(60, 10**6, 600), rng.integers(0, 60, 600)) for _ in "xy")
        alarms += audit_samples(Approximate(0.0), *read_sides(x.tolist(), y.tolist()), 0.05).verdict == "refuted"
    assert alarms <= (3 if rounds < 100 else 35)


def counts_test(x: list[int], y: list[int], claim: Approximate) -> TestResult:
    (found,) = [t for t in audit_samples(claim, *read_sides(x, y), 0.05).tests if t.name.startswith("Algorithm 4")]
    return found


def test_algorithm_4_takes_part_where_outputs_can_be_counted_and_sees_what_no_single_output_shows() -> None:
    """A δ of .27 one way only, which the thesis's own version takes."""
    rng = np.random.default_rng(4)
    y = (rng.random(20_000) < 0.3).astype(int)
    found = counts_test([0] * 20_000, y.tolist(), Approximate(0.5, 0.01))
    assert found.verdict == "refuted"
    assert found.draws == 16_000
    assert found.lower_bound > 0.5
    assert counts_test(y.tolist(), y.tolist(), Approximate(0.5, 0.01)).verdict == "not_refuted"


@pytest.mark.parametrize("epsilon", [0.0, 49.0, 51.0, 800.0, 1e4])
def test_algorithm_4_says_nothing_of_claims_that_no_count_can_reach(epsilon: float) -> None:
    rng = np.random.default_rng(4)
    x, y = (rng.integers(0, 3, 200).tolist() for _ in "xy")
    assert counts_test(x, y, Approximate(epsilon)).verdict == "not_refuted"


@pytest.mark.parametrize("rounds", [20, deep(1_000)])
def test_algorithm_4_alone_alarms_no_more_often_than_its_share(rounds: int) -> None:
    """Randomised response at its own ε: 3 alarms of 20 would be a fault (2·10⁻⁵), 16 of 1,000 too (10⁻⁴)."""
    rng, chance, alarms = np.random.default_rng(44), 1 / (1 + np.exp(-1.0)), 0
    for _ in range(rounds):
        x, y = (rng.random(300) < share for share in (chance, 1 - chance))
        alarms += counts_test(x.astype(int).tolist(), y.astype(int).tolist(), Approximate(1.0)).verdict == "refuted"
    assert alarms <= (2 if rounds < 100 else 15)
