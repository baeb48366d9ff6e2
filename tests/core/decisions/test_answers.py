"""Ties, degenerate sample sets, determinism, prefixes and cost of answers."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.empirical import SAMPLES_MAX, Empirical
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from app.errors import InvalidExpression, NumericalFailure

THETA = Parameter("theta", 0.05, 0.95)
PHI = Parameter("phi", -1.0, 1.0)
ESTIMANDS = [
    {"kind": "parameter", "name": "theta"},
    {"kind": "expression", "expression": "log(theta / (1 - theta)) + phi ** 2"},
]
UTILITIES = [
    {"kind": "squared"},
    {"kind": "absolute"},
    {"kind": "pinball", "tau": 0.9},
    {"kind": "interval", "level": 0.9},
]
ACTIONS = {"kind": "actions", "actions": {"a": "theta", "b": "exp(-phi**2)", "c": "0.5"}, "range": [0, 1]}
REAL = {
    "kind": "expression",
    "utility": "theta * exp(-(phi - r) ** 2) - abs(theta - r) / 4",
    "responses": {"lower": 0, "upper": 1},
    "range": [-0.5, 1],
}
BODIES = [{"estimand": e, "utility": u} for e in ESTIMANDS for u in UTILITIES]
BODIES += [{"utility": ACTIONS}, {"utility": REAL}]


def draws(size: int, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(0.05, 0.95, size), rng.uniform(-1, 1, size)])


def encoded(body: dict, samples: SampleSet) -> str:
    answer = answer_question(compile_question(body, samples.parameters), samples)
    return json.dumps(answer.as_json(), allow_nan=False)


def one_parameter(utility: dict, theta: list[float]):
    body = {"estimand": ESTIMANDS[0], "utility": utility}
    return answer_question(compile_question(body, [THETA]), SampleSet([THETA], np.array(theta)[:, None]))


@pytest.mark.parametrize(
    ("utility", "response"),
    [
        ({"kind": "absolute"}, 0.2),
        ({"kind": "pinball", "tau": 0.25}, 0.1),
        ({"kind": "pinball", "tau": 0.75}, 0.3),
        ({"kind": "pinball", "tau": 0.76}, 0.4),
        ({"kind": "interval", "level": 0.5}, [0.1, 0.3]),
    ],
)
def test_between_equally_good_quantiles_the_smallest_is_chosen(utility, response):
    assert one_parameter(utility, [0.4, 0.1, 0.3, 0.2]).response == response


def test_a_level_is_the_decimal_that_was_written():
    """0.1, 0.7 and 0.3 are doubles a little off; ranks must come out as for the decimals."""
    theta = [0.1 + index / 100 for index in range(10)]
    for tau, rank in ((0.1, 1), (0.7, 7), (0.3, 3), (0.95, 10), (1e-300, 1), (1 - 2**-53, 10)):
        assert one_parameter({"kind": "pinball", "tau": tau}, theta).response == theta[rank - 1]


def test_equally_good_actions_go_to_the_one_declared_first():
    samples = SampleSet([THETA], np.array([[0.25], [0.75]]))
    for names in (["x", "y", "z"], ["z", "y", "x"]):
        spec = {"kind": "actions", "range": [0, 1], "actions": {}}
        spec["actions"] = dict(zip(names, ["theta", "1 - theta", "0.5"], strict=True))
        answer = answer_question(compile_question({"utility": spec}, [THETA]), samples)
        assert answer.response == names[0]
        assert answer.why == {"runner_up": names[1], "expected_utility": 0.5}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("utility", UTILITIES)
def test_equal_samples_are_answered_by_their_value_without_loss(utility, size):
    answer = one_parameter(utility, [0.3] * size)
    assert answer.response == ([0.3, 0.3] if utility["kind"] == "interval" else 0.3)
    assert answer.expected_utility == 1.0
    assert answer.samples == size
    assert answer.why is None


def test_negative_zero_is_answered_as_zero():
    samples = SampleSet([PHI], np.array([[-0.0]]))
    for utility in UTILITIES:
        body = {"estimand": {"kind": "parameter", "name": "phi"}, "utility": utility}
        assert "-0.0" not in encoded(body, samples)


@pytest.mark.parametrize("body", BODIES)
def test_an_answer_is_the_same_bytes_however_often_it_is_computed(body):
    samples = SampleSet([THETA, PHI], draws(500))
    first = encoded(body, samples)
    assert encoded(body, samples) == first
    assert encoded(body, SampleSet([THETA, PHI], np.asfortranarray(draws(500)))) == first
    assert encoded(body, SampleSet([THETA, PHI], draws(500, seed=6))) != first


@pytest.mark.slow
def test_another_process_gives_the_same_bytes():
    code = """
