"""Outputs made to raise a false alarm: whatever they are, a score is fixed before the runs that decide are looked at."""

import hashlib

import numpy as np
import pytest

from app.core.audits.black_box import audit_samples
from app.core.audits.claims import Approximate
from app.core.audits.outputs import FITTED, read_sides
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
