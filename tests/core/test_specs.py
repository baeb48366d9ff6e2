"""What a description refuses, and in which words: by the caller's own field names, with the limits, for any value at all."""

import math
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from app.core.kinds import KINDS, model_specs, parse_mechanism, parse_model
from app.core.kinds.networks import NETWORKS
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.schema import parse_columns, parse_unit
from app.core.specs import OneOf, Spec, read_spec
from app.errors import InvalidInput, InvalidMechanism, InvalidModel, InvalidSchema
from app.sources.source_spec import parse_source

COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo"]},
        "days": {"type": "real", "lower": 0, "upper": 365},
        "visits": {"type": "integer", "lower": 0, "upper": 40},
    }
)
BERNOULLI: dict[str, Any] = {"family": "bernoulli", "column": "cured"}
POISSON: dict[str, Any] = {"family": "poisson", "column": "visits"}
NETWORK: dict[str, Any] = {"family": "network", "nodes": {"cured": {"parents": ["arm"]}, "arm": {}}}
NAIVE: dict[str, Any] = {"family": "naive_bayes", "class": "cured", "features": ["arm"]}
LINE: dict[str, Any] = {"family": "linear_regression", "target": "days", "features": ["visits", "cured"]}
MEAN: dict[str, Any] = {"family": "mvn_mean", "columns": ["days", "visits"], "covariance": [[900.0, 0.0], [0.0, 9.0]]}
NORMAL: dict[str, Any] = {"family": "normal", "column": "days"}
MATRIX: dict[str, Any] = {"family": "normal_precision_matrix", "columns": ["days", "visits"], "radius": 30.0}
KNOWN_TO_NAIVE_BAYES = "no such field (known: class, family, features, prior, priors, splits, trim)"
MODELS = (BERNOULLI, POISSON, NETWORK, NAIVE, LINE, NORMAL, MEAN, MATRIX)


def problem(model: Any) -> tuple[str, str]:
    with pytest.raises(InvalidModel) as refused:
        parse_model(model, COLUMNS)
    found = refused.value.problems[0]
    return found.field, found.expected


@pytest.mark.parametrize(
    ("model", "field", "expected"),
    [
        (5, "model", "an object"),
        ({}, "model.family", "one of " + ", ".join(sorted(model_specs()))),
        ({"family": "bernouli"}, "model.family", "one of " + ", ".join(sorted(model_specs()))),
        ({"family": "bernoulli"}, "model.column", "this field to be present"),
        (BERNOULLI | {"nmae": 1}, "model.nmae", "no such field (known: column, family, prior, trim)"),
        (BERNOULLI | {"trim": 0}, "model.trim", "a number at least 1e-06"),
        (BERNOULLI | {"trim": 0.5}, "model.trim", "a number at most 0.49"),
        (BERNOULLI | {"trim": math.nan}, "model.trim", "a finite number"),
        (BERNOULLI | {"trim": 10**400}, "model.trim", "a number"),
        (BERNOULLI | {"trim": True}, "model.trim", "a number"),
        (BERNOULLI | {"trim": {"lower": 1}}, "model.trim", "a number"),
        (BERNOULLI | {"prior": 3}, "model.prior", "an object"),
        (BERNOULLI | {"prior": {"kind": "cauchy"}}, "model.prior.kind", "one of beta, jeffreys, uniform"),
        (BERNOULLI | {"prior": {"kind": ""}}, "model.prior.kind", "one of beta, jeffreys, uniform"),
        (BERNOULLI | {"prior": {"kind": ["beta"]}}, "model.prior.kind", "one of beta, jeffreys, uniform"),
        (BERNOULLI | {"prior": {"alpha": 0}}, "model.prior.alpha", "a number at least 0.001"),
        (BERNOULLI | {"prior": {"beta": None}}, "model.prior.beta", "a number"),
        (BERNOULLI | {"prior": {"gamma": 1}}, "model.prior.gamma", "no such field (known: alpha, beta, kind)"),
        (POISSON | {"trim": 0.05}, "model.trim", "an object"),
        (POISSON | {"trim": {"low": 1}}, "model.trim.low", "no such field (known: lower, upper)"),
        (POISSON | {"trim": {"lower": None}}, "model.trim.lower", "a number"),
        (POISSON | {1: 2}, "model.1", "names that are text"),
        (NETWORK | {"splits": "bush"}, "model.splits", "one of chain, tree"),
        (NETWORK | {"nodes": {"arm": {"father": 1}}}, "model.nodes.arm.father", "no such field (known: parents, prior)"),
        (NETWORK | {"nodes": {7: {}}}, "model.nodes", "text"),
        (NAIVE | {"target": "arm"}, "model.target", KNOWN_TO_NAIVE_BAYES),
        (NAIVE | {"priors": {"arm": {"strength": -1}}}, "model.priors.arm.strength", "a number at least 0.001"),
        (LINE | {"features": ["visits", "visits"]}, "model.features", "different names"),
        (LINE | {"radius": None}, "model.radius", "a number"),
        (LINE | {"norm_bound": -1}, "model.norm_bound", "a number above 0"),
        (MEAN | {"covariance": [[900.0, 0.0], [0.0, "9"]]}, "model.covariance.1.1", "a number"),
    ],
)  # fmt: skip
def test_a_refused_model_names_the_field_and_what_would_do(model: Any, field: str, expected: str):
    assert problem(model) == (field, expected)


