"""Public schemas, models and mechanisms: what parses, what is refused and by which name."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.kinds import kind_of, parse_model
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.privacy.release_cost import SAMPLES_MAX
from app.core.schema import COLUMNS_MAX, ROWS_PER_PERSON_MAX, PrivacyUnit, parse_columns, parse_unit
from app.errors import InvalidMechanism, InvalidModel, InvalidSchema
from tests.core.families.family_cases import CASES

BINARY = {"cured": {"type": "binary"}}
FULL = {
    "cured": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"]},
    "days": {"type": "real", "lower": 0, "upper": 365.5},
    "visits": {"type": "integer", "lower": -3, "upper": 40},
}


def test_a_full_schema_parses_and_goes_back_to_the_same_json() -> None:
    columns = parse_columns(FULL)
    assert {name: column.as_json() for name, column in columns.items()} == FULL


DECLARED = {
    "cured": {"type": "binary", "missing": {"value": False}},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True, "missing": {"level": "placebo"}},
    "ward": {"type": "categorical", "levels": ["a", "other"], "outside": {"level": "other"}},
    "days": {"type": "real", "lower": 0, "upper": 365.5, "missing": "group", "outside": "refuse"},
    "visits": {"type": "integer", "lower": -3, "upper": 40, "missing": {"value": 0}},
}


def test_declared_policies_go_back_to_the_same_json() -> None:
    columns = parse_columns(DECLARED)
    assert {name: column.as_json() for name, column in columns.items()} == DECLARED
    assert [name for name, column in columns.items() if column.public] == ["arm"]


def test_other_is_short_for_the_level_of_that_name() -> None:
    spec = {"type": "categorical", "levels": ["a", "other"], "outside": "other"}
    assert parse_columns({"ward": spec}) == parse_columns({"ward": {**spec, "outside": {"level": "other"}}})


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("public", {"type": "binary", "public": 1}),
        ("missing", {"type": "binary", "missing": "clip"}),
        ("missing", {"type": "binary", "missing": {"value": 1}}),
        ("missing", {"type": "binary", "missing": {"level": "yes"}}),
        ("missing", {"type": "binary", "missing": "group", "public": True}),
        ("outside", {"type": "binary", "outside": "clip"}),
        ("missing", {"type": "categorical", "levels": ["a", "b"], "missing": {"level": "unknown"}}),
        ("outside", {"type": "categorical", "levels": ["a", "b"], "outside": "other"}),
        ("outside", {"type": "categorical", "levels": ["a", "b"], "outside": "clip"}),
        ("missing", {"type": "real", "lower": 0, "upper": 1, "missing": {"value": 2}}),
        ("missing", {"type": "integer", "lower": 0, "upper": 9, "missing": {"value": 2.5}}),
        ("missing", {"type": "real", "lower": 0, "upper": 1, "missing": {"value": math.nan}}),
        ("outside", {"type": "real", "lower": 0, "upper": 1, "outside": {"value": 1}}),
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused_by_name(field: str, spec: Any) -> None:
    with pytest.raises(InvalidSchema) as raised:
        parse_columns({"x": spec})
    assert raised.value.problems[0].field == f"columns.x.{field}"


def test_levels_with_their_spellings_keep_their_order_in_every_form() -> None:
    spelled = {"type": "categorical", "levels": {"z": ["Z", "zed"], "a": [], "m": ["1"]}}
    listed = {"type": "categorical", "levels": ["z", "a", "m"], "spellings": {"z": ["Z", "zed"], "m": ["1"]}}
    assert parse_columns({"x": spelled}) == parse_columns({"x": listed})
    assert parse_columns({"x": spelled})["x"].as_json() == listed


def test_spellings_of_yes_no_and_nothing_go_back_to_the_same_json() -> None:
    spec = {"type": "binary", "true": ["J", "2"], "false": ["1"], "missing_spellings": ["-9"], "missing": "group"}
    assert parse_columns({"x": spec})["x"].as_json() == spec


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "categorical", "levels": {"a": ["x"], "b": ["x"]}},
        {"type": "categorical", "levels": {"a": ["b"], "b": []}},
        {"type": "categorical", "levels": {"a": [], "b": ["a "]}},
        {"type": "categorical", "levels": ["a", "A"], "fold_case": True},
        {"type": "categorical", "levels": ["a", "a "]},
        {"type": "categorical", "levels": ["a", "b"], "missing_spellings": ["A"]},
        {"type": "categorical", "levels": ["a", "b"], "spellings": {"c": ["x"]}},
        {"type": "categorical", "levels": {"a": [], "b": []}, "spellings": {"a": ["x"]}},
        {"type": "categorical", "levels": {"a": [], "b": ["\x00"]}},
        {"type": "categorical", "levels": {"a": []}},
        {"type": "binary", "true": ["x"], "false": ["X"]},
        {"type": "binary", "true": ["x"], "missing_spellings": ["x"]},
        {"type": "binary", "true": "x"},
    ],
)
def test_a_text_that_would_mean_two_things_is_refused_when_it_is_declared(spec: Any) -> None:
    with pytest.raises(InvalidSchema) as raised:
        parse_columns({"x": spec})
    assert raised.value.problems[0].field.startswith("columns.x")


def test_a_column_whose_missing_cells_have_no_value_is_a_private_group() -> None:
    columns = parse_columns({"cured": {"type": "binary", "missing": "group"}, "x": {"type": "binary"}})
    network = parse_model({"family": "network", "nodes": {"cured": {}}}, columns)
    assert set(kind_of(network).mechanisms) == {"laplace", "gaussian"}
    measured = parse_model({"family": "bernoulli", "column": "cured"}, columns)
    assert set(kind_of(measured).mechanisms) == {"gaussian"}
    assert set(kind_of(parse_model({"family": "bernoulli", "column": "x"}, columns)).mechanisms) > {"gaussian"}


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "integer", "lower": 1, "upper": 9, "public": True},
        {"type": "integer", "lower": 1, "upper": 9, "missing": {"value": 1}},
        {"type": "categorical", "levels": ["a", "other"], "outside": "other"},
    ],
)
def test_a_person_is_not_named_by_a_column_that_is_public_or_filled(spec: Any) -> None:
    with pytest.raises(InvalidSchema, match="not public"):
        parse_unit({"column": "patient", "max_rows": 2}, parse_columns({"patient": spec}))


@pytest.mark.parametrize(
    "name", ["", " cured", "cured ", "a\nb", "a\0", "x" * 129, 5, None, "\u202e", "tab\t", "\ud800"]
)
def test_a_bad_column_name_is_refused(name: Any) -> None:
    with pytest.raises(InvalidSchema):
        parse_columns({name: {"type": "binary"}})


@pytest.mark.parametrize("pair", [("cured", "Cured"), ("ÄRM", "ärm")])
def test_names_that_differ_only_by_case_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidSchema, match="upper and lower case"):
        parse_columns({name: {"type": "binary"} for name in pair})


@pytest.mark.parametrize("spec", [{}, [], None, "cured", {f"c{i}": {"type": "binary"} for i in range(COLUMNS_MAX + 1)}])
def test_no_columns_too_many_or_no_object_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidSchema):
        parse_columns(spec)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "binary",
        {},
        {"type": "Binary"},
        {"type": ["binary"]},
        {"type": None},
        {"type": "binary", "levels": ["a", "b"]},
        {"type": "categorical"},
        {"type": "categorical", "levels": ["a"]},
        {"type": "categorical", "levels": ["a", "a"]},
        {"type": "categorical", "levels": ["a", ""]},
        {"type": "categorical", "levels": ["a", 1]},
        {"type": "categorical", "levels": "ab"},
        {"type": "categorical", "levels": ["a", "b\n"]},
        {"type": "categorical", "levels": [str(i) for i in range(1001)]},
        {"type": "real", "lower": 0},
        {"type": "real", "lower": 0, "upper": 1, "extra": 2},
    ],
)
def test_a_column_with_a_wrong_shape_is_refused_by_name(body: Any) -> None:
    with pytest.raises(InvalidSchema) as raised:
        parse_columns({"col": body})
    assert raised.value.problems[0].field.startswith("columns.col")


@pytest.mark.parametrize("kind", ["real", "integer"])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (math.nan, 1),
        (0, math.nan),
        (-math.inf, 1),
        (0, math.inf),
        (True, 5),
        (0, True),
        ("0", 1),
        (None, 1),
        (1, 1),
        (2, 1),
        (0, 10**400),
        (-(10**400), 0),
    ],
)
def test_bounds_must_be_finite_numbers_in_order(kind: str, lower: Any, upper: Any) -> None:
    with pytest.raises(InvalidSchema):
        parse_columns({"x": {"type": kind, "lower": lower, "upper": upper}})


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 3), (0, 2.5), (0, 2**53 + 2), (-(2.0**60), 0)])
def test_bounds_of_whole_numbers_are_whole_and_exact_as_doubles(lower: float, upper: float) -> None:
    with pytest.raises(InvalidSchema):
        parse_columns({"x": {"type": "integer", "lower": lower, "upper": upper}})


def test_a_whole_double_is_a_whole_number() -> None:
    column = parse_columns({"x": {"type": "integer", "lower": 0.0, "upper": 2.0}})["x"]
    assert (column.lower, column.upper) == (0, 2)
    assert isinstance(column.upper, int)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=6), json_values, max_size=3))
def test_any_json_either_parses_or_is_refused_by_name(spec: dict[str, Any]) -> None:
    try:
        fields = list(parse_columns(spec))
    except InvalidSchema as refused:
        fields = [problem.field for problem in refused.problems]
    assert all(fields)


def test_no_unit_means_one_row_a_person() -> None:
    assert parse_unit(None, parse_columns(BINARY)) == PrivacyUnit(None, 1)
    assert PrivacyUnit().as_json() is None


def test_a_unit_may_name_a_column_outside_the_schema() -> None:
    unit = parse_unit({"column": "patient", "max_rows": 3}, parse_columns(BINARY))
    assert unit == PrivacyUnit("patient", 3)
    assert unit.as_json() == {"column": "patient", "max_rows": 3}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        [],
        "patient",
        {"column": "patient"},
        {"max_rows": 3},
        {"column": "patient", "max_rows": 3, "more": 1},
        {"column": "", "max_rows": 3},
        {"column": 5, "max_rows": 3},
        {"column": "CURED", "max_rows": 3},
        *(
            {"column": "p", "max_rows": rows}
            for rows in (0, -1, 2.0, True, "3", None, math.nan, ROWS_PER_PERSON_MAX + 1)
        ),
    ],
)
def test_a_bad_privacy_unit_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidSchema) as raised:
        parse_unit(spec, parse_columns(BINARY))
    assert raised.value.problems[0].field.startswith("privacy_unit")


def model_spec(**changes: Any) -> dict[str, Any]:
    return {"family": "bernoulli", "column": "cured", "prior": {"alpha": 2, "beta": 3}, "trim": 0.1, **changes}


def test_a_model_parses_with_its_defaults_and_goes_back_to_json() -> None:
    columns = parse_columns(FULL)
    model = parse_model({"family": "bernoulli", "column": "cured"}, columns)
    assert model.as_json() == model_spec(prior={"kind": "beta", "alpha": 1.0, "beta": 1.0}, trim=0.05)
    assert parse_model(model.as_json(), columns) == model
    assert hash(parse_model(model_spec(), columns)) == hash(parse_model(model_spec(trim=0.10), columns))


@pytest.mark.parametrize(
    "changes",
    [
        {"family": "poisson"},
        {"family": None},
        {"family": ["bernoulli"]},
        {"column": "arm"},
        {"column": "nothing"},
        {"column": 3},
        {"prior": []},
        {"prior": {"alpha": 1, "gamma": 1}},
        {"more": 1},
        *({"trim": trim} for trim in (0, -0.1, 0.5, 1, math.nan, math.inf, True, "0.1", None, 10**400)),
        *({"prior": {"alpha": alpha}} for alpha in (0, -1, math.nan, math.inf, True, "1", None, 2e6, 10**400)),
        *({"prior": {"beta": beta}} for beta in (0, -1, math.nan, 1e-4)),
    ],
)
def test_a_bad_model_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidModel) as raised:
        parse_model(model_spec(**changes), parse_columns(FULL))
    assert raised.value.problems[0].field.startswith("model")


@pytest.mark.parametrize("spec", [None, [], "bernoulli", {}, {"family": "bernoulli"}])
def test_a_model_that_is_not_a_whole_object_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidModel):
        parse_model(spec, parse_columns(FULL))


EXTREMES = [-1e300, -1.0, 0.0, 5e-324, 1e-310, 1e-200, 1e-12, 1.0, 1e12, 1e150, 1e200, 1e300]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_columns_of_any_bounds_either_suit_a_family_or_are_refused_by_name(family: str) -> None:
    """No power or square of a bound ends as anything but a refusal."""
    for lower, upper in itertools.combinations(EXTREMES, 2):
        columns = parse_columns({"x": {"type": "real", "lower": lower, "upper": upper}})
        for known in (
            CASES[family].known,
            *(dict.fromkeys(CASES[family].known, value) for value in (1e-6, 20.0, lower)),
        ):
            try:
                parameter = parse_model({"family": family, "column": "x", **known}, columns).parameters[0]
            except InvalidModel:
                continue
            assert -math.inf < parameter.lower < parameter.upper < math.inf


def test_a_mechanism_parses_and_goes_back_to_json() -> None:
    spec = {"kind": "baps", "samples": 100, "temperature": 0.5}
    assert ONE_PARAMETER.parse_mechanism(spec).as_json() == spec
    assert ONE_PARAMETER.parse_mechanism({"kind": "baps", "samples": 1}).temperature == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "laplace-ish"},
        {"kind": None},
        {"more": 1},
        *({"samples": samples} for samples in (0, -1, 1.0, True, "5", None, math.nan, SAMPLES_MAX + 1)),
        *(
            {"temperature": t}
            for t in (0, -1, 1.0000001, math.nan, math.inf, -math.inf, True, "1", None, 10**400, 1e-7)
        ),
    ],
)
def test_a_bad_mechanism_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidMechanism) as raised:
        ONE_PARAMETER.parse_mechanism({"kind": "baps", "samples": 10, "temperature": 1.0, **changes})
    assert raised.value.problems[0].field.startswith("mechanism")


@pytest.mark.parametrize("spec", [None, [], "baps", {}, {"kind": "baps"}])
def test_a_mechanism_that_is_not_a_whole_object_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidMechanism):
        ONE_PARAMETER.parse_mechanism(spec)


def test_a_schema_that_an_earlier_version_took_is_read_where_it_is_stored_and_refused_where_it_is_declared():
    blanks = {"arm": {"type": "categorical", "levels": ["drug", "drug ", "placebo"]}}
    wide = {"visits": {"type": "integer", "lower": 0, "upper": 2**53}}
    for spec, field in ((blanks, "columns.arm"), (wide, "columns.visits.upper")):
        assert [*parse_columns(spec, stored=True)] == [*spec]
        with pytest.raises(InvalidSchema) as refused:
            parse_columns(spec)
        assert refused.value.problems[0].field.startswith(field)
    assert parse_columns({"visits": {"type": "integer", "lower": 1 - 2**53, "upper": 2**53 - 1}})
