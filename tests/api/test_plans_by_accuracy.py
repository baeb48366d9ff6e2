"""Plans by accuracy and of several models over HTTP: shapes, codes, and what is left of an account."""

from typing import Any

import pytest

from tests.api.conftest import MODEL, Service
from tests.conftest import SHARED_POSTGRES_DEEP

pytestmark = SHARED_POSTGRES_DEEP

GOAL = {"half_width": 0.03, "level": 0.9}


def body(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "n": 1_000, "target": GOAL} | changes


@pytest.mark.slow
async def test_what_a_plan_by_accuracy_finds_can_be_sent_as_a_release(service: Service):
    dataset = await service.dataset()
    planned = await service.expect(200, "ada", "POST", "/plans", body())
    assert planned["target"]["half_width"] == 0.03
    assert planned["precision"]["half_width"] <= 0.0301
    assert planned["precision"]["coverage"]["share"] == pytest.approx(0.9, abs=0.1)
    made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", planned["release"])
    assert made["cost"]["epsilon"] == planned["target"]["epsilon"]
    await service.settled(made["id"])


async def test_what_no_epsilon_buys_is_a_problem_that_says_what_would_do(known: Service):
    refused = await known.expect(422, "ada", "POST", "/plans", body(target={"half_width": 0.001}))
    assert refused["code"] == "accuracy_unreachable"
    assert refused["errors"][0]["field"] == "target.half_width"
    assert 0.01 < refused["best"] < 0.03
    assert refused["people_needed"] > 100_000


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target": GOAL | {"epsilon": 1.0}}, "target.epsilon"),
        ({"target": {"half_width": -1}}, "target.half_width"),
        ({"target": {"sd": 0.1, "level": 1}}, "target.level"),
        ({"models": [{"model": MODEL, "target": {"epsilon": 1}}], "model": None}, "models.0.target.epsilon"),
        ({"models": []}, "models"),
        ({"models": [{"target": GOAL}]}, "models.0.model"),
    ],
)
async def test_a_target_of_the_wrong_shape_names_the_field(known: Service, changes: dict[str, Any], field: str):
    asked = {name: value for name, value in body(**changes).items() if value is not None}
    if "models" in asked:
        asked = {"models": asked["models"], "n": 1_000}
    refused = await known.expect(422, "ada", "POST", "/plans", asked)
    assert field in [problem["field"] for problem in refused["errors"]]


@pytest.mark.slow
async def test_what_is_left_of_an_account_is_split_and_admitted(service: Service):
    dataset = await service.dataset(epsilon=1.0)
    asked = {"models": [{"model": MODEL}, {"model": MODEL, "target": GOAL}], "account": dataset}
    first = await service.expect(200, "steward", "POST", "/plans", asked)
    assert (first["n"], first["account"]) == (1_000, dataset)
    assert first["reached"] is True
    for part in first["models"]:
        made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", part["release"])
        await service.settled(made["id"])
    left = (await service.expect(200, "steward", "GET", f"/datasets/{dataset}"))["budget"]
    assert left["spent_epsilon"] == pytest.approx(first["spent_epsilon"], rel=1e-6)
    again = await service.expect(200, "steward", "POST", "/plans", asked)
    assert again["short_by"] > 3, "hardly anything is left"


async def test_an_account_is_seen_by_its_steward_only(service: Service):
    dataset = await service.dataset()
    asked = {"models": [{"model": MODEL, "target": GOAL}], "account": dataset}
    assert (await service.expect(403, "ada", "POST", "/plans", asked))["code"] == "forbidden"
    await service.add("mallory", "steward")
    unknown = await service.expect(404, "mallory", "POST", "/plans", asked | {"account": "ds_unknown"})
    foreign = await service.expect(404, "mallory", "POST", "/plans", asked)
    assert unknown["code"] == foreign["code"] == "not_found"
    refused = await service.expect(422, "steward", "POST", "/plans", asked | {"n": 7})
    assert refused["errors"][0]["field"] == "n"
