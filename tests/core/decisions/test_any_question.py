"""Examples of docs/queries.md with anything put in the place of one part: answered in range, or refused by field."""

import copy
import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.decisions import UTILITIES, SampleSet, answer_question
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import ESTIMANDS, QuestionSpec, compile_question
from app.core.parameters import Parameter
from app.errors import InvalidInput
from tests.core.decisions.arms import BY_ARM, SEVERAL, arm_samples, several_samples
from tests.core.decisions.clinic import MODEL, network_samples
from tests.core.decisions.wages import WAGES, wage_samples
from tests.deep import deep

DOCUMENT = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json ?(\w*)\n(.*?)```", DOCUMENT, flags=re.DOTALL)
RELEASES = {
    "network": (MODEL, network_samples(3)),
    "regression": (WAGES, wage_samples(3)),
    "groups": (BY_ARM, arm_samples(3)),
    "several": (SEVERAL, several_samples(3)),
    "": (bernoulli("cured"), SampleSet([Parameter("theta", 0.05, 0.95)], [[0.3], [0.5]])),
}
WORDS = [
    *(
        "theta",
        "arm",
        "cured",
        "visits",
        "drug",
        "true",
        "educ",
        "intercept",
        "arm=drug",
        "mean",
        "observation",
        "r",
        "g",
    ),
    *("theta > 0.5", "r * g", "`arm=drug` + 1", "1 / 0", "\ud800", *ESTIMANDS, *UTILITIES),
]
BOUNDED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
words = st.sampled_from(WORDS)
numbers = st.integers(-3, 20) | st.floats() | st.sampled_from([10**400, -0.0, 1e308, 0.5])
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=4) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


SPECIFICATION = jsonschema_rs.validator_for(QuestionSpec.model_json_schema())


def places(value, path=()):
    """The path of every part of a question, the whole left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


@st.composite
def changed(draw, body):
    body = copy.deepcopy(body)
    *above, last = draw(st.sampled_from(sorted(places(body), key=str)))
    part = body
    for key in above:
        part = part[key]
    how = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
    if how == "remove":
        del part[last]
    elif how == "add" and isinstance(part, dict):
        part[draw(words)] = draw(anything)
    else:
        part[last] = draw(anything)
    return body


def outcome(body, model, samples):
    try:
        return answer_question(compile_question(body, samples.parameters, model), samples), None
    except InvalidInput as refusal:
        return None, refusal.problems[0]


@pytest.mark.cases(9)
@pytest.mark.parametrize("examples", [15, deep(400)])
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_a_changed_example_is_answered_in_range_or_refused_by_field(number, examples):
    settings(BOUNDED, max_examples=examples)(given(st.just(number), st.data())(check_changed))()


def check_changed(number, data):
    note, text = EXAMPLES[number]
    for name in {note, data.draw(st.sampled_from(sorted(RELEASES)))}:
        body = data.draw(changed(json.loads(text)))
        answer, problem = outcome(body, *RELEASES[name])
        if answer is None:
            assert problem.field
            assert problem.expected
            problem.field.encode()
        else:
            assert SPECIFICATION.is_valid(body)
            json.dumps(answer.as_json(), allow_nan=False)
            assert 0 <= answer.expected_utility <= 1
            assert 0 <= answer.regret.bound <= 1


def test_changes_leave_many_questions_answerable():
    """A fuzzer that is always refused tests nothing behind the door."""
    answered = 0
    for note, text in EXAMPLES:
        for path in places(json.loads(text)):
            body = json.loads(text)
            part = body
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = 0.5
            answered += outcome(body, *RELEASES[note])[0] is not None
    assert answered >= 20
