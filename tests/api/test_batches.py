"""Many questions at once: in order, each for itself, together if wanted; and questions that are only checked."""

import json
from typing import Any

import pytest

from app.services.reading.answer_batch import QUESTIONS_PER_BATCH_MAX, WORK_PER_BATCH_MAX
from app.services.runtime.runtime import Runtime
from tests.api.conftest import QUESTION, Published, Service
from tests.services.world import World, over_http

pytestmark = pytest.mark.engine_in_turn

LINES = {"Accept": "application/x-ndjson"}
BAD = {"estimand": {"kind": "nonsense"}, "utility": {"kind": "squared"}}
FREE_SAMPLES = {"kind": "laplace", "epsilon": 0.5, "samples": 2_400}
MIXED = [QUESTION, BAD, {**QUESTION, "utility": {"kind": "absolute"}}, {**QUESTION, "confidence": 0.8}]


def near_the_limit(number: int) -> dict[str, Any]:
    """Of 1,000 responses: with 2,400 samples a little below 5·10⁷ operations. Every number gives another question."""
    utility = f"0 - {number}e-9 - " + " - ".join(["exp(g - r)"] * 3)
    responses = {"lower": 0, "upper": 1, "steps": 1000}
    spec = {"kind": "expression", "utility": utility, "range": [-9, 0], "responses": responses}
    return {"estimand": {"kind": "parameter", "name": "theta"}, "utility": spec}


async def lines_of(service: Service, release: str, body: Any, **more: Any) -> list[dict[str, Any]]:
    path = f"/releases/{release}/queries" + more.pop("query", "")
    answer = await service.call("steward", "POST", path, body, headers=LINES)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture
def service(known: Service) -> Service:
    return known


@pytest.fixture
def release(published: Published) -> str:
    return published.release


async def test_lines_hold_what_the_document_holds_in_the_same_order(service: Service, release: str):
    document = await service.expect(200, "steward", "POST", f"/releases/{release}/queries", {"queries": MIXED})
    *lines, last = await lines_of(service, release, {"queries": MIXED})
    assert [line["index"] for line in lines] == [0, 1, 2, 3]
    given = [{"problem": line["problem"]} if "problem" in line else line["answer"] for line in lines]
    assert given == document.pop("answers")
    assert last == {"done": True, "answers": 3, "problems": 1, **document}


async def test_an_answer_in_a_batch_is_the_answer_given_alone(service: Service, release: str):
    alone = await service.call("steward", "POST", f"/releases/{release}/query", QUESTION)
    batch = await service.call("steward", "POST", f"/releases/{release}/queries", {"queries": [QUESTION]})
    assert batch.content.startswith(b'{"answers":[' + alone.content + b'],"together":')


async def test_bounds_that_hold_together_are_those_of_a_share_of_the_doubt_each(service: Service, release: str):
    """T = 4 with δ = 0.05: each bound is the one of a question asked alone with δ = 0.0125."""
    utilities = [{"kind": "squared"}, {"kind": "absolute"}, {"kind": "interval", "level": 0.9}, {"kind": "squared"}]
    queries = [{**QUESTION, "utility": utility} for utility in utilities]
    path = f"/releases/{release}/queries"
    found = await service.expect(200, "steward", "POST", path, {"queries": queries, "together": True})
    assert found["together"] == {"questions": 4, "confidence": 0.95}
    for query, answer in zip(queries, found["answers"], strict=True):
        shared = {**query, "confidence": 0.9875}
        alone = await service.expect(200, "steward", "POST", f"/releases/{release}/query", shared)
        assert answer["regret"]["bound"] == pytest.approx(alone["regret"]["bound"], rel=1e-12)
        assert answer["regret"]["confidence"] == 0.95
        assert answer["response"] == alone["response"]


@pytest.mark.parametrize(
    ("confidences", "together", "expected"),
    [
        ([0.95, 0.9], False, 0.85),
        ([0.95, 0.9], True, 0.9),
        ([0.9] * 3, False, 0.7),
        ([0.5, 0.5, 0.5], False, 0.0),
        ([0.5, 0.5, 0.5], True, 0.5),
    ],
)
async def test_the_confidence_of_all_bounds_at_once_is_the_union_bound(
    service: Service, release: str, confidences: list[float], together: bool, expected: float
):
    queries = [{**QUESTION, "confidence": confidence} for confidence in confidences]
    body = {"queries": [*queries, BAD], "together": together}
    found = await service.expect(200, "steward", "POST", f"/releases/{release}/queries", body)
    assert found["together"] == {"questions": len(queries) + 1, "confidence": expected}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"queries": []}, "queries"),
        ({"queries": {}}, "queries"),
        ({"queries": None}, "queries"),
        ({}, "queries"),
        ([], "queries"),
        ({"queries": [QUESTION] * (QUESTIONS_PER_BATCH_MAX + 1)}, "queries"),
        ({"queries": [QUESTION], "other": 1}, "queries"),
        ({"queries": [QUESTION], "together": 1}, "together"),
        ({"queries": [QUESTION], "together": None}, "together"),
    ],
)
async def test_what_is_no_batch_is_refused_by_field(service: Service, release: str, body: Any, field: str):
    refused = await service.expect(422, "steward", "POST", f"/releases/{release}/queries", body)
    assert refused["code"] == "invalid_query"
    assert refused["errors"][0]["field"] == field


