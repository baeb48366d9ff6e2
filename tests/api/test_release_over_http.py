"""One release from declaration to answer, over HTTP, on both backends."""

import re

import pytest

from tests.api.conftest import COLUMNS, MODEL, QUESTION, Service

pytestmark = pytest.mark.engine_in_turn

CAP = {"epsilon": 15.0, "delta": 1e-6}


@pytest.mark.slow
async def test_a_release_travels_from_declaration_to_an_analyst_s_answer(service: Service):
    dataset = await service.dataset()
    release = await service.release(dataset)
    ada = service.people["ada"]
    capped = await service.expect(200, "steward", "PUT", f"/datasets/{dataset}/analysts/{ada}", CAP)
    assert (capped["dataset"], capped["analyst"]) == (dataset, ada)
    assert capped["budget"]["epsilon"] == 15.0
    bought = await service.expect(200, "ada", "POST", f"/releases/{release}/access", {"samples": 50})
    assert bought["samples"] == 50
    assert bought["charged"]["epsilon"] > 0
    answer = await service.expect(200, "ada", "POST", f"/releases/{release}/query", QUESTION)
    assert answer["samples"] == 50
    assert answer["release"] == release
    assert answer["cost"] == {"epsilon": 0}
    assert 0.25 < answer["response"] < 0.42
    me = await service.expect(200, "ada", "GET", "/me")
    assert (me["id"], me["role"], me["name"]) == (ada, "analyst", "ada")
    assert me["caps"][0]["budget"]["spent_epsilon"] > 0
    assert me["accesses"][0]["samples"] == 50


@pytest.mark.slow
async def test_the_same_question_gets_the_same_bytes(service: Service):
    release = await service.release(await service.dataset())
    first = await service.call("steward", "POST", f"/releases/{release}/query", QUESTION)
    again = await service.call("steward", "POST", f"/releases/{release}/query", QUESTION)
    assert first.status_code == 200
    assert first.headers["content-type"] == "application/json"
    assert first.content == again.content


async def test_a_batch_answers_in_order_and_one_bad_question_spoils_nothing(service: Service):
    release = await service.release(await service.dataset())
    bad = {"estimand": {"kind": "nonsense"}, "utility": {"kind": "squared"}}
    batch = {"queries": [QUESTION, bad, {**QUESTION, "utility": {"kind": "absolute"}}]}
    found = await service.expect(200, "steward", "POST", f"/releases/{release}/queries", batch)
    single = await service.expect(200, "steward", "POST", f"/releases/{release}/query", QUESTION)
    assert len(found["answers"]) == 3
    assert found["answers"][0]["response"] == single["response"]
    assert found["answers"][1]["problem"]["code"] == "invalid_query"
    assert "response" in found["answers"][2]


async def test_a_created_dataset_says_where_it_is_and_what_it_promises(service: Service):
    body = {
        "name": "declared",
        "columns": COLUMNS,
        "budget": {"epsilon": 3.0, "delta": 1e-6},
        "privacy_unit": None,
        "source": {"kind": "upload", "retain": False},
    }
    made = await service.call("steward", "POST", "/datasets", body)
    assert made.status_code == 201
    found = made.json()
    assert made.headers["location"] == f"/v1/datasets/{found['id']}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", found["created_at"])
    assert (found["budget"]["epsilon"], found["budget"]["spent_epsilon"]) == (3.0, 0.0)
    assert await service.expect(200, "steward", "GET", f"/datasets/{found['id']}") == found
    taken = await service.call("steward", "POST", "/datasets", body)
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")


