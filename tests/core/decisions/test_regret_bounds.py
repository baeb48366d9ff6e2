"""Regret bounds hold at their confidence, say something, and come from public numbers.

Each simulation draws sample sets from a known posterior, computes the exact regret of the engine's response and counts
how often it exceeds the bound at confidence 0.8. If the bound held with probability exactly 0.8, four standard deviations
more violations would be seen with probability below 10⁻⁴: more than 24.2 % of 1,500 sets. Two atoms, where bounds are
tightest, have that many always; a grid, where they have room to spare, 300 in `make test`: there more than 29.3 %
count, which a bound that holds with probability 0.6 shows with probability over 0.9999.
"""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.regret import bound_finite, bound_mean, bound_quantiles
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from tests.deep import deep

THETA = Parameter("theta", 0.0, 1.0)
ROUNDS = 1_500
CONFIDENCE = 0.8
GRID = np.linspace(0, 1, 21)
POSTERIORS = {
    "two ends, even": (np.array([0.0, 1.0]), np.array([0.5, 0.5])),
    "two ends, uneven": (np.array([0.0, 1.0]), np.array([0.93, 0.07])),
    "two ends, nearly even": (np.array([0.0, 1.0]), np.array([0.44, 0.56])),
    "uniform grid": (GRID, np.full(21, 1 / 21)),
    "peaked": (GRID, np.exp(-((GRID - 0.3) ** 2) / 0.005) / np.exp(-((GRID - 0.3) ** 2) / 0.005).sum()),
}
SIMPLE = [
    {"kind": "squared"},
    {"kind": "absolute"},
    {"kind": "pinball", "tau": 0.1},
    {"kind": "pinball", "tau": 0.93},
    {"kind": "interval", "level": 0.8},
]
ACTIONS = {"up": "theta", "down": "1 - theta", "sure": "0.5", "bold": "where(theta > 0.9, 1, 0)"}


def pinball(values, probabilities, response, tau):
    error = values[:, None] - np.atleast_1d(response)
    return probabilities @ np.where(error >= 0, tau * error, (tau - 1) * error)


def excess_pinball(values, probabilities, response, tau):
    """The least expected loss is at a point of the support: the loss is piecewise linear."""
    return pinball(values, probabilities, response, tau)[0] - pinball(values, probabilities, values, tau).min()


def exact_regret(utility, values, probabilities, response):
    if utility["kind"] == "squared":
        return (response - probabilities @ values) ** 2
    if utility["kind"] == "interval":
        ends = (1 - utility["level"]) / 2, (1 + utility["level"]) / 2
        return sum(excess_pinball(values, probabilities, r, t) for r, t in zip(response, ends, strict=True))
    if utility["kind"] == "actions":
        payoff = {"up": values, "down": 1 - values, "sure": 0 * values + 0.5, "bold": values > 0.9}
        means = {name: probabilities @ row for name, row in payoff.items()}
        return max(means.values()) - means[response]
    tau = utility.get("tau", 0.5)
    return excess_pinball(values, probabilities, response, tau) / max(tau, 1 - tau)


def simulated(utility, values, probabilities, size, rounds=ROUNDS):
    """(regrets, bound) for `rounds` independent sample sets."""
    body = {"utility": utility, "confidence": CONFIDENCE}
    if utility["kind"] != "actions":
        body["estimand"] = {"kind": "parameter", "name": "theta"}
    question = compile_question(body, [THETA])
    draws = np.random.default_rng(11).choice(values, p=probabilities, size=(rounds, size))
    bounds, known, regrets = set(), {}, []
    for row in draws:
        key = tuple(np.sort(row))  # the order of samples does not matter to a maximiser
        if key not in known:
            answer = answer_question(question, SampleSet([THETA], row[:, None]))
            bounds.add(answer.regret.bound)
            known[key] = exact_regret(utility, values, probabilities, answer.response)
        regrets.append(known[key])
    assert len(bounds) == 1, "the bound depends on the samples"
    return np.array(regrets), bounds.pop()


def violations_max(rounds):
    return 1 - CONFIDENCE + 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / rounds)


two_atoms_or_fewer_rounds = pytest.mark.parametrize(
    ("name", "rounds"),
    [
        *((name, ROUNDS) for name in POSTERIORS if name.startswith("two ends")),
        *((name, 300) for name in POSTERIORS if not name.startswith("two ends")),
        *(deep(name, ROUNDS) for name in POSTERIORS if not name.startswith("two ends")),
    ],
)


@pytest.mark.cases(16)
@two_atoms_or_fewer_rounds
@pytest.mark.parametrize("utility", SIMPLE, ids=lambda u: "-".join(map(str, u.values())))
@pytest.mark.parametrize("size", [10, 100])
def test_regret_stays_below_its_bound_as_often_as_promised(utility, name, size, rounds):
    regrets, bound = simulated(utility, *POSTERIORS[name], size, rounds)
    assert regrets.min() >= -1e-12
    assert (regrets > bound).mean() <= violations_max(rounds)


