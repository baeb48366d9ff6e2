"""docs/queries.md: its examples are answered, its grammar and its limits are the parser's."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from app.core.decisions import UTILITIES, SampleSet
from app.core.decisions.expressions import compile_expression, parser
from app.core.decisions.expressions.operations import FUNCTIONS
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import ESTIMANDS, compile_question
from app.core.language import tree
from app.core.parameters import Parameter
from app.services.reading.answer_query import answer_json
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease
from tests.core.decisions.arms import BY_ARM, SEVERAL, arm_samples, several_samples
from tests.core.decisions.clinic import MODEL, network_samples
from tests.core.decisions.wages import WAGES, wage_samples

DOCUMENT = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json ?(\w*)\n(.*?)```", DOCUMENT, flags=re.DOTALL)
THETA = Parameter("theta", 0.05, 0.95)


def release(note: str) -> tuple[object, SampleSet]:
    """The model an example is about, and samples of it."""
    if note == "network":
        return MODEL, network_samples(100)
    if note == "regression":
        return WAGES, wage_samples(100)
    if note == "groups":
        return BY_ARM, arm_samples(100)
    if note == "several":
        return SEVERAL, several_samples(100)
    return bernoulli("cured"), SampleSet([THETA], np.linspace(0.2, 0.5, 100)[:, None])


@pytest.mark.parametrize(("note", "example"), EXAMPLES)
def test_every_example_is_answered(note, example):
    model, samples = release(note)
    question = compile_question(json.loads(example), samples.parameters, model)
    public = PublicRelease("rel_x", question.view, samples.parameters, samples.size, samples.size, model, 1.0, None)
    answer = answer_json(question, PublishedRelease(public, samples), 1)
    told = set(re.findall(r"^\| `(\w+)` \| [^|]+\|$", DOCUMENT.split("## Two views")[0], re.MULTILINE))
    assert set(answer) - {"release", "cost"} == told


def test_every_registered_kind_has_an_example_and_a_description():
    asked = [json.loads(example) for _, example in EXAMPLES]
    assert {body["estimand"]["kind"] for body in asked if "estimand" in body} == set(ESTIMANDS)
    assert {body["utility"]["kind"] for body in asked} == set(UTILITIES)
    for kind in (*ESTIMANDS, *UTILITIES):
        assert f"`{kind}`" in DOCUMENT
    for function in FUNCTIONS:
        assert f"`{function}(" in DOCUMENT


def test_the_grammar_is_the_one_the_parser_documents():
    grammar = re.search(r"```\n(expression :=.*?)```", DOCUMENT, flags=re.DOTALL).group(1)
    assert grammar.split() == parser.__doc__.split("\n\n")[1].split()


def test_the_limits_are_the_ones_enforced():
    found = re.search(r"Limits: ([\d,]+) characters, (\d+) levels of nesting, (\d+) numbers", DOCUMENT).groups()
    assert [int(number.replace(",", "")) for number in found] == [
        tree.TEXT_LENGTH_MAX,
        tree.DEPTH_MAX,
        tree.NODES_MAX,
    ]
    assert tree.OPERATIONS_MAX == 5 * 10**7
    assert tree.MAGNITUDE_MAX == 1e150


def test_the_range_quoted_for_a_product_is_the_one_computed():
    wide = compile_expression("theta * (1 - theta)", [THETA], "field")
    assert (wide.lower, wide.upper) == pytest.approx((0.0025, 0.9025))
    assert compile_expression("min(theta * (1 - theta), 0.25)", [THETA], "field").upper == 0.25
