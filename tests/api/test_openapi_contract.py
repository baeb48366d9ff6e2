"""Every operation explains itself, and the committed description is the one the code gives."""

import re
from collections import Counter
from typing import Any

import pytest
from fastapi.routing import APIRoute

from app.api.application import build_api
from app.api.openapi import openapi_text
from app.api.problems import MEDIA_TYPE, PROBLEMS
from app.main import openapi_text as openapi_of_main
from tests.api.specification import COMMITTED, DOCUMENT

API = build_api(body_bytes_max=1024)
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
PROMISED = {
    ("post", "/v1/datasets"),
    ("get", "/v1/datasets"),
    ("get", "/v1/datasets/{dataset_id}"),
    ("patch", "/v1/datasets/{dataset_id}"),
    ("delete", "/v1/datasets/{dataset_id}"),
    ("put", "/v1/datasets/{dataset_id}/data"),
    ("post", "/v1/schemas/draft"),
    ("post", "/v1/releases/{release_id}/cancel"),
    ("post", "/v1/plans"),
    ("post", "/v1/datasets/{dataset_id}/releases"),
    ("get", "/v1/releases"),
    ("get", "/v1/releases/{release_id}"),
    ("get", "/v1/releases/{release_id}/card"),
    ("get", "/v1/releases/{release_id}/summary"),
    ("get", "/v1/releases/{release_id}/density"),
    ("get", "/v1/releases/{release_id}/samples"),
    ("post", "/v1/analysts"),
    ("get", "/v1/analysts"),
    ("post", "/v1/analysts/{analyst_id}/keys"),
    ("get", "/v1/analysts/{analyst_id}/keys"),
    ("delete", "/v1/keys/{key_id}"),
    ("put", "/v1/datasets/{dataset_id}/analysts/{analyst_id}"),
    ("delete", "/v1/datasets/{dataset_id}/analysts/{analyst_id}"),
    ("post", "/v1/releases/{release_id}/access"),
    ("post", "/v1/releases/{release_id}/query"),
    ("post", "/v1/releases/{release_id}/queries"),
    ("get", "/v1/me"),
    ("get", "/v1/datasets/{dataset_id}/ledger"),
    ("get", "/v1/ledger/head"),
    ("post", "/v1/ledger/verify"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/metrics"),
}


def schema_of(reference: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
    return found


def test_every_promised_route_exists():
    found = {(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert found >= PROMISED


def test_no_route_hides_from_the_description():
    routes = {route.path for route in API.routes if isinstance(route, APIRoute)}
    assert routes == set(DOCUMENT["paths"])


def test_operation_ids_are_unique_and_plain():
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert Counter(names).most_common(1)[0][1] == 1
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in names)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_says_what_it_does(path, method, operation):
    assert 5 <= len(operation["summary"]) <= 60
    assert len(operation["description"]) > 30
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    assert len(operation["tags"]) == 1
    assert set(operation["tags"]) <= tags


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_shows_an_example_of_body_and_answer(path, method, operation):
    for media, content in operation.get("requestBody", {"content": {}})["content"].items():
        assert content.get("examples") or media.startswith(("application/vnd.apache.", "application/octet-stream"))
    success = [status for status in operation["responses"] if status.startswith("2")]
    assert len(success) == 1
    for media, content in operation["responses"][success[0]].get("content", {}).items():
        assert content.get("examples") or schema_of(content["schema"]).get("examples"), media


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_lists_its_problems(path, method, operation):
    problems = {status: answer for status, answer in operation["responses"].items() if status[0] in "45"}
    assert "500" in problems
    for status, answer in problems.items():
        content = answer["content"][MEDIA_TYPE]
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert content["examples"]
        assert {str(PROBLEMS[code][0]) for code in content["examples"]} == {status}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_everything_but_operations_takes_a_key(path, method, operation):
    if path.startswith("/v1/"):
        assert operation["security"] == [{"key": []}]
        assert {"401", "503"} <= set(operation["responses"])
    else:
        assert "security" not in operation
        assert operation["tags"] == ["operations"]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_with_a_body_refuses_bad_ones(path, method, operation):
    if "application/json" in operation.get("requestBody", {"content": {}})["content"]:
        assert {"400", "413", "415", "422"} <= set(operation["responses"])


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_path_parameters_are_bounded(path, method, operation):
    named = re.findall(r"{(\w+)}", path)
    found = {item["name"]: item for item in operation.get("parameters", []) if item["in"] == "path"}
    assert set(found) == set(named)
    assert all("pattern" in item["schema"] for item in found.values())


def test_every_reference_leads_somewhere():
    for kind, name in re.findall(r'"#/components/(\w+)/(\w+)"', openapi_text(DOCUMENT)):
        assert name in DOCUMENT["components"][kind]


def test_the_examples_of_bodies_are_accepted_by_the_models_that_read_them():
    from app.api.openapi import BODIES

    for model in BODIES:
        extra = model.model_config["json_schema_extra"]
        for example in extra["examples"]:
            model.model_validate(example)


@pytest.mark.slow
def test_the_document_is_the_same_bytes_every_time():
    again = openapi_text(build_api(body_bytes_max=77).openapi())
    assert again == openapi_of_main()


def test_the_committed_document_is_current():
    said = API.openapi()
    assert said == DOCUMENT, "run `make openapi` and commit the result"
    assert COMMITTED.read_text() == openapi_text(said)
