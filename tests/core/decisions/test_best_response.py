"""The response maximises the summed utility over all responses: compared with brute force from the definitions.

The reference sums u(g, r) straight from the formulas of docs/queries.md over a fine grid of responses plus
every sample and midpoint; it shares no code with the engine.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.decisions import Answer, SampleSet, answer_question
from app.core.kinds import compile_question
from app.core.parameters import Parameter

LOWER, UPPER = -1.0, 3.0
THETA = Parameter("theta", LOWER, UPPER)
BOUNDED = settings(derandomize=True, deadline=None, database=None, max_examples=150)
ROUNDING = 1e-12

# Few distinct values make ties and constants common; arbitrary floats cover the rest.
samples_of_theta = st.one_of(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.1, 2.0, 3.0]), min_size=1, max_size=24),
    st.lists(st.floats(LOWER, UPPER), min_size=1, max_size=24),
)
levels = st.one_of(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), st.floats(0.001, 0.999))


def ask(utility: dict, theta: list[float], estimand: dict | None = None) -> Answer:
    body = {"estimand": estimand or {"kind": "parameter", "name": "theta"}, "utility": utility}
    samples = SampleSet([THETA], np.array(theta)[:, None])
    return answer_question(compile_question(body, [THETA]), samples)


def candidates(theta: list[float]) -> np.ndarray:
    ordered = sorted(theta)
    middles = [(a + b) / 2 for a, b in pairwise(ordered)]
    return np.concatenate([np.linspace(LOWER, UPPER, 801), ordered, middles])


def pinball(theta: np.ndarray, response: float | np.ndarray, tau: float) -> np.ndarray:
    error = (theta - response) / (UPPER - LOWER)
    return np.where(error >= 0, tau * error, (tau - 1) * error)


def mean_utility(utility: dict, theta: list[float], response: np.ndarray) -> np.ndarray:
    """One value per candidate response."""
    values = np.array(theta)[:, None]
    if utility["kind"] == "squared":
        u = 1 - ((values - response) / (UPPER - LOWER)) ** 2
    elif utility["kind"] == "absolute":
        u = 1 - abs(values - response) / (UPPER - LOWER)
    else:
        tau = utility["tau"]
        u = 1 - pinball(values, response, tau) / max(tau, 1 - tau)
    assert (u >= -ROUNDING).all()
    assert (u <= 1 + ROUNDING).all()
    return u.mean(axis=0)


def check_single(utility: dict, theta: list[float]) -> None:
    answer = ask(utility, theta)
    grid = candidates(theta)
    brute = mean_utility(utility, theta, grid)
    assert answer.expected_utility >= brute.max() - ROUNDING
    own = mean_utility(utility, theta, np.array([answer.response]))[0]
    assert answer.expected_utility == pytest.approx(own, abs=ROUNDING)
    assert LOWER <= answer.response <= UPPER
    assert 0 <= answer.expected_utility <= 1


@BOUNDED
@given(samples_of_theta)
def test_squared_response_beats_every_other(theta):
    check_single({"kind": "squared"}, theta)


@BOUNDED
@given(samples_of_theta)
def test_absolute_response_beats_every_other(theta):
    check_single({"kind": "absolute"}, theta)


@pytest.mark.slow
@BOUNDED
@given(samples_of_theta, levels)
def test_pinball_response_beats_every_other(theta, tau):
    check_single({"kind": "pinball", "tau": tau}, theta)


@settings(BOUNDED, max_examples=60)
@given(samples_of_theta, levels)
def test_interval_response_beats_every_other_pair(theta, level):
    answer = ask({"kind": "interval", "level": level}, theta)
    alpha = 1 - level
    grid = np.concatenate([np.linspace(LOWER, UPPER, 41), theta])
    low, high = (side.ravel() for side in np.meshgrid(grid, grid))
    low, high = np.append(low, answer.response[0]), np.append(high, answer.response[1])
    allowed = low <= high
    g = np.array(theta)[:, None]
    score = (high - low) + (2 / alpha) * (np.maximum(low - g, 0) + np.maximum(g - high, 0))
    u = (1 - (alpha / 2) * score / (UPPER - LOWER))[:, allowed]
    assert (u >= -ROUNDING).all()
    assert (u <= 1 + ROUNDING).all()
    assert answer.expected_utility == pytest.approx(u[:, -1].mean(), abs=ROUNDING)
    assert answer.expected_utility >= u.mean(axis=0).max() - ROUNDING


@pytest.mark.slow
@BOUNDED
@given(samples_of_theta, levels)
def test_quantile_is_the_smallest_of_the_exact_maximisers(theta, tau):
    """Exact rational sums at every sample value: the first sorted value with the least loss."""
    exact_tau = Fraction(repr(tau))

    def loss(response: Fraction) -> Fraction:
        errors = [Fraction(value) - response for value in theta]
        return sum((max(exact_tau * e, (exact_tau - 1) * e) for e in errors), Fraction(0))

    best = min(sorted(set(theta)), key=lambda value: loss(Fraction(value)))
    assert ask({"kind": "pinball", "tau": tau}, theta).response == best


@BOUNDED
@given(samples_of_theta)
def test_mean_is_within_a_last_digit_of_the_exact_mean(theta):
    exact = sum(map(Fraction, theta)) / len(theta)
    response = ask({"kind": "squared"}, theta).response
    assert abs(Fraction(response) - exact) <= Fraction(2, 2**52) * abs(exact) + Fraction(1, 2**1070)
    assert min(theta) <= response <= max(theta)


@pytest.mark.slow
@BOUNDED
@given(st.lists(st.floats(LOWER, UPPER), min_size=1, max_size=20))
def test_an_expression_is_answered_like_the_parameter_it_equals(theta):
    same = {"kind": "expression", "expression": "theta"}
    for utility in ({"kind": "squared"}, {"kind": "absolute"}, {"kind": "interval", "level": 0.8}):
        assert ask(utility, theta) == ask(utility, theta, same)


ACTIONS = {"wait": "0.5", "treat": "theta", "half": "theta / 2 + 0.25", "hedge": "where(theta > 1, 2, 0)"}


@BOUNDED
@given(samples_of_theta)
def test_the_best_action_and_the_runner_up_are_the_two_highest_means(theta):
    spec = {"kind": "actions", "actions": ACTIONS, "range": [-1, 3]}
    question = compile_question({"utility": spec}, [THETA])
    answer = answer_question(question, SampleSet([THETA], np.array(theta)[:, None]))
    exact = [Fraction(value) for value in theta]
    totals = {
        "wait": len(exact) * Fraction(1, 2),
        "treat": sum(exact),
        "half": sum(value / 2 + Fraction(1, 4) for value in exact),
        "hedge": sum(2 * (value > 1) for value in exact),
    }
    utilities = {name: float((total / len(exact) + 1) / 4) for name, total in totals.items()}
    first, second = sorted(utilities.values(), reverse=True)[:2]
    assert answer.expected_utility == pytest.approx(first, abs=ROUNDING)
    assert utilities[answer.response] == pytest.approx(first, abs=ROUNDING)
    assert answer.why["expected_utility"] == pytest.approx(second, abs=ROUNDING)
    assert utilities[answer.why["runner_up"]] == pytest.approx(second, abs=ROUNDING)
    assert answer.why["runner_up"] != answer.response
