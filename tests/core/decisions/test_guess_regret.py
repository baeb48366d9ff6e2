"""Regret bounds of zero_one, log and expression utilities hold at their confidence and are not vacuous.

As in `test_regret_bounds.py`: sample sets from a known posterior at confidence 0.8; four standard deviations more violations
would be seen with probability below 10⁻⁴ if the bound held with probability exactly 0.8. 1,500 sets, or 300 in `make test` from
posteriors of more than two atoms, where bounds have room to spare.
"""

import math

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.regret import Bound, bound_finite, bound_log_law, bound_log_report, bound_mode, bound_real
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from tests.core.decisions.clinic import MODEL, joint, network_samples
from tests.deep import deep

THETA = Parameter("theta", 0.0, 1.0)
ROUNDS, CONFIDENCE = 1_500, 0.8
POINTS = np.linspace(0, 1, 11)
POSTERIORS = {
    "uniform": np.full(11, 1 / 11),
    "two ends": np.array([0.48] + [0] * 9 + [0.52]),
    "skewed": np.array([0.9] + [0] * 9 + [0.1]),
    "rare": np.array([0.99, 0.01] + [0] * 9),
    "decreasing": np.arange(11, 0, -1) / 66,
}
TENTHS = " + ".join(f"(theta >= {k / 10 - 0.05})" for k in range(1, 11))
RESPONSES = np.linspace(0, 1, 21)


def regret_of(kind, p, response):
    if kind == "zero_one":
        return p.max() - p[round(response)]
    if kind == "log":
        m, f = p @ POINTS, 0.01
        best = min(max(m, f), 1 - f)
        score = [m * math.log(r) + (1 - m) * math.log(1 - r) for r in (best, response)]
        return (score[0] - score[1]) / math.log(1 / f)
    means = p @ (
        1 - 0.8 * np.maximum(POINTS[:, None] - RESPONSES, 0) - 0.2 * np.maximum(RESPONSES - POINTS[:, None], 0)
    )
    return means.max() - means[np.argmin(abs(RESPONSES - response))]


BODIES = {
    "zero_one": {"estimand": {"kind": "expression", "expression": TENTHS}, "utility": {"kind": "zero_one"}},
    "log": {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "log", "floor": 0.01}},
    "expression": {
        "utility": {
            "kind": "expression",
            "utility": "1 - 0.8 * max(theta - r, 0) - 0.2 * max(r - theta, 0)",
            "responses": {"lower": 0, "upper": 1, "steps": 21},
            "range": [0, 1],
        }
    },
}


ATOMS_FEW = [name for name, p in POSTERIORS.items() if np.count_nonzero(p) == 2]
ATOMS_MANY = [name for name in POSTERIORS if name not in ATOMS_FEW]


@pytest.mark.parametrize("size", [5, 60])
@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        *((name, ROUNDS) for name in ATOMS_FEW),
        *((name, 300) for name in ATOMS_MANY),
        *(deep(name, ROUNDS) for name in ATOMS_MANY),
    ],
)
@pytest.mark.parametrize("kind", BODIES)
def test_regret_stays_below_its_bound_as_often_as_promised(kind, name, size, rounds):
    p = POSTERIORS[name]
    question = compile_question(BODIES[kind] | {"confidence": CONFIDENCE}, [THETA])
    bounds, known, regrets = set(), {}, []
    for row in np.random.default_rng(7).choice(POINTS, p=p, size=(rounds, size)):
        key = tuple(np.sort(row))  # the order of samples does not matter to a maximiser
        if key not in known:
            answer = answer_question(question, SampleSet([THETA], row[:, None]))
            bounds.add(answer.regret.bound)
            known[key] = regret_of(kind, p, answer.response)
        regrets.append(known[key])
    assert len(bounds) == 1
    assert min(regrets) >= -1e-12
    allowed = 1 - CONFIDENCE + 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / rounds)
    assert (np.array(regrets) > bounds.pop()).mean() <= allowed


def test_regret_of_explanations_stays_below_its_bound_with_what_the_search_may_miss():
    """The posterior is uniform over 400 networks; the bound differs between sample sets by its gap."""
    posterior = network_samples(400, width=3.0)
    law = np.array(list(joint(posterior).values()))
    names = list(joint(posterior))
    truth = dict(zip(names, law.mean(axis=1), strict=True))
    body = {"estimand": {"kind": "explanation"}, "utility": {"kind": "zero_one"}, "confidence": CONFIDENCE}
    question = compile_question(body, MODEL.parameters, MODEL)
    rng, violations = np.random.default_rng(9), 0
    for _ in range(300):
        samples = SampleSet(MODEL.parameters, posterior.matrix[rng.integers(0, 400, 10)])
        answer = answer_question(question, samples)
        regret = max(truth.values()) - truth[tuple(answer.response[name] for name in ("arm", "cured", "visits"))]
        violations += regret > answer.regret.bound
    # 300 rounds: four standard deviations above 0.2 is 0.292.
    assert violations / 300 <= 0.292


