"""A preview says, from public numbers, what an answer would rest on, and refuses what answering would refuse."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import compile_question
from app.core.parameters import Parameter
from app.errors import InvalidExpression
from tests.core.decisions.arms import BY_ARM, SEVERAL, arm_samples, several_samples
from tests.core.decisions.clinic import MODEL, network_samples
from tests.core.decisions.wages import WAGES, wage_samples

DOCUMENT = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json ?(\w*)\n(.*?)```", DOCUMENT, flags=re.DOTALL)
QUESTIONS = [(note, text) for note, text in EXAMPLES if "utility" in json.loads(text)]
THETA = Parameter("theta", 0.05, 0.95)
RELEASES = {
    "network": (MODEL, network_samples(20)),
    "regression": (WAGES, wage_samples(20)),
    "groups": (BY_ARM, arm_samples(20)),
    "several": (SEVERAL, several_samples(20)),
    "": (bernoulli("cured"), SampleSet([THETA], np.linspace(0.2, 0.5, 20)[:, None])),
}


@pytest.mark.parametrize(("note", "text"), QUESTIONS)
@pytest.mark.parametrize("questions", [1, 7])
def test_a_preview_has_the_regret_of_the_answer_before_any_search_gap(note, text, questions):
    model, samples = RELEASES[note]
    question = compile_question(json.loads(text), samples.parameters, model)
    preview = question.preview(samples.size, questions=questions)
    answer = answer_question(question, samples, questions=questions)
    assert preview.samples == answer.samples
    assert preview.work == question.work > 0
    assert answer.regret.method.split("; plus")[0] in preview.regret.method
    if "plus how far" in answer.regret.method:
        assert preview.regret.bound <= answer.regret.bound
    else:
        assert preview.regret == answer.regret
    assert (answer.why is None) == (preview.responses is None)
    assert preview.range is None or preview.range[0] < preview.range[1]


def test_a_preview_takes_a_count_and_no_samples():
    question = compile_question(
        {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}, [THETA]
    )
    preview = question.preview(100)
    assert (preview.work, preview.samples, preview.range, preview.responses) == (1, 100, (0.05, 0.95), None)
    for samples, questions in ((0, 1), (-1, 1), (1, 0)):
        with pytest.raises(ValueError, match="at least one"):
            question.preview(samples, questions=questions)


def long(name: str) -> str:
    return "+".join([name] * 99)


LONG = {"kind": "expression", "expression": long("theta")}
NAMES = {f"n{i}": LONG for i in range(16)}
TOO_LARGE = {
    "expression": {"estimand": LONG, "utility": {"kind": "squared"}},
    "names": {
        "estimand": {"kind": "expression", "expression": "n0 + n1", "names": NAMES},
        "utility": {"kind": "squared"},
    },
    "comparison": {
        "estimand": {"kind": "comparison", "left": LONG, "right": {"kind": "expression", "expression": "9 * theta"}},
        "utility": {"kind": "zero_one"},
    },
    "actions": {"utility": {"kind": "actions", "actions": {"a": "theta", "b": long("theta")}, "range": [0, 100]}},
    "action names": {
        "utility": {"kind": "actions", "actions": {"a": "n0", "b": "n1"}, "names": NAMES, "range": [0, 100]}
    },
    "responses": {
        "utility": {
            "kind": "expression",
            "utility": "theta * r",
            "responses": {"lower": 0, "upper": 1, "steps": 1000},
            "range": [0, 1],
        }
    },
    "estimand of an expression utility": {
        "estimand": {"kind": "expression", "expression": "n0 + n1", "names": NAMES},
        "utility": {"kind": "expression", "utility": "-abs(g - r)", "responses": [0, 1], "range": [-200, 0]},
    },
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_the_limit_on_operations_times_samples_counts_every_expression_on_every_path(name):
    """5·10⁷ over all of them together: neither nesting nor names nor responses hide any. (A comparison itself is none.)"""
    question = compile_question(TOO_LARGE[name], [THETA])
    nodes = question.work - (name == "comparison")
    low, high = 1, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        try:
            question.preview(middle)
        except InvalidExpression:
            high = middle
        else:
            low = middle
    assert low == 50_000_000 // nodes


def test_answering_refuses_what_the_preview_refuses():
    samples = SampleSet([THETA], np.full((20_000, 1), 0.5))
    for name in ("names", "action names", "responses", "estimand of an expression utility"):
        question = compile_question(TOO_LARGE[name], [THETA])
        with pytest.raises(InvalidExpression) as previewed:
            question.preview(samples.size)
        with pytest.raises(InvalidExpression) as answered:
            answer_question(question, samples)
        assert answered.value.problems == previewed.value.problems
        assert answered.value.position == previewed.value.position


@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_runner_up_is_named_wherever_responses_are_finitely_many(size):
    """Also where all samples agree, as one sample does: another response, no better than the one given."""
    listed = {"kind": "expression", "utility": "-abs(theta - r)", "responses": [0.1, 0.5, 0.9], "range": [-1, 0]}
    bodies = [
        ("", {"utility": listed}),
        ("", {"utility": listed | {"responses": {"lower": 0, "upper": 0.9, "steps": 2}}}),
        ("", {"utility": {"kind": "actions", "actions": {"a": "theta", "b": "theta"}, "range": [0, 1]}}),
        ("", {"estimand": {"kind": "expression", "expression": "theta > 0.3"}, "utility": {"kind": "zero_one"}}),
        ("", TOO_LARGE["comparison"]),
        ("network", {"estimand": {"kind": "classification", "variable": "arm"}, "utility": {"kind": "zero_one"}}),
        ("network", {"estimand": {"kind": "explanation"}, "utility": {"kind": "zero_one"}}),
        (
            "network",
            {
                "estimand": {"kind": "explanation", "evidence": {"arm": "drug", "cured": True, "visits": [0, 2]}},
                "utility": {"kind": "zero_one"},
            },
        ),
    ]
    for note, body in bodies:
        model, _ = RELEASES[note]
        samples = network_samples(size) if note else SampleSet([THETA], np.full((size, 1), 0.4))
        question = compile_question(body, samples.parameters, model)
        answer = answer_question(question, samples)
        assert question.utility.responses >= 2
        assert answer.why["runner_up"] != answer.response
        assert answer.why["expected_utility"] <= answer.expected_utility
