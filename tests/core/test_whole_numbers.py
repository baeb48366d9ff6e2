"""Exact answers as whole numbers: nothing is lost on the way, every dataset's are taken, and what none could have is not."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.schema import parse_columns
from app.core.statistics import (
    CountsRequest,
    ExactCounts,
    ExactHistogram,
    ExactMoments,
    ExactSeveral,
    ExactStatistic,
    GroupedRequest,
    HistogramRequest,
    MomentsRequest,
    NodeCounts,
    SeveralRequest,
    StatisticRequest,
)
from app.core.statistics.groups import ExactGroups, GroupColumn
from app.core.statistics.moments import moments_of
from app.core.statistics.whole_numbers import FORMS, Rows, exact_of, is_possible, numbers_of, size_of
from app.sources.row_statistics import STATISTICS

SUM = StatisticRequest("x", lower=0.0, upper=2.0, steps=2)
COLUMNS = parse_columns(
    {"age": {"type": "real", "lower": 0, "upper": 100}, "dose": {"type": "real", "lower": 0, "upper": 10}}
)
LINEAR = {"family": "linear_regression", "target": "age", "features": ["dose"], "noise_sd": 5.0, "radius": 9.0}
PAIR = CountsRequest(
    (NodeCounts("a", (), (2,)), NodeCounts("b", ("a",), (2, 2))), (("a", ("no", "yes")), ("b", ("no", "yes")))
)


def exactly(people: int) -> Rows:
    return Rows(people, people)


def moments_request() -> MomentsRequest:
    found = parse_model(LINEAR, COLUMNS).statistic
    assert isinstance(found, MomentsRequest)
    return found


def counted(rows: tuple[tuple[int, int], ...]) -> ExactCounts:
    """(a, b) of every row, counted as the network's request has it."""
    a = [sum(row[0] == level for row in rows) for level in (0, 1)]
    b = [sum(row == (first, second) for row in rows) for first, second in product((0, 1), repeat=2)]
    return ExactCounts(np.array([*a, *b]), len(rows))


def test_every_statistic_of_rows_has_a_form() -> None:
    assert set(FORMS) == {*STATISTICS, SeveralRequest}


def test_sums_of_every_dataset_are_taken_and_no_others() -> None:
    for people in (1, 2, 3):
        reachable = {sum(rows) for rows in product(range(SUM.steps + 1), repeat=people)}
        taken = {total for total in range(-4, 12) if is_possible(SUM, ExactStatistic(total, people), exactly(people))}
        assert taken == reachable
    assert not is_possible(SUM, ExactStatistic(1, 3), exactly(2))
    assert is_possible(SUM, ExactStatistic(1, 3), Rows(2, 4))


def test_counts_of_every_dataset_are_taken_and_no_others() -> None:
    """All networks of three people; then every table of numbers up to three, most of which nobody could have."""
    cells = [*product((0, 1), repeat=2)]
    reachable = {tuple(counted(rows).cells.tolist()) for rows in combinations_with_replacement(cells, 3)}
    taken = {
        numbers
        for numbers in product(range(4), repeat=6)
        if is_possible(PAIR, ExactCounts(np.array(numbers), 3), exactly(3))
    }
    assert taken == reachable
    assert not is_possible(PAIR, ExactCounts(np.array([4, -1, 4, 0, -1, 0]), 3), exactly(3))


@pytest.mark.parametrize("people", [1, 2, 7])
def test_moments_of_every_dataset_are_taken(people: int) -> None:
    request = moments_request()
    source = np.random.default_rng(5)
    corners = [*product((0.0, 100.0), (0.0, 10.0))]
    datasets = [source.uniform(0, 1, (people, 2)) * [100, 10] for _ in range(30)]
    datasets += [np.array([corners[i] for i in picked]) for picked in combinations_with_replacement(range(4), people)]
    for rows in datasets:
        exact = moments_of(request, {"age": rows[:, 0], "dose": rows[:, 1]})
        assert is_possible(request, exact, exactly(people))
        assert not is_possible(request, exact, exactly(people + 1))
        again = exact_of(request, numbers_of(request, exact))
        assert numbers_of(request, again) == numbers_of(request, exact)
        assert np.array_equal(again.products, exact.products)


def test_moments_that_nobody_could_have_are_not_taken() -> None:
    request = moments_request()
    rows = {"age": [10.0, 80.0, 55.0], "dose": [1.0, 7.5, 9.0]}
    numbers = numbers_of(request, moments_of(request, rows))
    for place in range(len(numbers)):
        for change in (-(1 << 34), 1 << 34):
            changed = [*numbers]
            changed[place] += change
            assert not is_possible(request, exact_of(request, changed), exactly(3)), (place, change)
    d = request.dimension
    odd = [*numbers]
    odd[-2] += 1
    assert not is_possible(request, exact_of(request, odd), exactly(3)), "a sum that is odd where its squares are even"
    blank = request.of_no_rows()
    assert is_possible(request, blank, exactly(0))
    for products, sums in ((1, 0), (0, 1)):
        lone = ExactMoments(np.eye(d, dtype=np.int64) * products, blank.cross, 0, blank.sums + sums, 0)
        assert not is_possible(request, lone, exactly(0))


def test_moments_without_a_target_have_nothing_of_one() -> None:
    request = MomentsRequest(moments_request().coordinates, False, 1.0)
    exact = moments_of(request, {"dose": [3.0, 4.0]})
    assert is_possible(request, exact, exactly(2))
    changed = ExactMoments(exact.products, exact.cross, 4, exact.sums, exact.rows)
    assert not is_possible(request, changed, exactly(2))


def test_histograms_count_everybody_once() -> None:
    request = HistogramRequest(SUM, (0, 1, 2))
    for counts, taken in (([1, 1, 1], True), ([3, 0, 0], True), ([4, 0, 0], False), ([4, -1, 0], False)):
        assert is_possible(request, ExactHistogram(np.array(counts)), exactly(3)) is taken


def test_groups_hold_everybody_unless_some_are_left_out() -> None:
    two = (GroupColumn("arm", ("drug", "placebo")),)
    everybody, some = GroupedRequest(SUM, two), GroupedRequest(SUM, two, present=("x",))
    for request, people, taken in ((everybody, 2, False), (everybody, 3, True), (everybody, 4, False), (some, 2, True)):
        exact = ExactGroups((ExactStatistic(1, 1), ExactStatistic(0, people - 1)))
        assert is_possible(request, exact, exactly(3)) is taken
        assert exact_of(request, numbers_of(request, exact)).parts[0].total == 1
        assert size_of(request) == 4


def test_parts_are_of_the_same_rows() -> None:
    request = SeveralRequest((SUM, SUM))
    for second, taken in ((2, True), (3, False)):
        exact = ExactSeveral((ExactStatistic(1, 2), ExactStatistic(1, second)))
        assert is_possible(request, exact, Rows(2, 4)) is taken
    with pytest.raises(ValueError, match="another number"):
        exact_of(request, [0, 0, 0])
