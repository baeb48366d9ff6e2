"""The specification is what is checked: every field named, typed and described, and nothing else accepted."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
import pytest

from app.api.schemas.models import COUNTS, MECHANISM, MODEL
from app.api.schemas.plans import PlanBody
from app.api.schemas.releases import ReleaseBody
from app.core.kinds import KINDS, mechanism_specs, model_specs, parse_model
from app.core.schema import parse_columns
from app.core.specs import Spec
from app.errors import InvalidModel
from app.sources.source_spec import SOURCE_SPECS
from app.sources.sources import SOURCES
from tests.api.specification import DOCUMENT
from tests.core.decisions.test_every_release import MODELS
from tests.core.families.family_cases import CASES

SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
REQUESTS = {
    operation["operationId"]: content["schema"]
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
    for content in operation.get("requestBody", {"content": {}})["content"].values()
}
UNIONS = {
    "Model": "family",
    "Mechanism": "kind",
    "MechanismBody": "kind",
    "PlanMechanismBody": "kind",
    "Source": "kind",
    "ColumnSpec": "type",
    "Estimand": "kind",
    "Utility": "kind",
}
PRIORS = ("ProbabilityPrior", "RatePrior", "LocationPrior", "NodePrior", "PrecisionPrior", "WishartPrior")


def validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]})


def parts(schema: dict[str, Any], path: str, seen: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema that a value is checked with, named by where it stands; a component once."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from parts(SCHEMAS[name], name, seen)
        return
    yield path, schema
    for word in ("oneOf", "anyOf", "allOf", "prefixItems"):
        for number, choice in enumerate(schema.get(word, ())):
            yield from parts(choice, f"{path}.{word}.{number}", seen)
    for name, field in schema.get("properties", {}).items():
        yield from parts(field, f"{path}.{name}", seen)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from parts(schema[word], f"{path}.{word}", seen)


def test_the_walk_reaches_what_is_nested():
    found = {path for path, _ in parts(REQUESTS["plan_release"], "", set())}
    assert {"BetaPrior.alpha", "NetworkNode.parents", "IntegerColumn.lower", "MvnMeanModel.covariance.items"} <= found


@pytest.mark.parametrize("operation", sorted(REQUESTS))
def test_a_request_has_no_open_object_and_nothing_untyped(operation: str):
    """An object names all its fields, or is a map of what has a schema of its own."""
    for path, schema in parts(REQUESTS[operation], operation, set()):
        typed = {"type", "const", "enum", "oneOf", "anyOf", "allOf"} & set(schema)
        assert typed, f"{path} may be anything"
        if schema.get("type") == "object":
            rest = schema.get("additionalProperties")
            assert rest is False or (isinstance(rest, dict) and rest), f"{path} takes unknown fields"


@pytest.mark.parametrize("operation", sorted(REQUESTS))
def test_what_may_be_left_out_of_a_request_is_optional_to_generators(operation: str):
    """Some make a field with a `default` one that has to be sent."""
    for path, schema in parts(REQUESTS[operation], operation, set()):
        for name, field in schema.get("properties", {}).items():
            assert "default" not in field, f"{path}.{name}"


@pytest.mark.parametrize("name", [*UNIONS, *PRIORS, "PrivacyUnitSpec", "PlanUnitBody", "TrimRange"])
def test_every_field_of_what_is_described_says_what_it_is(name: str):
    for path, schema in parts({"$ref": f"#/components/schemas/{name}"}, name, set()):
        for field, described in schema.get("properties", {}).items():
            assert len(described.get("description", "")) > 5, f"{path}.{field}"


@pytest.mark.parametrize("name", UNIONS)
def test_a_union_is_told_apart_by_a_constant_that_every_choice_requires(name: str):
    union, tag = SCHEMAS[name], UNIONS[name]
    assert union["discriminator"]["propertyName"] == tag
    mapping = union["discriminator"]["mapping"]
    assert sorted(mapping.values()) == sorted(choice["$ref"] for choice in union["oneOf"])
    for value, reference in mapping.items():
        for _, chosen in parts({"$ref": reference}, "", set()):
            if "properties" in chosen:
                assert chosen["properties"][tag]["const"] == value
                assert tag in chosen["required"]
                break


def test_every_registered_thing_is_in_the_specification_under_its_own_name():
    families = {name for kind in KINDS for name in kind.families}
    mechanisms = {name for kind in KINDS for name in kind.mechanisms}
    assert set(SCHEMAS["Model"]["discriminator"]["mapping"]) == families
    assert set(SCHEMAS["Mechanism"]["discriminator"]["mapping"]) == mechanisms
    assert set(SCHEMAS["MechanismBody"]["discriminator"]["mapping"]) == {"auto", *mechanisms}
    assert set(SCHEMAS["PlanMechanismBody"]["discriminator"]["mapping"]) == {"auto", *mechanisms}
    assert set(SCHEMAS["Source"]["discriminator"]["mapping"]) == set(SOURCE_SPECS) == set(SOURCES)
    described: list[tuple[str, str, type[Spec]]] = [
        *(("family", *item) for item in model_specs().items()),
        *(("kind", *item) for item in mechanism_specs().items()),
        *(("kind", *item) for item in mechanism_specs(in_plans=True).items()),
        *(("kind", *item) for item in SOURCE_SPECS.items()),
    ]
    for tag, name, spec in described:
        assert get_args(spec.model_fields[tag].annotation) == (name,)


def test_answers_are_described_as_what_was_sent():
    def field(schema: str, name: str) -> str:
        described = SCHEMAS[schema]["properties"][name]
        described = described["anyOf"][0] if "anyOf" in described else described  # null of several models
        return str(described.get("$ref") or described["items"]["$ref"]).rpartition("/")[2]

    for schema in ("Plan", "Release"):
        assert field(schema, "model") == "Model"
        assert field(schema, "mechanism") == "Mechanism"
        assert field(schema, "parameters") == "ParameterRange"
    assert field("PlanAlternative", "mechanism") == "Mechanism"
    assert field("Dataset", "source") == "Source"


def test_the_upload_is_bytes_of_a_type_that_generators_know():
    put = DOCUMENT["paths"]["/v1/datasets/{dataset_id}/data"]["put"]["requestBody"]
    assert put["required"] is True
    for media in ("application/octet-stream", "application/vnd.apache.parquet"):
        assert put["content"][media]["schema"].items() >= {"type": "string", "format": "binary"}.items()
    assert put["content"]["text/csv"]["schema"]["type"] == "string"


def specs_of(family: str) -> list[dict[str, Any]]:
    """One with all that can be left out, and the same with what the builder filled in."""
    if family in CASES:
        case = CASES[family]
        columns = parse_columns({"x": case.column})
        short: dict[str, Any] = {"family": family, "column": "x", **case.known}
        return [short, parse_model(short, columns).as_json()]
    return [MODELS[family].as_json()]


@pytest.mark.parametrize("family", sorted(model_specs()))
def test_the_specification_of_a_model_accepts_what_its_reader_does_and_no_misspelt_field(family: str):
    accepts = validator("Model")
    for spec in specs_of(family):
        accepts.validate(spec)
        assert (
            json.loads(ReleaseBody(model=spec, mechanism=MECHANISM).model_dump_json())["model"].items() >= spec.items()
        )
        for name in spec:
            renamed = {(f"{key}x" if key == name else key): value for key, value in spec.items()}
            assert not accepts.is_valid(renamed), name
            with pytest.raises(InvalidModel) as refused:
                parse_model(renamed, {})
            assert refused.value.problems[0].field.startswith("model."), name


@pytest.mark.parametrize(
    ("prior", "meant"),
    [
        ({}, "beta"),
        ({"alpha": 2}, "beta"),
        ({"kind": "beta"}, "beta"),
        ({"kind": "jeffreys"}, "jeffreys"),
        (None, None),
    ],
)
def test_a_prior_without_a_kind_is_the_conjugate_one_and_a_valid_one(prior: Any, meant: str | None):
    spec = {**MODEL, "prior": prior}
    validator("Model").validate(spec)
    read: Any = ReleaseBody(model=spec, mechanism=MECHANISM).model
    assert meant is None if read.prior is None else read.prior.kind == meant
    assert not validator("Model").is_valid({**MODEL, "prior": {"kind": "uniform", "alpha": 2}})
    assert not validator("Model").is_valid({**COUNTS, "prior": {"alpha": 2}})
    assert not validator("Model").is_valid({**COUNTS, "trim": 0.05})
    assert not validator("Model").is_valid({**MODEL, "trim": {"lower": 0.1}})


def test_a_plan_may_leave_open_what_it_finds_and_a_release_may_not():
    plan, release = validator("PlanMechanismBody"), validator("MechanismBody")
    for open_ended in ({"kind": "baps"}, {"kind": "baps", "samples": None}, {"kind": "auto"}):
        assert plan.is_valid(open_ended)
        assert not release.is_valid(open_ended)
        PlanBody(model=MODEL, mechanism=open_ended, n=10)
        with pytest.raises(ValueError, match=r"samples|epsilon"):
            ReleaseBody(model=MODEL, mechanism=open_ended)
    assert not validator("Mechanism").is_valid({"kind": "auto", "epsilon": 1.0})
