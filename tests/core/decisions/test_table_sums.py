"""Tables of responses by samples, against every entry worked out by itself in plain Python and added exactly."""

import math

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.empirical import Empirical
from app.core.decisions.utilities.table_sums import TableSums
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from tests.deep import deep

PARAMETERS = (Parameter("theta", 0.0, 1.0), Parameter("phi", -2.0, 3.0))
SIZES = (1, 2, 37, 1_000, 20_000)
UTILITIES = [
    "-abs(g - r) - 0.25",
    "-abs(r - g) * 3",
    "min(g, r) - 0.4 * r",
    "0.4 * r - max(r, theta) / 2",
    "max(theta * phi, r) - phi",
    "abs(theta * phi - r * 2) + abs(theta - r)",
    "max(g - r, 0) * 2 - 3 * max(r - g, 0)",
    "theta * r - 0.002 * r ** 2",
    "-(g - r) ** 2",
    "r * (phi * (r - theta) - (theta - 0.5))",
    "(phi - r * theta) / (2 + r ** 2)",
    "exp(-(theta - r) ** 2) * (1 + phi) - r",
    "where(g > r, 2 * phi, r) - (theta <= r) * (phi > r)",
    "min(g, r, 0.5, phi) - max(0.1, abs(g), r)",
    "r",
    "phi",
    "1 - r * 0",
    "abs(g - 0.5) * r",
    "(1000000 + theta * r) - 1000000",
    "2 - abs(abs(theta - r) - abs(phi - r))",
]


def samples_of(size: int, seed: int = 7) -> SampleSet:
    source = np.random.default_rng(seed)
    theta = source.beta(2, 3, size)
    phi = source.integers(-2, 4, size).astype(np.float64)
    return SampleSet(PARAMETERS, np.stack([theta, phi], axis=1))


def question_of(text: str, points: list[float], reach: tuple[float, float] = (-100, 100)):
    spec = {"kind": "expression", "utility": text, "responses": points, "range": list(reach)}
    return compile_question({"estimand": {"kind": "parameter", "name": "theta"}, "utility": spec}, PARAMETERS)


def means_of(text: str, points: list[float], samples: SampleSet) -> list[float]:
    code = compile(text, "utility", "eval")
    known = {
        "min": min,
        "max": max,
        "abs": abs,
        "exp": math.exp,
        "where": lambda test, one, other: one if test else other,
    }
    rows = samples.matrix.tolist()
    return [
        math.fsum(eval(code, known, {"theta": t, "g": t, "phi": p, "r": r}) for t, p in rows) / len(rows)  # noqa: S307
        for r in points
    ]


@pytest.mark.cases(25)
@pytest.mark.parametrize(("size", "checked"), [*((size, 9) for size in SIZES[:-1]), (20_000, 2), deep(20_000, 9)])
@pytest.mark.parametrize("text", UTILITIES)
def test_sums_are_those_of_all_entries_one_by_one(text, size, checked):
    """Plain Python takes its time over 20,000 samples: two of the nine responses are checked there in `make test`."""
    points = [0.0, 1.0, 0.5, 0.123456, -1.5, 2.75, *np.random.default_rng(size).uniform(-2, 3, 3).tolist()]
    utility, samples = question_of(text, points, (-2e6, 2e6)).utility, samples_of(size)
    found = TableSums(utility.expression, utility.names, np.array(points), samples).total(-2e6, 2e6) / size
    coarse = 1e-9 if "1000000" in text else 1e-13
    assert found[-checked:].tolist() == pytest.approx(means_of(text, points[-checked:], samples), rel=1e-12, abs=coarse)


@pytest.mark.cases(8)
@pytest.mark.parametrize("text", [text for text in UTILITIES if "1000000" not in text])
def test_the_answer_is_the_best_of_all_responses_and_names_the_next(text):
    points = [round(-1 + 0.07 * step, 6) for step in range(60)]
    samples = samples_of(1_000)
    answer = answer_question(question_of(text, points), samples)
    utilities = [(mean + 100) / 200 for mean in means_of(text, points, samples)]
    assert answer.expected_utility == pytest.approx(max(utilities), abs=1e-13)
    assert utilities[points.index(answer.response)] == pytest.approx(max(utilities), abs=1e-13)
    assert answer.why["expected_utility"] == pytest.approx(sorted(utilities)[-2], abs=1e-13)


def test_of_equal_responses_the_first_listed_is_the_answer():
    samples = SampleSet(PARAMETERS, np.array([[0.25, 0.0], [0.75, 0.0]]))
    for points in ([0.5, 0.25, 0.75], [0.75, 0.25, 0.5]):
        assert answer_question(question_of("-abs(g - r)", points), samples).response == points[0]


def test_terms_that_would_cancel_are_not_summed_apart():
    """1e12·θ − 1e12·θ would leave the digits of sums a million times larger than the utility."""
    text = "(1e12 + theta * r) - 1e12"
    samples, points = samples_of(1_000), [0.0, 1.0]
    utility = question_of(text, points, (-1, 2)).utility
    found = TableSums(utility.expression, utility.names, np.array(points), samples).total(-1, 2) / 1_000
    assert found.tolist() == pytest.approx(means_of(text, points, samples), abs=1e-13)


def test_a_range_that_is_exceeded_by_a_last_digit_is_held_entry_by_entry():
    samples, points = samples_of(500), [0.1, 0.2]
    answer = answer_question(question_of("r + 0.1 + theta * 0", points, (0.2, 0.3)), samples)
    assert answer.response == 0.2
    assert 1 - 1e-14 < answer.expected_utility <= 1


@pytest.mark.parametrize("size", SIZES)
def test_sums_below_and_above_a_point_are_exact_to_the_last_digits(size):
    source = np.random.default_rng(3)
    values = np.concatenate([source.uniform(-2, 3, size - size // 3), np.full(size // 3, 0.5)])
    points = np.array([-2.0, 3.0, 0.5, -7.0, 11.0, *values[:4], *source.uniform(-3, 4, 5)])
    below, above = Empirical(values, -2.0, 3.0).beyond(points)
    for place, point in enumerate(points.tolist()):
        gaps = [point - value for value in values.tolist()]
        assert below[place] == pytest.approx(math.fsum(max(gap, 0.0) for gap in gaps), rel=1e-13, abs=1e-12 * size)
        assert above[place] == pytest.approx(math.fsum(max(-gap, 0.0) for gap in gaps), rel=1e-13, abs=1e-12 * size)


def test_working_in_place_changes_no_sample():
    samples = samples_of(1_000)
    before = samples.columns.copy()
    for text in UTILITIES:
        answer_question(question_of(text, [0.1, 0.9], (-2e6, 2e6)), samples)
    assert np.array_equal(samples.columns, before)