import json, sys
import numpy as np
from app.core.decisions import SampleSet, answer_question
from app.core.kinds import compile_question
from app.core.parameters import Parameter
parameters = [Parameter("theta", 0.05, 0.95), Parameter("phi", -1.0, 1.0)]
samples = SampleSet(parameters, np.array(json.loads(sys.stdin.readline())))
for body in json.loads(sys.stdin.readline()):
    answer = answer_question(compile_question(body, parameters), samples)
    print(json.dumps(answer.as_json(), allow_nan=False))
"""
    lines = json.dumps(draws(300).tolist()) + "\n" + json.dumps(BODIES)
    command = [sys.executable, "-c", code]
    other = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    samples = SampleSet([THETA, PHI], draws(300))
    assert other.stdout.splitlines() == [encoded(body, samples) for body in BODIES]


@pytest.mark.parametrize("body", BODIES)
def test_a_prefix_is_answered_from_its_own_rows_only(body):
    ours, theirs = draws(200), draws(200, seed=6)
    theirs[:50] = ours[:50]
    first, second = SampleSet([THETA, PHI], ours), SampleSet([THETA, PHI], theirs)
    encoded(body, first)  # sums kept for all rows must not be reused for the prefix
    expected = encoded(body, SampleSet([THETA, PHI], ours[:50]))
    assert encoded(body, first.prefix(50)) == expected
    assert encoded(body, second.prefix(50)) == expected
    assert encoded(body, first) != encoded(body, second)
    assert encoded(body, first.prefix(200)) == encoded(body, first)


def test_a_sample_set_does_not_change_with_the_array_it_was_made_from():
    values = draws(10)
    samples = SampleSet([THETA, PHI], values)
    before = encoded(BODIES[0], samples)
    values[:] = 0.5
    assert encoded(BODIES[0], samples) == before
    with pytest.raises(ValueError, match="read-only"):
        samples.columns[0][0] = 0.5
    assert "0." not in repr(samples)


@pytest.mark.parametrize(
    "values",
    [np.zeros((0, 1)), np.array([0.5]), np.full((2, 2), 0.5), [[math.nan]], [[0.96]], [[0.04]], [[math.inf]]],
)
def test_samples_of_another_shape_or_outside_the_public_range_are_refused(values):
    with pytest.raises(NumericalFailure):
        SampleSet([THETA], np.array(values))


@pytest.mark.parametrize("samples", [0, 11, -1])
def test_a_prefix_cannot_be_longer_than_the_set_or_empty(samples):
    with pytest.raises(ValueError, match="prefix"):
        SampleSet([THETA, PHI], draws(10)).prefix(samples)


def test_a_question_about_other_parameters_is_not_answered():
    question = compile_question(BODIES[0], [THETA, PHI])
    with pytest.raises(ValueError, match="other parameters"):
        answer_question(question, SampleSet([THETA], np.array([[0.5]])))


def test_too_many_operations_for_this_many_samples_are_refused():
    text = "+".join(["theta"] * 100)
    samples = SampleSet([THETA], np.full((252_000, 1), 0.5))
    estimand = {"estimand": {"kind": "expression", "expression": text}, "utility": {"kind": "squared"}}
    actions = {"kind": "actions", "actions": {"a": "theta", "b": text}, "range": [0, 100]}
    for body, field in ((estimand, "estimand.expression"), ({"utility": actions}, "utility.actions")):
        with pytest.raises(InvalidExpression) as caught:
            answer_question(compile_question(body, [THETA]), samples)
        assert caught.value.problems[0].field == field
        answer_question(compile_question(body, [THETA]), samples.prefix(1_000))


def test_kept_sums_lose_nothing_over_a_hundred_thousand_samples():
    """Against exactly rounded sums of the definition; plain running sums would lose four more digits."""
    values = 1e6 + np.random.default_rng(2).uniform(0, 1, 100_000)
    empirical = Empirical(values, 1e6 - 1, 1e6 + 2)
    unit = (np.sort(values) - (1e6 - 1)) / 3
    for rank, tau in ((1, 0.5), (50_000, 0.5), (90_000, 0.9), (100_000, 0.001)):
        error = unit - unit[rank - 1]
        exact = math.fsum(np.maximum(tau * error, (tau - 1) * error).tolist()) / 100_000
        assert empirical.pinball_loss(rank, tau) == pytest.approx(exact, abs=2e-16, rel=1e-14)
    assert 40 + SAMPLES_MAX.bit_length() <= 63


@pytest.mark.slow
def test_the_two_sides_of_a_kept_sum_add_up_at_the_largest_size():
    empirical = Empirical(np.full(SAMPLES_MAX, 1.0), 0.0, 1.0)
    assert empirical.pinball_loss(1, 0.5) == 0.0
    assert empirical.mean == 1.0
