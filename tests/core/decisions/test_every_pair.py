"""Every estimand with every utility that takes it: the response is no worse than brute force, its utility is the plain mean.

Values of estimands and utilities come from definitions written here and in `reference_utilities.py`. Sample sets are small, with
ties, single samples and values at their bounds; tables of networks and coefficients are drawn with seeds Hypothesis chooses.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.decisions import UTILITIES, SampleSet, answer_question
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import ESTIMANDS, compile_question
from app.core.parameters import Parameter
from tests.core.decisions.arms import BY_ARM, SEVERAL
from tests.core.decisions.clinic import ARMS, MODEL, joint, network_samples
from tests.core.decisions.reference_utilities import expression_spec, mean
from tests.core.decisions.wages import WAGES, wage_samples
from tests.deep import deep

BOUNDED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
some_or_many = pytest.mark.parametrize("examples", [10, deep(200)])
CLOSE = 1e-9
THREE = (Parameter("theta", 0.0, 1.0), Parameter("phi", -1.0, 1.0), Parameter("psi", 0.5, 4.0))
SUCCESS = (Parameter("theta", 0.05, 0.95),)
FEATURES = {"educ": 12, "exper": 5, "female": True}


def normal_below(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def event_share(samples: SampleSet, event, given=lambda record: True) -> list[float]:
    law = joint(samples)
    total = sum(share for record, share in law.items() if given(record))
    return (sum(share for record, share in law.items() if given(record) and event(record)) / total).tolist()


def visits_given_cured(samples: SampleSet) -> list[float]:
    law = joint(samples)
    total = sum(share for record, share in law.items() if record[1] == "true")
    return (sum(share * int(record[2]) for record, share in law.items() if record[1] == "true") / total).tolist()


def wage(samples: SampleSet) -> list[float]:
    b0, educ, exper, female = samples.columns
    return (b0 + 12 * educ + 5 * exper + female).tolist()


NUMBERS = {
    "parameter": ("three", {"kind": "parameter", "name": "phi"}, lambda s: s.columns[1].tolist()),
    "expression": (
        "three",
        {"kind": "expression", "expression": "theta * phi - 1 / psi"},
        lambda s: [t * p - 1 / q for t, p, q in s.matrix.tolist()],
    ),
    "share": ("three", {"kind": "parameter", "name": "theta"}, lambda s: s.columns[0].tolist()),
    "finite": (
        "three",
        {"kind": "expression", "expression": "(theta > 0.5) + 2 * (phi >= 0)"},
        lambda s: [(t > 0.5) + 2.0 * (p >= 0) for t, p, _ in s.matrix.tolist()],
    ),
    "comparison": (
        "three",
        {
            "kind": "comparison",
            "left": {"kind": "parameter", "name": "theta"},
            "right": {
                "kind": "expression",
                "expression": "half",
                "names": {"half": {"kind": "parameter", "name": "phi"}},
            },
        },
        lambda s: [1.0 if t > p else 0.0 if t < p else 0.5 for t, p, _ in s.matrix.tolist()],
    ),
    "predictive": (
        "success",
        {"kind": "predictive", "what": "probability", "at_most": 0},
        lambda s: [1 - t for t in s.columns[0].tolist()],
    ),
    "probability": (
        "network",
        {"kind": "probability", "event": {"cured": True, "visits": [1, 2]}, "evidence": {"arm": ["drug", "placebo"]}},
        lambda s: event_share(s, lambda r: r[1] == "true" and r[2] != "0", lambda r: r[0] != "none"),
    ),
    "expectation": (
        "network",
        {"kind": "expectation", "variable": "visits", "evidence": {"cured": True}},
        visits_given_cured,
    ),
    "prediction of a class": (
        "network",
        {"kind": "prediction", "variable": "arm", "level": "drug", "features": {"visits": 0}},
        lambda s: event_share(s, lambda r: r[0] == "drug", lambda r: r[2] == "0"),
    ),
    "prediction": ("regression", {"kind": "prediction", "features": FEATURES}, wage),
    "prediction of a probability": (
        "regression",
        {"kind": "prediction", "what": "probability", "at_most": 9, "features": FEATURES},
        lambda s: [normal_below((9 - value) / WAGES.noise_sd) for value in wage(s)],
    ),
    "contrast": (
        "regression",
        {"kind": "contrast", "weights": {"educ": 4, "exper": -10}},
        lambda s: (4 * s.columns[1] - 10 * s.columns[2]).tolist(),
    ),
    "group": (
        "arms",
        {"kind": "group", "group": {"arm": "placebo"}, "estimand": {"kind": "parameter", "name": "theta"}},
        lambda s: s.columns[1].tolist(),
    ),
    "part": (
        "several",
        {"kind": "part", "part": "again", "estimand": {"kind": "parameter", "name": "theta"}},
        lambda s: s.columns[1].tolist(),
    ),
}
MODELS = {
    "three": None,
    "success": bernoulli("cured"),
    "network": MODEL,
    "regression": WAGES,
    "arms": BY_ARM,
    "several": SEVERAL,
}
SHARES = {
    "share",
    "group",
    "part",
    "comparison",
    "predictive",
    "probability",
    "prediction of a class",
    "prediction of a probability",
}


@st.composite
def samples_of(draw, release: str) -> SampleSet:
    if release == "network":
        return network_samples(
            draw(st.integers(1, 9)), seed=draw(st.integers(0, 99)), width=draw(st.sampled_from([1.0, 9.0]))
        )
    if release == "regression":
        return wage_samples(draw(st.integers(1, 9)), seed=draw(st.integers(0, 99)))
    parameters = {"three": THREE, "success": SUCCESS, "arms": BY_ARM.parameters, "several": SEVERAL.parameters}[release]
    columns = [
        st.sampled_from([p.lower, p.lower, p.upper, (p.lower + p.upper) / 2, p.lower + 0.3])
        | st.floats(p.lower, p.upper)
        for p in parameters
    ]
    return SampleSet(parameters, np.array(draw(st.lists(st.tuples(*columns), min_size=1, max_size=12))))


def ask(spec, utility, samples, release):
    body = {"utility": utility} if spec is None else {"estimand": spec, "utility": utility}
    question = compile_question(body, samples.parameters, MODELS[release])
    return question, answer_question(question, samples)


def responses_to_try(kind, utility, values, lower, upper):
    if kind == "zero_one":
        return sorted({*values, 0.0, 1.0})
    if kind == "interval":
        ends = [*np.linspace(lower, upper, 9).tolist(), *sorted(set(values))[:12]]
        return [[a, b] for a in ends for b in ends if a <= b]
    grid = [*np.linspace(lower, upper, 301).tolist(), *values]
    if kind == "log":
        return [min(max(r, utility["floor"]), 1 - utility["floor"]) for r in grid]
    return utility["responses"] if isinstance(utility.get("responses"), list) else grid


def utilities_for(name: str, lower: float, upper: float) -> list[dict]:
    found = [
        {"kind": "squared"},
        {"kind": "absolute"},
        {"kind": "pinball", "tau": 0.25},
        {"kind": "interval", "level": 0.8},
        expression_spec(lower, upper, np.linspace(upper, lower, 7).tolist()),
        expression_spec(lower, upper, {"lower": lower, "upper": upper}),
    ]
    found += [{"kind": "log", "floor": 0.01}] * (name in SHARES)
    return found + [{"kind": "zero_one"}] * (name in {"finite", "comparison"})


@pytest.mark.cases(5)
@some_or_many
@pytest.mark.parametrize("name", NUMBERS)
def test_no_response_on_a_fine_grid_is_better_and_the_utility_is_the_plain_mean(name, examples):
    settings(BOUNDED, max_examples=examples)(given(st.just(name), st.data())(check_on_a_fine_grid))()


def check_on_a_fine_grid(name, data):
    release, spec, naive = NUMBERS[name]
    samples = data.draw(samples_of(release))
    values = naive(samples)
    lower, upper = ask(spec, {"kind": "squared"}, samples, release)[0].range
    assert lower - 1e-12 <= min(values) <= max(values) <= upper + 1e-12
    for utility in utilities_for(name, lower, upper):
        kind = utility["kind"]
        _, answer = ask(spec, utility, samples, release)
        own = mean(kind, values, answer.response, lower, upper, utility)
        assert answer.expected_utility == pytest.approx(own, abs=CLOSE), utility
        tried = responses_to_try(kind, utility, values, lower, upper)
        best = max(mean(kind, values, response, lower, upper, utility) for response in tried)
        assert answer.expected_utility >= best - CLOSE, utility
        if kind == "zero_one":
            counts = Counter(values)
            assert answer.response == min(value for value in counts if counts[value] == max(counts.values()))


@some_or_many
def test_no_level_report_or_record_is_better_than_the_one_named(examples):
    """`classification` with `zero_one` and `log`, `explanation` with `zero_one`: the law of each sample is written out."""
    settings(BOUNDED, max_examples=examples)(given(samples_of("network"))(check_what_is_named))()


def check_what_is_named(samples):
    shares = {arm: event_share(samples, lambda r, arm=arm: r[0] == arm, lambda r: r[1] == "true") for arm in ARMS}
    law = {arm: math.fsum(share) / samples.size for arm, share in shares.items()}
    spec = {"kind": "classification", "variable": "arm", "features": {"cured": True}}
    _, guess = ask(spec, {"kind": "zero_one"}, samples, "network")
    assert guess.expected_utility == pytest.approx(law[guess.response], abs=CLOSE)
    assert guess.expected_utility >= max(law.values()) - CLOSE
    assert guess.why["expected_utility"] == pytest.approx(sorted(law.values())[-2], abs=CLOSE)
    _, report = ask(spec, {"kind": "log", "floor": 0.01}, samples, "network")

    def score(given):
        return 1 + sum(law[arm] * math.log(given[arm]) for arm in ARMS) / math.log(100)

    assert report.expected_utility == pytest.approx(score(report.response), abs=CLOSE)
    for row in np.random.default_rng(samples.size).dirichlet(np.ones(3), size=200):
        other = dict(zip(ARMS, (0.97 * row + 0.01).tolist(), strict=True))
        assert score(other) <= report.expected_utility + CLOSE
    records = {record: float(np.mean(share)) for record, share in joint(samples).items()}
    question, record = ask({"kind": "explanation"}, {"kind": "zero_one"}, samples, "network")
    gap = record.regret.bound - question.preview(samples.size).regret.bound
    own = records[tuple(record.response[name] for name in ("arm", "cured", "visits"))]
    assert record.expected_utility == pytest.approx(own, abs=CLOSE)
    assert own + gap >= max(records.values()) - CLOSE or record.regret.bound == 1


def test_every_kind_of_estimand_and_utility_was_paired():
    """`observation`, whose law mixes all samples, is in `test_new_observation.py`; `actions` in `test_best_response.py`."""
    kinds = {spec["kind"] for _, spec, _ in NUMBERS.values()} | {"classification", "explanation"}
    assert kinds == set(ESTIMANDS)
    asked = {utility["kind"] for name in NUMBERS for utility in utilities_for(name, 0, 1)} | {"actions"}
    assert asked == set(UTILITIES)