async def test_more_than_a_document_holds_can_be_streamed(service: Service, release: str):
    body = {"queries": [QUESTION] * (QUESTIONS_PER_BATCH_MAX + 1)}
    *lines, last = await lines_of(service, release, body)
    assert len(lines) == last["answers"] == QUESTIONS_PER_BATCH_MAX + 1
    assert len({json.dumps(line["answer"]) for line in lines}) == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"queries":[{"utility":{"kind":"squared","kind":"absolute"}}]}',
        b'{"queries":[{"confidence":NaN}]}',
        b'{"queries":[],"queries":[{}]}',
        b'{"queries":[{}]',
        b"",
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
async def test_text_that_is_not_strict_json_is_refused_as_a_whole(
    service: Service, release: str, body: bytes, accept: str
):
    sent = {"content": body, "headers": {"Content-Type": "application/json", "Accept": accept}}
    refused = await service.expect(400, "steward", "POST", f"/releases/{release}/queries", **sent)
    assert refused["code"] == "malformed_body"


@pytest.mark.parametrize(
    ("accept", "streamed"),
    [
        ("application/x-ndjson", True),
        ("application/x-ndjson, application/json;q=0.5", True),
        ("APPLICATION/X-NDJSON", True),
        ("application/json, application/x-ndjson;q=0.5", False),
        ("application/x-ndjson;q=0", False),
        ("*/*", False),
    ],
)
async def test_lines_come_only_to_who_asks_for_them(service: Service, release: str, accept: str, streamed: bool):
    sent: dict[str, Any] = {"headers": {"Accept": accept}}
    answer = await service.call("steward", "POST", f"/releases/{release}/queries", {"queries": [QUESTION]}, **sent)
    assert (answer.headers["content-type"] == "application/x-ndjson") is streamed


async def test_a_dry_run_promises_what_the_answer_then_carries(service: Service, release: str):
    actions = {"go": "100 * theta - 20", "stay": "0", "look": "5"}
    queries = [*MIXED, {"utility": {"kind": "actions", "range": [-20, 100], "actions": actions}}]
    path = f"/releases/{release}/queries"
    for together in (False, True):
        body = {"queries": queries, "together": together}
        answered = await service.expect(200, "steward", "POST", path, body)
        checked = await service.expect(200, "steward", "POST", f"{path}?dry_run=true", body)
        assert checked["together"] == answered["together"]
        for preview, answer in zip(checked["answers"], answered["answers"], strict=True):
            if "problem" in answer:
                assert preview == answer
                continue
            assert preview["valid"] is True
            for same in ("regret", "samples", "release", "cost"):
                assert preview[same] == answer[same]
    assert [preview.get("responses") for preview in checked["answers"]] == [None, None, None, None, 3]
    assert checked["answers"][0]["range"] == [0.05, 0.95]
    lines = await lines_of(service, release, {"queries": queries, "together": True}, query="?dry_run=true")
    assert [line.get("answer") for line in lines[:-1]] == [
        each if "valid" in each else None for each in checked["answers"]
    ]


@pytest.mark.parametrize("question", [BAD, {}, [], {**QUESTION, "confidence": 1}, {**QUESTION, "extra": 1}])
async def test_a_dry_run_refuses_what_the_answer_refuses(service: Service, release: str, question: Any):
    path = f"/releases/{release}/query"
    refused = await service.expect(422, "steward", "POST", path, question)
    checked = await service.expect(422, "steward", "POST", f"{path}?dry_run=true", question)
    assert {**checked, "instance": ""} == {**refused, "instance": ""}
    unclear = await service.expect(422, "steward", "POST", f"{path}?dry_run=perhaps", QUESTION)
    assert (unclear["code"], unclear["errors"][0]["field"]) == ("invalid_request", "query.dry_run")


async def test_a_dry_run_reads_no_sample(world: World, second_runtime: Runtime):
    """On a process that has not seen the release: afterwards it still holds none of its samples."""
    release = await world.published(await world.dataset())
    async with over_http(second_runtime) as client:
        for path, body in (("query", QUESTION), ("queries", {"queries": [QUESTION]})):
            address = f"/v1/releases/{release}/{path}?dry_run=true"
            checked = await client.post(address, json=body, headers=world.boss.headers)
            assert checked.status_code == 200
            assert len(second_runtime.warm.releases) == 0
        answer = await client.post(f"/v1/releases/{release}/query", json=QUESTION, headers=world.boss.headers)
        assert answer.status_code == 200
        assert len(second_runtime.warm.releases) == 1


async def test_a_document_has_a_public_limit_of_work_and_a_stream_has_not(world: World):
    """Only so many large questions fit, whatever the samples are."""
    release = await world.published(await world.dataset(), mechanism=FREE_SAMPLES)
    body = {"queries": [near_the_limit(number) for number in range(60)]}
    async with over_http(world.runtime) as client:
        address = f"/v1/releases/{release}/queries?dry_run=true"
        found = (await client.post(address, json=body, headers=world.boss.headers)).json()["answers"]
        fit = WORK_PER_BATCH_MAX // (found[0]["work"] * found[0]["samples"])
        assert 20 < fit < 60
        assert ["problem" in each for each in found] == [False] * fit + [True] * (60 - fit)
        assert found[-1]["problem"]["code"] == "invalid_query"
        assert "stream" in found[-1]["problem"]["detail"]
        streamed = await client.post(address, json=body, headers=world.boss.headers | LINES)
        assert json.loads(streamed.text.splitlines()[-1])["problems"] == 0