def test_regret_of_reported_laws_stays_below_its_bound_as_often_as_promised():
    """The posterior is uniform over 400 networks; regret is what the mean law loses by the report, in units of ln(1/f)."""
    posterior = network_samples(400, width=0.5)
    law = joint(posterior)
    total = sum(share for record, share in law.items() if record[1] == "true")
    arms = {arm: sum(law[arm, "true", visits] for visits in "012") / total for arm in ("drug", "placebo", "none")}
    truth = {arm: float(share.mean()) for arm, share in arms.items()}
    spec = {"kind": "classification", "variable": "arm", "features": {"cured": True}}
    body = {"estimand": spec, "utility": {"kind": "log", "floor": 0.01}, "confidence": CONFIDENCE}
    question = compile_question(body, MODEL.parameters, MODEL)
    rng, violations = np.random.default_rng(9), 0
    for size in (2, 20):
        for _ in range(300):
            samples = SampleSet(MODEL.parameters, posterior.matrix[rng.integers(0, 400, size)])
            answer = answer_question(question, samples)
            lost = sum(share * math.log(share / answer.response[arm]) for arm, share in truth.items()) / math.log(100)
            violations += lost > answer.regret.bound
    # 600 rounds: four standard deviations above 0.2 is 0.266.
    assert violations / 600 <= 0.266
    assert min(truth.values()) > 0.01  # the best report is the mean law itself
    expected = 0.5 * math.sqrt(2 / 100) + math.sqrt(2 * math.log(20) / 100)
    assert bound_log_law(3, 100, 0.05).value == pytest.approx(expected, rel=1e-9)


def test_a_batch_of_bounds_holds_together():
    """Ten quantile questions on the same samples: some bound fails in at most one set of samples in five."""
    questions = [
        compile_question(
            {
                "estimand": {"kind": "parameter", "name": "theta"},
                "utility": {"kind": "pinball", "tau": tau / 11},
                "confidence": 0.8,
            },
            [THETA],
        )
        for tau in range(1, 11)
    ]
    rng = np.random.default_rng(4)
    failed = 0
    for _ in range(500):
        samples = SampleSet([THETA], rng.uniform(size=(50, 1)))
        for tau, question in enumerate(questions, 1):
            answer = answer_question(question, samples, questions=10)
            level = tau / 11
            excess = (answer.response - level) ** 2 / 2 / max(level, 1 - level)
            failed += excess > answer.regret.bound
    assert failed / 500 <= 0.2
    assert answer.regret.confidence == 0.8
    assert answer.regret.method.endswith("together for 10 questions")
    alone = answer_question(questions[0], samples)
    assert alone.regret.bound < answer_question(questions[0], samples, questions=10).regret.bound


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("size", [100, 1_000, 100_000])
def test_bounds_say_something_from_a_hundred_samples_on(size, confidence):
    delta = 1 - confidence
    for outcomes in (2, 3, 100, 10**300):
        assert bound_mode(outcomes, size, delta).value < 0.7 * math.sqrt(100 / size)
    for floor in (1e-9, 1e-3, 0.4):
        assert bound_log_report(0.0, 1.0, floor, size, delta).value < 0.25 * math.sqrt(100 / size)
    assert bound_log_law(100, size, delta).value < 0.9 * math.sqrt(100 / size)
    assert bound_finite([1.0] * 1_000, size, delta).value < 0.6 * math.sqrt(100 / size)


def test_the_mode_bound_is_the_smaller_of_its_two_arguments():
    delta, size = 0.05, 400
    union = 2 * math.sqrt(math.log(1 / delta) / (2 * size))
    assert bound_mode(2, size, delta).value == pytest.approx(union, rel=1e-9)
    together = (1 + math.sqrt(2 * math.log(1 / delta))) / math.sqrt(size)
    assert bound_mode(10**6, size, delta).value == pytest.approx(together, rel=1e-9)
    assert "Hoeffding" in bound_mode(2, size, delta).method
    assert "McDiarmid" in bound_mode(10**6, size, delta).method


def test_the_bound_for_real_responses_is_the_smaller_of_its_two_arguments():
    delta, size = 0.05, 400
    together = 2 / (2 * 20) + 2 * math.sqrt(math.log(1 / delta) / 800)
    assert bound_real(1.0, 2.0, size, delta).value == pytest.approx(together, rel=1e-9)
    assert "McDiarmid" in bound_real(1.0, 2.0, size, delta).method
    covers = [2 * math.sqrt(math.log(m / delta) / 800) + 1_000 / (2 * m) for m in range(1, 200_000)]
    steep = bound_real(1.0, 1_000.0, size, delta)
    assert min(covers) <= steep.value <= 1.02 * min(covers)
    assert "cover of 65536 responses" in steep.method
    assert bound_real(1.0, 0.5, size, delta).value == pytest.approx(together / 4, rel=1e-9)
    assert bound_real(1.0, 0.0, size, delta).value == 0
    assert bound_real(1.0, math.inf, size, delta).value == 1


def test_a_gap_widens_a_bound_and_is_named():
    assert Bound(0.2, "m").widened(0.0) == Bound(0.2, "m")
    assert Bound(0.2, "m").widened(0.1).value == pytest.approx(0.3)
    assert Bound(0.2, "m").widened(5.0).value == 1
    assert "search" in Bound(0.2, "m").widened(0.1).method


def test_every_method_is_labelled_as_for_a_question_fixed_in_advance():
    for bound in (bound_mode(3, 9, 0.1), bound_log_report(0, 1, 0.1, 9, 0.1), bound_log_law(3, 9, 0.1)):
        assert bound.method.endswith("for a question fixed in advance")
        assert 0 < bound.value <= 1