@two_atoms_or_fewer_rounds
def test_regret_of_actions_stays_below_its_bound_as_often_as_promised(name, rounds):
    utility = {"kind": "actions", "actions": ACTIONS, "range": [0, 1]}
    regrets, bound = simulated(utility, *POSTERIORS[name], 30, rounds)
    assert (regrets > bound).mean() <= violations_max(rounds)


def test_the_quantile_bound_cannot_be_lowered():
    """Two atoms with F(0) at the bound's edge: the wrong one is chosen with probability near δ/2 = 0.1."""
    utility = {"kind": "absolute"}
    _, bound = simulated(utility, *POSTERIORS["uniform grid"], 100, rounds=1)
    mass = 0.5 + bound / 2 - 1e-6
    regrets, _ = simulated(utility, np.array([0.0, 1.0]), np.array([mass, 1 - mass]), 100)
    assert 0.06 < (regrets > 0.999 * bound).mean() < 0.14


@pytest.mark.parametrize("size", [100, 1_000, 100_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_bounds_say_something_from_a_hundred_samples_on(size, confidence):
    delta = 1 - confidence
    actions = [1.0] * 100
    for tau in (0.001, 0.05, 0.5, 0.99):
        weight = 1 / max(tau, 1 - tau)
        assert bound_quantiles([(Fraction(repr(tau)), weight)], size, delta).value < 0.6 * math.sqrt(100 / size)
    assert bound_mean(size, delta).value < 0.04 * 100 / size
    assert bound_finite(actions, size, delta).value < 0.7 * math.sqrt(100 / size)


@pytest.mark.parametrize("responses", [2, 5, 100])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_the_finite_bound_is_never_above_the_textbook_one(responses, delta):
    for size in (50, 1_000):
        textbook = 2 * math.sqrt(math.log(2 * responses / delta) / (2 * size))
        assert bound_finite([1.0] * responses, size, delta).value <= min(1, textbook)


@pytest.mark.parametrize("tau", ["0.01", "0.5", "0.95"])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9])
def test_the_quantile_bound_is_never_above_the_one_from_uniform_deviation(tau, delta):
    """Dvoretzky, Kiefer, Wolfowitz and Massart bound every deviation at once; one order statistic is easier."""
    for size in (20, 1_000):
        uniform = math.sqrt(math.log(2 / delta) / (2 * size)) + 1 / size
        assert bound_quantiles([(Fraction(tau), 1.0)], size, delta).value <= uniform


def test_bounds_shrink_with_samples_and_grow_with_confidence():
    for bound in (bound_mean, lambda n, d: bound_quantiles([(Fraction(1, 3), 1.5)], n, d)):
        assert bound(1000, 0.05).value < bound(100, 0.05).value < bound(100, 0.01).value
    assert bound_finite([1, 1], 100, 0.05).value < bound_finite([1, 1, 1], 100, 0.05).value


def test_no_bound_exceeds_one_or_is_undefined():
    tiny = 2.0**-53
    for size in (1, 2, 3):
        assert bound_mean(size, tiny).value == 1
        assert bound_finite([1, 1], size, tiny).value == 1
        assert 0 < bound_quantiles([(Fraction(1, 2), 2.0)], size, tiny).value <= 1
        assert 0 < bound_quantiles([(Fraction(1, 20), 1.0), (Fraction(19, 20), 1.0)], size, tiny).value <= 1
    assert bound_mean(10**6, 1.0).value > 0


def test_actions_with_narrow_public_ranges_have_smaller_bounds():
    assert bound_finite([1, 0, 0], 100, 0.05).value == pytest.approx(bound_finite([1, 1, 0], 100, 0.05).value / 2)
    assert bound_finite([0, 0, 0], 100, 0.05).value == 0


def test_the_finite_bound_is_the_one_derived_from_the_two_widest_responses():
    expected = 1.5 * math.sqrt(math.log(2 / 0.05) / 200)
    assert bound_finite([0.2, 1.0, 0.5], 100, 0.05).value == pytest.approx(expected, rel=1e-9)


def test_every_method_is_named_and_labelled_as_for_a_question_fixed_in_advance():
    bounds = [bound_mean(9, 0.1), bound_quantiles([(Fraction(1, 2), 2.0)], 9, 0.1), bound_finite([1, 1], 9, 0.1)]
    assert len({bound.method for bound in bounds}) == 3
    assert all(bound.method.endswith("for a question fixed in advance") for bound in bounds)


def test_bounds_are_functions_of_counts_and_levels_only():
    for function in (bound_mean, bound_quantiles, bound_finite):
        assert set(inspect.signature(function).parameters) <= {"samples", "delta", "levels", "widths"}
