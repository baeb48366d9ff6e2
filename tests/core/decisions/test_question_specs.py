"""Questions and answers as the specification describes them: by `kind`, to the last field, and no more than is read."""

import copy
import json
from typing import Any, get_args

import jsonschema_rs
import pytest

from app.api.schemas.queries import QueryAnswer, QueryPreview
from app.core.decisions import UTILITIES, VIEWS
from app.core.kinds import ESTIMANDS, KINDS, QuestionSpec, compile_question
from app.errors import InvalidInput, InvalidQuery
from app.services.reading.answer_query import answer_json, preview_json
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease
from tests.core.decisions.test_any_question import EXAMPLES, RELEASES, places

QUESTION = jsonschema_rs.validator_for(QuestionSpec.model_json_schema())
ANSWER = jsonschema_rs.validator_for(QueryAnswer.model_json_schema(mode="serialization"))
PREVIEW = jsonschema_rs.validator_for(QueryPreview.model_json_schema(mode="serialization"))
THETA = {"kind": "parameter", "name": "theta"}
FEATURES = {"educ": 16, "exper": 10, "female": True}


def described_objects(body: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The path of the question and of every estimand and utility in it."""

    def at(path: tuple[Any, ...]) -> Any:
        part = body
        for key in path:
            part = part[key]
        return part

    return [(), *(path for path in places(body) if isinstance(at(path), dict) and "kind" in at(path))]


def refused_field(body: Any, release: str) -> str:
    model, samples = RELEASES[release]
    with pytest.raises(InvalidQuery) as caught:
        compile_question(body, samples.parameters, model)
    return caught.value.problems[0].field


def test_every_description_has_the_name_it_is_registered_under():
    described = {(name, spec) for name, specs in ESTIMANDS.items() for spec in specs}
    described |= {(name, utility.spec) for name, utility in UTILITIES.items()}
    assert len(described) > len(UTILITIES) + len(ESTIMANDS)
    for name, spec in described:
        assert get_args(spec.model_fields["kind"].annotation) == (name,)


def test_the_unions_have_every_kind_that_is_registered():
    unions = QuestionSpec.model_json_schema()["$defs"]
    assert set(unions["Estimand"]["discriminator"]["mapping"]) == set(ESTIMANDS)
    assert {name for kind in KINDS for name in kind.estimands} < set(ESTIMANDS)
    assert set(unions["Utility"]["discriminator"]["mapping"]) == set(UTILITIES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_documented_question_and_its_answer_are_as_specified(number):
    release, text = EXAMPLES[number]
    model, samples = RELEASES[release]
    QUESTION.validate(json.loads(text))
    question = compile_question(json.loads(text), samples.parameters, model)
    for view in VIEWS:
        public = PublicRelease(
            "rel_x", view, samples.parameters, 7, samples.size, model, 1.0, "that rows are independent"
        )
        answer = answer_json(question, PublishedRelease(public, samples), 1)
        ANSWER.validate(json.loads(json.dumps(answer)))
        PREVIEW.validate(json.loads(json.dumps(preview_json(question.preview(samples.size), public))))


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_a_misspelt_field_is_refused_by_the_specification_and_by_its_reader(number):
    release, text = EXAMPLES[number]
    for path in described_objects(json.loads(text)):
        body = json.loads(text)
        part = body
        for key in path:
            part = part[key]
        part["nmae"] = 1
        assert not QUESTION.is_valid(body), path
        assert refused_field(body, release) == ".".join([*path, "nmae"])


def test_what_its_reader_does_not_miss_the_specification_does_not_require():
    for release, text in EXAMPLES:
        model, samples = RELEASES[release]
        for path in places(json.loads(text)):
            body = json.loads(text)
            part: Any = body
            for key in path[:-1]:
                part = part[key]
            if isinstance(part, list):
                continue
            del part[path[-1]]
            try:
                compile_question(body, samples.parameters, model)
            except InvalidInput:
                continue
            assert QUESTION.is_valid(body), (text, path)


@pytest.mark.parametrize(
    "change",
    [
        {"utility": {"kind": "interval"}},
        {"utility": {"kind": "interval", "level": 1}},
        {"utility": {"kind": "interval", "level": True}},
        {"utility": {"kind": "cubed"}},
        {"utility": None},
        {"estimand": {"kind": "parameter"}},
        {"estimand": {"kind": "comparison", "left": THETA, "right": {"kind": "parameter"}}},
        {"estimand": {"kind": "expression", "expression": "a", "names": {"a": {"kind": "parameter", "nmae": "theta"}}}},
        {"estimand": {"kind": "predictive", "what": "variance"}},
        {"confidence": 0},
        {"confidence": "0.9"},
    ],
)
def test_what_is_wrong_at_a_glance_is_wrong_by_the_specification(change):
    body = {"estimand": THETA, "utility": {"kind": "squared"}}
    QUESTION.validate(body)
    body |= copy.deepcopy(change)
    assert not QUESTION.is_valid(body)
    assert refused_field(body, "")


def test_a_prediction_has_the_shape_that_the_release_s_model_gives_it():
    squared = {"kind": "squared"}
    of_network = {"kind": "prediction", "variable": "cured", "features": {"arm": "drug"}}
    of_regression = {"kind": "prediction", "what": "mean", "features": FEATURES}
    for estimand in (of_network, of_regression):
        QUESTION.validate({"estimand": estimand, "utility": squared})
    assert not QUESTION.is_valid({"estimand": {**of_network, "what": "mean"}, "utility": squared})
    assert refused_field({"estimand": of_network, "utility": squared}, "regression") == "estimand.variable"
    assert refused_field({"estimand": of_regression, "utility": squared}, "network") == "estimand.what"


def test_a_refused_kind_is_told_with_what_can_be_asked_and_where_it_belongs():
    with pytest.raises(InvalidQuery) as caught:
        compile_question({"estimand": {"kind": "contrast"}, "utility": {"kind": "squared"}}, [], RELEASES["network"][0])
    problem = caught.value.problems[0]
    assert problem.field == "estimand.kind"
    assert "parameter, expression, comparison, probability" in problem.expected
    assert "regression" in problem.expected


def test_unknown_fields_are_named_first_with_the_known_ones_however_many_there_are():
    many = {f"x{number}": None for number in range(100_000)}
    for unknown in ({"x0": None}, many):
        body = {"estimand": {"kind": "parameter", **unknown}, "utility": {"kind": "squared"}}
        model, samples = RELEASES[""]
        with pytest.raises(InvalidQuery) as caught:
            compile_question(body, samples.parameters, model)
        problem = caught.value.problems[0]
        assert (problem.field, problem.expected) == ("estimand.x0", "no fields other than kind, name, part, release")