@pytest.mark.parametrize(
    ("mechanism", "field", "expected"),
    [
        ([], "mechanism", "an object"),
        ({"kind": ""}, "mechanism.kind", "one of baps, gaussian, laplace, map for this kind of model"),
        ({"kind": "fourier"}, "mechanism.kind", "one of baps, gaussian, laplace, map for this kind of model"),
        ({"kind": "baps"}, "mechanism.samples", "this field to be present"),
        ({"kind": "baps", "samples": 0}, "mechanism.samples", "a whole number at least 1"),
        ({"kind": "baps", "samples": 10**400}, "mechanism.samples", "a whole number at most 1000000"),
        ({"kind": "baps", "samples": 5.0}, "mechanism.samples", "a whole number"),
        ({"kind": "baps", "samples": 5, "temperature": 2}, "mechanism.temperature", "a number at most 1"),
        ({"kind": "map", "epsilon": 1, "score": "x"}, "mechanism.score", "one of auto, log_density, probability"),
        ({"kind": "map", "epsilon": 1, "samples": 3}, "mechanism.samples", "no such field (known: epsilon, kind, score)"),
    ],
)  # fmt: skip
def test_a_refused_mechanism_names_the_field_and_what_would_do(mechanism: Any, field: str, expected: str):
    with pytest.raises(InvalidMechanism) as refused:
        parse_mechanism(mechanism, parse_model(BERNOULLI, COLUMNS))
    found = refused.value.problems[0]
    assert (found.field, found.expected) == (field, expected)


@pytest.mark.parametrize(
    ("columns", "field", "expected"),
    [
        ({"a": {"type": "complex"}}, "columns.a.type", "one of binary, categorical, date, integer, real"),
        ({"a": {"type": ""}}, "columns.a.type", "one of binary, categorical, date, integer, real"),
        ({"a": 1}, "columns.a", "an object"),
        ({"a": {"type": "real", "lower": 1, "upper": 1}}, "columns.a.upper", "a number above `lower`"),
        ({"a": {"type": "real", "lower": 0}}, "columns.a.upper", "this field to be present"),
        ({" a": {"type": "binary"}}, "columns", "column names without spaces at either end"),
        ({"": {"type": "binary"}}, "columns", "column names of 1 to 128 printable characters"),
        (
            {"binary": {"type": "binary", "lower": 1}},
            "columns.binary.lower",
            "no such field (known: false, from, missing, missing_spellings, public, true, type)",
        ),
    ],
)
def test_a_refused_column_names_the_field_and_what_would_do(columns: Any, field: str, expected: str):
    with pytest.raises(InvalidSchema) as refused:
        parse_columns(columns)
    found = refused.value.problems[0]
    assert (found.field, found.expected) == (field, expected)


hostile = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), math.nan, math.inf, 5e-324, 1e308, "\x1f", "\x1fbeta", "\ud800", "kind"])
    | st.floats()
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "alpha", "lower", "strength", "x"]) | st.integers(), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def refused(read: Any) -> str | None:
    """The field that was refused; None if it was read."""
    try:
        read()
    except InvalidInput as error:
        return error.problems[0].field
    return None


@given(st.sampled_from(MODELS), st.data(), hostile)
def test_any_value_in_any_field_of_a_model_is_read_or_refused_by_that_field(
    model: Any, data: st.DataObject, value: Any
):
    name = data.draw(st.sampled_from([*model, "prior", "trim", "surprise"]))
    field = refused(lambda: parse_model(model | {name: value}, COLUMNS))
    assert field is None or (field.startswith("model") and "\x1f" not in field)


@given(hostile)
def test_any_value_at_all_is_read_or_refused_by_name(value: Any):
    model = parse_model(BERNOULLI, COLUMNS)
    for where, read in (
        ("model", lambda: parse_model(value, COLUMNS)),
        ("mechanism", lambda: parse_mechanism(value, model)),
        ("mechanism", lambda: parse_mechanism({"kind": "laplace", "samples": 3, "epsilon": value}, model)),
        ("columns", lambda: parse_columns({"x": value})),
        ("privacy_unit", lambda: parse_unit(value, COLUMNS)),
        ("source", lambda: parse_source(value)),
        ("source", lambda: parse_source({"kind": "upload", "retain": value})),
    ):
        field = refused(read)
        assert field is None or field.startswith(where)


@pytest.mark.slow
def test_nesting_without_end_is_refused_like_any_other_object():
    deep: Any = {}
    for _ in range(100_000):
        deep = {"prior": deep}
    assert problem(BERNOULLI | {"prior": deep})[0] == "model.prior.prior"
    assert problem(deep)[0] == "model.family"


def test_a_mechanism_is_described_the_same_way_whatever_the_kind_of_model():
    for kind in KINDS:
        for name, mechanism in kind.mechanisms.items():
            others = [other.mechanisms[name].spec for other in KINDS if name in other.mechanisms]
            assert others.count(mechanism.spec) == len(others), name
    assert NETWORKS.mechanisms["baps"].spec is ONE_PARAMETER.mechanisms["baps"].spec


class Left(Spec):
    left: int


class Right(Spec):
    right: int


def test_without_a_tag_a_choice_is_known_by_the_field_only_it_has():
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Spec, OneOf(None, {"left": Left, "right": Right})])
    assert read_spec(adapter, {"left": 1}, "it", InvalidModel) == Left(left=1)
    assert read_spec(adapter, {"right": 1}, "it", InvalidModel) == Right(right=1)
    for value, field in (({}, "it.right"), ({"left": 1, "right": 1}, "it.right"), ({"up": 1}, "it.right"), (1, "it")):
        with pytest.raises(InvalidModel) as caught:
            read_spec(adapter, value, "it", InvalidModel)
        assert caught.value.problems[0].field == field