async def test_the_same_idempotency_key_gives_the_same_release_and_another_body_a_conflict(service: Service):
    dataset = await service.dataset()
    body = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 10, "temperature": 1.0}}
    headers = {"Idempotency-Key": "one and the same"}
    first = await service.call("steward", "POST", f"/datasets/{dataset}/releases", body, headers=headers)
    assert first.status_code == 202
    assert first.headers["location"] == f"/v1/releases/{first.json()['id']}"
    assert int(first.headers["retry-after"]) >= 1
    again = await service.call("steward", "POST", f"/datasets/{dataset}/releases", body, headers=headers)
    assert again.json()["id"] == first.json()["id"]
    other = {**body, "mechanism": {"kind": "baps", "samples": 11, "temperature": 1.0}}
    refused = await service.call("steward", "POST", f"/datasets/{dataset}/releases", other, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    await service.settled(first.json()["id"])


@pytest.mark.slow
async def test_a_release_and_its_card_can_be_revalidated(service: Service):
    release = await service.release(await service.dataset())
    for path in ("/releases", f"/releases/{release}", f"/releases/{release}/card"):
        first = await service.call("steward", "GET", path)
        assert first.status_code == 200
        assert "private" in first.headers["cache-control"]
        etag = first.headers["etag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', etag)
        for sent in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            unchanged = await service.call("steward", "GET", path, headers={"If-None-Match": sent})
            assert (unchanged.status_code, unchanged.content) == (304, b"")
            assert unchanged.headers["etag"] == etag
        changed = await service.call("steward", "GET", path, headers={"If-None-Match": '"other"'})
        assert changed.status_code == 200


@pytest.mark.slow
async def test_lists_come_in_pages_that_lead_to_each_other(service: Service):
    names = [f"set-{number}" for number in range(5)]
    for name in names:
        await service.dataset(name)
    seen, path = [], "/datasets?limit=2"
    for _ in range(3):
        answer = await service.call("steward", "GET", path)
        page = answer.json()
        seen += [item["name"] for item in page["items"]]
        if page["next_cursor"] is None:
            assert "link" not in answer.headers
            break
        link = re.fullmatch(r'<(/v1/datasets\?.*)>; rel="next"', answer.headers["link"])
        assert link is not None
        path = link[1].removeprefix("/v1")
    assert sorted(seen) == names


@pytest.mark.slow
async def test_a_plan_costs_nothing_and_says_what_a_release_would_cost(known: Service):
    body = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 100, "temperature": 1.0}, "n": 1000}
    for who in ("steward", "ada", "wall", "eve"):
        plan = await known.expect(200, who, "POST", "/plans", {**body, "delta": 1e-6})
        assert 6.15 < plan["cost"]["epsilon"] < 6.3  # 6.57 by the curve
        assert abs(plan["cost"]["pure_epsilon"] - 65.7) < 0.1  # of the table drawn; the trim's range would be 588.9


@pytest.mark.slow
async def test_the_ledger_shows_the_charge_and_verifies(service: Service):
    dataset = await service.dataset()
    release = await service.release(dataset)
    for who in ("steward", "eve"):
        if who == "steward":
            page = await service.expect(200, who, "GET", f"/datasets/{dataset}/ledger")
            assert release in {entry["release"] for entry in page["items"]}
        head = await service.expect(200, who, "GET", "/ledger/head")
        verified = await service.expect(200, who, "POST", "/ledger/verify")
        assert verified["ok"] is True
        assert verified["head"] == head["digest"]


async def test_a_bad_row_is_named_by_line_and_column(service: Service):
    body = {
        "name": "rows",
        "columns": {"cured": {"type": "binary"}},
        "budget": {"epsilon": 3.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": False},
    }
    dataset = (await service.expect(201, "steward", "POST", "/datasets", body))["id"]
    sent = {"content": b"cured\n1\n7\n", "headers": {"Content-Type": "text/csv"}}
    refused = await service.expect(422, "steward", "PUT", f"/datasets/{dataset}/data", **sent)
    assert refused["code"] == "invalid_rows"
    assert (refused["rows"][0]["line"], refused["rows"][0]["column"]) == (3, "cured")
    wanted = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 1, "temperature": 1.0}}
    missing = await service.expect(409, "steward", "POST", f"/datasets/{dataset}/releases", wanted)
    assert missing["code"] == "data_missing"
