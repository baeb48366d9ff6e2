"""Attacks on the sampler itself: low bits of what is released, how much work it took, and what prints."""

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from app.core.grids import integer_table
from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import IntegerTable
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.statistic import clamped
from app.core.statistics.sums import ExactStatistic

MODEL = bernoulli("cured", 1, 1, 0.05)
PEOPLE = 200


def seeded(label: str) -> Callable[[int], bytes]:
    return lambda count: hashlib.shake_256(label.encode()).digest(count)


def table(ones: int) -> IntegerTable:
    constants = MODEL.constants(MODEL.grid(PEOPLE, 1.0))
    return integer_table.integer_table(constants, ExactStatistic(ones, PEOPLE))


@pytest.mark.parametrize("ones", [0, 1, 100, 199, 200])
def test_every_released_value_is_a_public_grid_point_bit_for_bit(ones: int) -> None:
    public = {value.hex() for value in MODEL.grid(PEOPLE, 1.0).theta.tolist()}
    drawn = Baps(3000).draw(MODEL, PEOPLE, 1, ExactStatistic(ones, PEOPLE), seeded(f"low bits {ones}"))
    assert {value.hex() for value in drawn[:, 0].tolist()} <= public


def test_neighbours_have_the_same_support_so_no_single_value_gives_anyone_away() -> None:
    """The attack that breaks samplers of doubles: look for a value that only one of two datasets can produce."""
    size = MODEL.grid(PEOPLE, 1.0).size
    for ones in (0, 1, 67, 199, 200):
        weights = np.diff([0, *table(ones).cumulative[:size]])
        assert all(weight > 0 for weight in weights)


@pytest.mark.slow
def test_no_value_is_likelier_on_a_neighbour_than_the_pure_cost_allows() -> None:
    pure = Baps(1).cost(MODEL, PEOPLE, 1).total.pure
    size = MODEL.grid(PEOPLE, 1.0).size
    tables = [table(ones).cumulative[:size] for ones in range(PEOPLE + 1)]
    logs = [[math.log(b - a) - math.log(t[-1]) for a, b in zip([0, *t], t, strict=False)] for t in tables]
    worst = max(abs(a - b) for x, y in itertools.pairwise(logs) for a, b in zip(x, y, strict=True))
    assert worst <= pure


class CountedInt(int):
    """Counts how often it is compared: one comparison a step of a bisection."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        CountedInt.comparisons += 1
        return int(self) < int(other)

    def __gt__(self, other: int) -> bool:
        CountedInt.comparisons += 1
        return int(self) > int(other)


@pytest.mark.parametrize("ones", [0, 3, 100, 200])
def test_a_draw_takes_the_same_number_of_comparisons_whatever_the_data(ones: int) -> None:
    counted = IntegerTable([CountedInt(value) for value in table(ones).cumulative])
    for label in ("one", "two", "three"):
        CountedInt.comparisons = 0
        counted.draw(50, seeded(label))
        assert CountedInt.comparisons == 50 * MODEL.grid(PEOPLE, 1.0).size.bit_length()


def calls_while_fitting(monkeypatch: pytest.MonkeyPatch, ones: int, rows: int) -> Counter[str]:
    """Every exponential, scaling and request for randomness made while a release is drawn, with its size."""
    made: Counter[str] = Counter()

    def watched(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            made[name] += 1
            return real(*arguments)

        return call

    for name in ("exp", "fsum", "_scaled", "bisect_right", "integer_weights"):
        monkeypatch.setattr(integer_table, name, watched(name, getattr(integer_table, name)))

    def randomness(count: int) -> bytes:
        made[f"{count} random bytes"] += 1
        return seeded("work")(count)

    drawn = Baps(40).draw(MODEL, PEOPLE, 2, ExactStatistic(ones, rows), randomness)
    assert drawn.shape == (40, 1)
    monkeypatch.undo()
    return made


def test_the_work_of_a_fit_does_not_depend_on_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = [(0, 200), (200, 200), (1, 200), (137, 301), (400, 400), (0, 400), (-3, 5), (10**9, 10**9)]
    work = [calls_while_fitting(monkeypatch, ones, rows) for ones, rows in datasets]
    points = MODEL.grid(2 * PEOPLE, 1.0).size
    assert work[0]["exp"] == work[0]["_scaled"] == points
    assert work[0]["1280 random bytes"] == 1
    assert all(made == work[0] for made in work)


def test_a_failing_source_of_randomness_fails_the_draw() -> None:
    def broken(count: int) -> bytes:
        raise OSError("no entropy")

    with pytest.raises(OSError, match="no entropy"):
        Baps(3).draw(MODEL, PEOPLE, 1, ExactStatistic(5, PEOPLE), broken)


def test_private_values_print_nothing() -> None:
    statistic = ExactStatistic(total=31337, rows=424242)
    drawn = table(67)
    secret = str(drawn.cumulative[40])
    for shown in (
        repr(statistic),
        str(statistic),
        f"{statistic}",
        repr([statistic, {"s": statistic}]),
    ):
        assert "31337" not in shown
        assert "424242" not in shown
    for shown in (repr(drawn), str(drawn), f"{drawn!r:>10}"):
        assert secret[:12] not in shown
        assert not any(character.isdigit() for character in shown)


def test_an_error_raised_around_private_values_does_not_carry_them() -> None:
    with pytest.raises(AttributeError) as raised:
        ExactStatistic(31337, 424242).total = 5
    assert "31337" not in str(raised.value)


def test_the_sampler_reads_nothing_but_the_clamped_statistic() -> None:
    """Row counts outside what was declared are folded back before anything is computed from them."""
    inside = clamped(MODEL, PEOPLE, 1, ExactStatistic(10**30, -(10**30)))
    assert (inside.total, inside.rows) == (PEOPLE, PEOPLE)
