"""zero_one, log and expression utilities, and comparisons: the response against brute force from the definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.expressions import compile_expression
from app.core.decisions.utilities.log import floored_law
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from app.errors import InvalidExpression, InvalidQuery
from tests.core.decisions.clinic import MODEL, joint, network_samples

THETA = Parameter("theta", 0.0, 1.0)
BOUNDED = settings(derandomize=True, deadline=None, database=None, max_examples=150)
ROUNDING = 1e-12
thetas = st.one_of(
    st.lists(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=24),
    st.lists(st.floats(0, 1), min_size=1, max_size=24),
)


def ask(estimand, utility, theta, **more):
    body = {"utility": utility, **more} | ({} if estimand is None else {"estimand": estimand})
    samples = SampleSet([THETA], np.array(theta, dtype=float)[:, None])
    return answer_question(compile_question(body, [THETA]), samples)


def refused(estimand, utility, **more):
    with pytest.raises((InvalidQuery, InvalidExpression)) as caught:
        ask(estimand, utility, [0.5], **more)
    return caught.value.problems[0].field


STEPS = {"kind": "expression", "expression": "where(theta > 0.5, 2, where(theta > 0.2, 1, 0)) - 3 * (theta == 1)"}


@BOUNDED
@given(thetas)
def test_the_mode_is_the_most_frequent_value_and_of_equals_the_smallest(theta):
    values = [(2 if x > 0.5 else 1 if x > 0.2 else 0) - 3 * (x == 1) for x in theta]
    counts = {v: values.count(v) for v in sorted({-3, -2, -1, 0, 1, 2})}
    first, second = sorted(counts, key=lambda v: (-counts[v], v))[:2]
    answer = ask(STEPS, {"kind": "zero_one"}, theta)
    assert answer.response == first
    assert answer.expected_utility == counts[first] / len(theta)
    assert answer.why == {"runner_up": second, "expected_utility": counts[second] / len(theta)}


@pytest.mark.slow
@BOUNDED
@given(thetas)
def test_a_comparison_counts_ties_as_half(theta):
    compared = {"kind": "comparison", "left": {"kind": "parameter", "name": "theta"}}
    compared["right"] = {"kind": "expression", "expression": "0.5 + 0 * theta + 0.25 * (theta == 0.75)"}
    sides = [Fraction(1, 2) if x in (0.5, 0.75) else Fraction(x > 0.5) for x in theta]
    assert ask(compared, {"kind": "squared"}, theta).response == pytest.approx(float(sum(sides) / len(sides)))
    guess = ask(compared, {"kind": "zero_one"}, theta)
    assert guess.expected_utility == max(sides.count(v) for v in (0, Fraction(1, 2), 1)) / len(theta)


@BOUNDED
@given(thetas, st.sampled_from([1e-9, 0.001, 0.1, 0.4]))
def test_a_log_report_beats_every_other(theta, floor):
    answer = ask({"kind": "parameter", "name": "theta"}, {"kind": "log", "floor": floor}, theta)
    g = np.array(theta)[:, None]

    def mean_utility(r):
        return (1 + (g * np.log(r) + (1 - g) * np.log1p(-r)) / math.log(1 / floor)).mean(axis=0)

    grid = np.clip(np.concatenate([np.linspace(floor, 1 - floor, 2_001), theta]), floor, 1 - floor)
    assert floor <= answer.response <= 1 - floor
    assert answer.expected_utility >= mean_utility(grid).max() - ROUNDING
    assert answer.expected_utility == pytest.approx(mean_utility(np.array([answer.response]))[0], abs=1e-9)
    assert 0 <= answer.expected_utility <= 1


def test_a_reported_law_beats_every_other_on_a_fine_grid():
    samples = network_samples(40, seed=5)
    law = joint(samples)
    p = np.array([sum(v for (_, _, x), v in law.items() if x == level) for level in "012"])
    for floor in (0.001, 0.05, 0.3):
        body = {
            "estimand": {"kind": "classification", "variable": "visits"},
            "utility": {"kind": "log", "floor": floor},
        }
        answer = answer_question(compile_question(body, MODEL.parameters, MODEL), samples)
        steps = np.linspace(floor, 1, 200)
        grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if 1 - a - b >= floor])
        utilities = 1 + (np.log(grid) @ p).mean(axis=1) / math.log(1 / floor)
        own = np.array([answer.response[level] for level in "012"])
        assert own.min() >= floor - ROUNDING
        assert own.sum() == pytest.approx(1, abs=ROUNDING)
        assert answer.expected_utility == pytest.approx(1 + (np.log(own) @ p).mean() / math.log(1 / floor), abs=1e-9)
        assert answer.expected_utility >= utilities.max() - ROUNDING


@BOUNDED
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda m: sum(m) > 1e-6), st.floats(1e-6, 0.15))
def test_a_floored_law_keeps_the_proportions_of_what_is_above_the_floor(weights, floor):
    mean = {str(i): w / sum(weights) for i, w in enumerate(weights)}
    law = floored_law(mean, floor)
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert min(law.values()) >= floor * (1 - 1e-9)
    free = [(mean[k], law[k]) for k in law if law[k] > floor * (1 + 1e-9)]
    for m, p in free:
        assert p / m == pytest.approx(free[0][1] / free[0][0], rel=1e-9)
    scale = free[0][1] / free[0][0]
    assert all(mean[k] * scale <= floor * (1 + 1e-9) for k in law if law[k] <= floor * (1 + 1e-9))


UTILITIES = {
    "-(g - r) ** 2": lambda x, r: -((x - r) ** 2),
    "-2 * max(g - r, 0) - max(r - g, 0)": lambda x, r: -2 * np.maximum(x - r, 0) - np.maximum(r - x, 0),
    "where(abs(g - r) < 0.1, 1, 0)": lambda x, r: (abs(x - r) < 0.1) * 1.0,
    "r * (theta > 0.4) - r ** 2": lambda x, r: r * (x > 0.4) - r**2,
    "exp(-g * r) + 0.5": lambda x, r: np.exp(-x * r) + 0.5,
    "r / 2": lambda x, r: r / 2 + 0 * x,
    "theta": lambda x, r: x + 0 * r,
}


@pytest.mark.slow
@BOUNDED
@given(thetas, st.sampled_from(sorted(UTILITIES)), st.booleans())
def test_an_expression_of_theta_and_r_is_answered_by_the_best_response_listed(theta, text, gridded):
    responses = {"lower": 0, "upper": 1, "steps": 41} if gridded else [0.7, 0.3, 0.0, 1.0, 0.31]
    utility = {"kind": "expression", "utility": text, "responses": responses, "range": [-3, 2]}
    answer = ask({"kind": "parameter", "name": "theta"}, utility, theta)
    listed = np.linspace(0, 1, 41) if gridded else np.array(responses)
    means = ((UTILITIES[text](np.array(theta)[:, None], listed[None, :]) + 3) / 5).mean(axis=0)
    order = np.argsort(-means.round(11), kind="stable")
    assert answer.expected_utility == pytest.approx(means.max(), abs=ROUNDING)
    assert means[list(listed).index(answer.response)] == pytest.approx(means.max(), abs=1e-10)
    assert answer.why["expected_utility"] == pytest.approx(means[order[1]], abs=1e-10)
    assert answer.why["runner_up"] != answer.response


def test_equally_good_responses_go_to_the_one_listed_first():
    for responses in ([0.2, 0.8], [0.8, 0.2]):
        utility = {
            "kind": "expression",
            "utility": "(r - 0.5) * (theta - 0.5)",
            "responses": responses,
            "range": [-1, 1],
        }
        assert ask(None, utility, [0.25, 0.75]).response == responses[0]


def test_a_response_table_is_the_same_however_samples_are_cut_into_parts():
    rng = np.random.default_rng(2)
    theta = rng.uniform(size=30_000)
    utility = {"kind": "expression", "utility": "-abs(g - r)", "range": [-1, 0]}
    utility["responses"] = {"lower": 0, "upper": 1, "steps": 11}
    answer = ask({"kind": "parameter", "name": "theta"}, utility, theta)
    exact = {r: 1 - math.fsum(abs(theta - r)) / len(theta) for r in np.linspace(0, 1, 11)}
    assert answer.response == max(exact, key=exact.__getitem__)
    assert answer.expected_utility == pytest.approx(exact[answer.response], abs=1e-13)


def test_r_and_g_hide_parameters_of_the_same_name():
    parameters = (Parameter("r", 0.0, 1.0), Parameter("theta", 0.0, 1.0))
    samples = SampleSet(parameters, np.array([[0.9, 0.3], [0.9, 0.3]]))
    utility = {"kind": "expression", "utility": "-abs(own - r)", "range": [-1, 0], "responses": [0.3, 0.9]}
    utility["names"] = {"own": {"kind": "parameter", "name": "r"}}
    assert answer_question(compile_question({"utility": utility}, parameters), samples).response == 0.9


PARAMETER = {"kind": "parameter", "name": "theta"}
GRID = {"lower": 0, "upper": 1, "steps": 3}


@pytest.mark.parametrize(
    ("estimand", "utility", "field"),
    [
        (PARAMETER, {"kind": "zero_one"}, "estimand.kind"),
        ({"kind": "expression", "expression": "exp(theta > 0.5)"}, {"kind": "zero_one"}, "estimand.kind"),
        (None, {"kind": "zero_one"}, "estimand"),
        (STEPS, {"kind": "zero_one", "levels": 3}, "utility.levels"),
        (STEPS, {"kind": "log"}, "estimand.kind"),
        (PARAMETER, {"kind": "log", "floor": 0}, "utility.floor"),
        (PARAMETER, {"kind": "log", "floor": 0.5}, "utility.floor"),
        (PARAMETER, {"kind": "log", "floor": math.nan}, "utility.floor"),
        (PARAMETER, {"kind": "expression", "utility": "r", "responses": [1], "range": [0, 1]}, "utility.responses"),
        (PARAMETER, {"kind": "expression", "utility": "r", "responses": [1, 1], "range": [0, 1]}, "utility.responses"),
        (
            PARAMETER,
            {"kind": "expression", "utility": "r", "responses": [0, "1"], "range": [0, 1]},
            "utility.responses",
        ),
        (PARAMETER, {"kind": "expression", "utility": "r", "range": [0, 1]}, "utility.responses"),
        (PARAMETER, {"kind": "expression", "utility": "r", "responses": {**GRID, "steps": 1001}}, "utility.range"),
        (
            PARAMETER,
            {"kind": "expression", "utility": "r", "responses": {**GRID, "steps": 1001}, "range": [0, 1]},
            "utility.responses.steps",
        ),
        (
            PARAMETER,
            {"kind": "expression", "utility": "r", "responses": {**GRID, "upper": 0}, "range": [0, 1]},
            "utility.responses.upper",
        ),
        (PARAMETER, {"kind": "expression", "utility": "r + 1", "responses": GRID, "range": [0, 1]}, "utility.range"),
        (PARAMETER, {"kind": "expression", "utility": "1 / r", "responses": GRID, "range": [0, 1]}, "utility.utility"),
        (None, {"kind": "expression", "utility": "g * r", "responses": GRID, "range": [0, 1]}, "utility.utility"),
        (
            None,
            {"kind": "expression", "utility": "r", "responses": GRID, "range": [0, 1], "names": {"r": PARAMETER}},
            "utility.names",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_by_field(estimand, utility, field):
    assert refused(estimand, utility) == field


def test_too_many_responses_for_this_many_samples_are_refused():
    text = " + ".join(["theta * r"] * 25)
    utility = {"kind": "expression", "utility": text, "range": [0, 25], "responses": {**GRID, "steps": 1000}}
    with pytest.raises(InvalidExpression, match="operations"):
        ask(None, utility, [0.5] * 1_000)
    ask(None, utility, [0.5] * 100)


@pytest.mark.parametrize("text", ["`theta`", "` theta`", "`theta", "``", "`theta`(1)", "`r`", "theta`x`"])
def test_names_in_backticks_are_names_and_nothing_else(text):
    if text == "`theta`":
        assert compile_expression(text, [THETA], "f").values([np.array([0.5])])[0] == 0.5
        return
    with pytest.raises(InvalidExpression) as caught:
        compile_expression(text, [THETA], "f")
    assert 0 <= caught.value.position <= len(text)
