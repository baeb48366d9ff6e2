"""How evidence and events are written, and refusals that name the field and what is allowed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.decisions import SampleSet, answer_question
from app.core.kinds import compile_question
from app.core.kinds.networks.evidence.compiled import compile_evidence, compile_expectation, compile_law, read_evidence
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.structure import Node, build_network
from app.errors import InvalidQuery

COUNTS = tuple(str(k) for k in range(-1, 3))
NETWORK = build_network(
    [
        Node("arm", ("drug", "placebo"), (), (1.0, 1.0)),
        Node("cured", ("false", "true"), ("arm",), (1.0, 1.0)),
        Node("visits", COUNTS, ("cured",), (1.0,) * 4),
    ]
)
MODEL = NetworkModel("network", NETWORK, 0.01)
ROW = np.array([[0.5, 0.5, 0.2, 0.8, 0.6, 0.4, 0.4, 0.3, 0.2, 0.1, 0.1, 0.2, 0.3, 0.4]])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"cured": True}, {"cured": "true"}),
        ({"cured": False}, {"cured": ["false"]}),
        ({"visits": 2}, {"visits": "2"}),
        ({"visits": [-1, 1]}, {"visits": ["1", "-1"]}),
        ({"arm": ["drug", "placebo"], "visits": 0}, {"visits": "0"}),
        ({}, None),
    ],
)
def test_two_ways_to_write_evidence_mean_the_same(written: Any, read: Any) -> None:
    assert read_evidence(NETWORK, written, "e") == read_evidence(NETWORK, read, "e")


@pytest.mark.parametrize(
    ("evidence", "field", "words"),
    [
        ({"dose": 1}, "estimand.evidence", "arm, cured, visits"),
        ({3: 1}, "estimand.evidence", "arm, cured, visits"),
        ({"arm": "Drug"}, "estimand.evidence.arm", "drug, placebo"),
        ({"arm": []}, "estimand.evidence.arm", "drug, placebo"),
        ({"arm": ["drug", "drug"]}, "estimand.evidence.arm", "different"),
        ({"arm": None}, "estimand.evidence.arm", "drug, placebo"),
        ({"arm": True}, "estimand.evidence.arm", "drug, placebo"),
        ({"arm": [["drug"]]}, "estimand.evidence.arm", "drug, placebo"),
        ({"cured": 1}, "estimand.evidence.cured", "false, true"),
        ({"visits": 7}, "estimand.evidence.visits", "-1, 0, 1, 2"),
        ({"visits": 1.0}, "estimand.evidence.visits", "-1, 0, 1, 2"),
        ({"visits": float("nan")}, "estimand.evidence.visits", "-1, 0, 1, 2"),
        ({"visits": 10**5000}, "estimand.evidence.visits", "-1, 0, 1, 2"),
    ],
)
def test_evidence_that_names_nothing_is_refused_with_what_is_allowed(evidence: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        compile_evidence(NETWORK, event={"cured": True}, evidence=evidence)
    assert refusal.value.problems[0].field == field
    assert words in refusal.value.problems[0].expected


@pytest.mark.parametrize(
    ("event", "evidence", "field"),
    [
        ({}, None, "estimand.event"),
        ({"arm": ["drug", "placebo"]}, None, "estimand.event"),
        ({"arm": "drug"}, {"arm": "drug"}, "estimand.event"),
        ({"visits": [0, 1, 2]}, {"visits": [0, 1]}, "estimand.event"),
        ({"visits": [0, 1]}, {"visits": [2, -1]}, "estimand.event.visits"),
        ({"visits": "many"}, None, "estimand.event.visits"),
    ],
)
def test_an_event_that_needs_no_sample_is_refused(event: Any, evidence: Any, field: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        compile_evidence(NETWORK, event=event, evidence=evidence)
    assert refusal.value.problems[0].field == field


def test_expectations_take_scores_from_whole_numbers_and_booleans() -> None:
    """E[visits | cured] = −0.1 + 0·0.2 + 0.3 + 2·0.4; P(cured) = (0.8 + 0.4)/2."""
    visits = compile_expectation(NETWORK, variable="visits", evidence={"cured": True})
    assert visits.values(ROW)[0] == pytest.approx(1.0, abs=1e-15)
    assert (visits.lower, visits.upper) == (-1.0, 2.0)
    assert compile_expectation(NETWORK, variable="cured").values(ROW)[0] == pytest.approx(0.6, abs=1e-15)
    narrowed = compile_expectation(NETWORK, variable="visits", evidence={"cured": True, "visits": [0, 2]})
    assert narrowed.values(ROW)[0] == pytest.approx(2 * 0.4 / 0.6, abs=1e-15)
    assert (narrowed.lower, narrowed.upper) == (0.0, 2.0)


@pytest.mark.parametrize(
    ("variable", "evidence", "scores", "field"),
    [
        ("arm", None, None, "estimand.scores"),
        ("arm", None, {"drug": 1}, "estimand.scores"),
        ("arm", None, {"drug": 2, "placebo": 2.0}, "estimand.scores"),
        ("dose", None, None, "estimand.variable"),
        ("visits", {"visits": 1}, None, "estimand.variable"),
    ],
)
def test_an_expectation_without_a_number_to_expect_is_refused(
    variable: Any, evidence: Any, scores: Any, field: str
) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        compile_expectation(NETWORK, variable=variable, evidence=evidence, scores=scores)
    assert refusal.value.problems[0].field == field


def test_a_law_keeps_every_level_of_the_variable_in_its_order() -> None:
    law = compile_law(NETWORK, variable="visits", evidence={"visits": [2, 0], "cured": True})
    assert law.levels == COUNTS
    assert law.probabilities(ROW)[:, 0].tolist() == pytest.approx([0.0, 1 / 3, 0.0, 2 / 3])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["drug", "true", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["arm", "cured", "visits", "x", ""]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(event=JSON, evidence=JSON)
def test_any_json_is_answered_inside_the_unit_interval_or_refused_by_field(event: Any, evidence: Any) -> None:
    estimand = {"kind": "probability", "event": event, "evidence": evidence}
    try:
        question = compile_question({"estimand": estimand, "utility": {"kind": "squared"}}, MODEL.parameters, MODEL)
    except InvalidQuery:
        return
    assert 0 <= answer_question(question, SampleSet(MODEL.parameters, ROW)).response <= 1
