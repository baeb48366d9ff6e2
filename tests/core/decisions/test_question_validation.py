"""Bodies are read strictly; every refusal names a field; compiled questions are plain values."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.decisions import UTILITIES
from app.core.kinds import ESTIMANDS, compile_question
from app.core.parameters import Parameter
from app.errors import InvalidExpression, InvalidInput, InvalidQuery
from tests.deep import deep

PARAMETERS = (Parameter("theta", 0.05, 0.95),)
THETA = {"kind": "parameter", "name": "theta"}
SQUARED = {"kind": "squared"}
TWO = {"a": "theta", "b": "0.5"}


def refused_field(body: object) -> str:
    with pytest.raises(InvalidQuery) as caught:
        compile_question(body, PARAMETERS)
    return caught.value.problems[0].field


@pytest.mark.parametrize("body", [None, [], "query", 3, True])
def test_a_body_that_is_not_an_object_is_refused(body):
    assert refused_field(body) == "query"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "utility"),
        ({"utility": SQUARED}, "estimand"),
        ({"utility": SQUARED, "estimand": None}, "estimand"),
        ({"utility": SQUARED, "estimand": "theta"}, "estimand"),
        ({"utility": SQUARED, "estimand": []}, "estimand"),
        ({"estimand": THETA}, "utility"),
        ({"estimand": THETA, "utility": "squared"}, "utility"),
        ({"estimand": THETA, "utility": {}}, "utility.kind"),
        ({"estimand": THETA, "utility": {"kind": "cubed"}}, "utility.kind"),
        ({"estimand": THETA, "utility": {"kind": ["squared"]}}, "utility.kind"),
        ({"estimand": {"kind": None}, "utility": SQUARED}, "estimand.kind"),
        ({"estimand": {"kind": "parameter"}, "utility": SQUARED}, "estimand.name"),
        ({"estimand": {"kind": "parameter", "name": "phi"}, "utility": SQUARED}, "estimand.name"),
        ({"estimand": {"kind": "parameter", "name": ["theta"]}, "utility": SQUARED}, "estimand.name"),
        ({"estimand": {**THETA, "index": 0}, "utility": SQUARED}, "estimand.index"),
        ({"estimand": {"kind": "expression"}, "utility": SQUARED}, "estimand.expression"),
        ({"estimand": {"kind": "expression", "expression": 3}, "utility": SQUARED}, "estimand.expression"),
        ({"estimand": {"kind": "expression", "expression": "1 + 1"}, "utility": SQUARED}, "estimand.expression"),
        ({"estimand": {"kind": "expression", "expression": "theta < 2"}, "utility": SQUARED}, "estimand.expression"),
        ({"estimand": THETA, "utility": SQUARED, "samples": 3}, "samples"),
        ({"estimand": THETA, "utility": SQUARED, "\ud800": 3}, "(unprintable)"),
        ({"estimand": THETA, "utility": {"kind": "squared", "tau": 0.5}}, "utility.tau"),
        ({"estimand": THETA, "utility": {"kind": "pinball"}}, "utility.tau"),
        ({"estimand": THETA, "utility": {"kind": "interval", "level": 1}}, "utility.level"),
        ({"estimand": THETA, "utility": {"kind": "actions", "actions": TWO, "range": [0, 1]}}, "estimand"),
    ],
)
def test_the_first_thing_wrong_is_named(body, field):
    assert refused_field(body) == field


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, True, "0.5", None, [0.5], math.nan, math.inf, 10**400, -(10**400)])
@pytest.mark.parametrize("place", ["tau", "level", "confidence"])
def test_levels_are_numbers_strictly_between_0_and_1(place, value):
    kind = {"tau": "pinball", "level": "interval", "confidence": "squared"}[place]
    body = {"estimand": THETA, "utility": {"kind": kind}}
    (body if place == "confidence" else body["utility"])[place] = value
    assert refused_field(body) == (place if place == "confidence" else f"utility.{place}")


@pytest.mark.parametrize(
    "bounds",
    [None, 1, [0], [0, 1, 2], [1, 0], [1, 1], [True, 2], ["0", "1"], [0, math.nan], [-math.inf, 1], [0, 10**400], {}],
)
def test_a_range_is_two_increasing_finite_numbers(bounds):
    assert refused_field({"utility": {"kind": "actions", "actions": TWO, "range": bounds}}) == "utility.range"


@pytest.mark.parametrize(
    "actions",
    [
        None,
        [],
        {},
        {"a": "theta"},
        {str(i): "theta" for i in range(101)},
        {"": "1", "b": "2"},
        {"a\n": "1", "b": "1"},
        {"x" * 129: "1", "b": "1"},
        {"\ud800": "1", "b": "1"},
    ],
)
def test_actions_are_2_to_100_printable_names(actions):
    assert refused_field({"utility": {"kind": "actions", "actions": actions, "range": [0, 1]}}) == "utility.actions"


def test_a_hundred_actions_are_allowed():
    actions = {str(i): f"theta * {i}" for i in range(100)}
    compile_question({"utility": {"kind": "actions", "actions": actions, "range": [0, 100]}}, PARAMETERS)


@pytest.mark.parametrize("text", ["theta + 0.1", "-theta", "2 * theta - 1.01", "1.000001"])
def test_an_action_that_may_leave_the_declared_range_is_refused(text):
    actions = {"a": text, "b": "0.5"}
    assert refused_field({"utility": {"kind": "actions", "actions": actions, "range": [0, 1]}}) == "utility.range"


def test_an_action_may_overshoot_its_range_by_rounding_only():
    spec = {"kind": "actions", "actions": {"a": "0.1 + 0.2", "b": "0.3 * theta"}, "range": [0, 0.3]}
    compile_question({"utility": spec}, PARAMETERS)


def test_an_error_inside_an_action_names_the_action_and_the_position():
    spec = {"kind": "actions", "actions": {"a": "theta", "b": "1 / (theta - 0.5)"}, "range": [0, 1]}
    with pytest.raises(InvalidExpression) as caught:
        compile_question({"utility": spec, "estimand": None}, PARAMETERS)
    assert (caught.value.problems[0].field, caught.value.position) == ("utility.actions.b", 2)


def test_confidence_is_ninety_five_percent_unless_given():
    assert compile_question({"estimand": THETA, "utility": SQUARED}, PARAMETERS).delta == 0.05
    near_one = {"estimand": THETA, "utility": SQUARED, "confidence": 1 - 2**-53}
    assert compile_question(near_one, PARAMETERS).delta == pytest.approx(2**-53, rel=0.2)


@pytest.mark.parametrize("extra", [{}, {"confidence": 0.9}])
@pytest.mark.parametrize("kind", sorted(UTILITIES))
def test_equal_bodies_compile_to_equal_hashable_questions(kind, extra):
    details = {"pinball": {"tau": 0.3}, "interval": {"level": 0.3}, "actions": {"actions": TWO, "range": [0, 1]}}
    details["expression"] = {"utility": "-abs(g - r)", "responses": [0, 0.5], "range": [-1, 0]}
    body = {"utility": {"kind": kind, **details.get(kind, {})}, **extra}
    if kind != "actions":
        text = "theta > 0.3" if kind == "zero_one" else "theta ** 2"
        body["estimand"] = {"kind": "expression", "expression": text}
    first, second = (compile_question(json.loads(json.dumps(body)), PARAMETERS) for _ in range(2))
    assert {first: "kept"}[second] == "kept"
    other = compile_question({**body, "confidence": 0.5}, PARAMETERS)
    assert other != first
    with pytest.raises(AttributeError):
        first.confidence = 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([*ESTIMANDS, *TWO]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = "name expression tau level actions range names event evidence features left right utility responses floor"
objects = st.fixed_dictionaries(
    {"kind": st.sampled_from([*ESTIMANDS, *UTILITIES])},
    optional=dict.fromkeys(FIELDS.split(), json_values),
)


bodies = st.fixed_dictionaries({}, optional={"estimand": objects | json_values, "utility": objects | json_values})


@pytest.mark.parametrize("examples", [60, deep(3_000)])
def test_any_json_compiles_or_is_refused_with_a_field(examples):
    @settings(derandomize=True, deadline=None, database=None, max_examples=examples)
    @given(bodies)
    def check(body):
        try:
            compile_question(body, PARAMETERS)
        except InvalidInput as error:
            problems = error.problems
        else:
            return
        assert problems[0].field
        assert problems[0].expected
        problems[0].field.encode()

    check()


def test_a_question_has_at_most_256_estimands_at_any_depth():
    def sixteen(inner: dict, names: int = 16) -> dict:
        text = " + ".join(f"n{i}" for i in range(names))
        return {"kind": "expression", "expression": text, "names": {f"n{i}": inner for i in range(names)}}

    fifteen = {"kind": "comparison", "left": sixteen(sixteen(THETA), 15), "right": THETA}
    assert refused_field({"estimand": fifteen, "utility": SQUARED}).startswith("estimand.left.names.")
    compile_question({"estimand": sixteen(sixteen(THETA), 14), "utility": SQUARED}, PARAMETERS)
