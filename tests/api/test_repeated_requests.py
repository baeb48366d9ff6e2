"""Every request that creates or charges can be repeated under its `Idempotency-Key`, and is done once."""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import insert, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.services.runtime.idempotency import forget_expired
from app.storage.idempotency import SWEEP_MAX, forget_keys
from app.storage.tables import idempotency_keys
from tests.api.conftest import COLUMNS, MODEL, Service
from tests.api.specification import DOCUMENT

DAY_US = 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """One POST, what it may be confused with, and a listing whose length counts what it made."""

    who: str
    path: str
    body: dict[str, Any]
    other: dict[str, Any]
    counted: str


def dataset_body(name: str) -> dict[str, Any]:
    budget = {"epsilon": 20.0, "delta": 1e-6}
    return {"name": name, "columns": COLUMNS, "budget": budget, "source": {"kind": "upload", "retain": True}}


def release_body(samples: int) -> dict[str, Any]:
    return {"model": MODEL, "mechanism": {"kind": "baps", "samples": samples, "temperature": 1.0}}


KINDS = ["dataset", "release", "analyst", "key", "access"]


async def calls(service: Service, kinds: list[str] = KINDS) -> dict[str, Call]:
    """One call of each kind that is wanted; drawing a release takes longer than everything else."""
    dataset = await service.dataset()
    by = await service.expect(201, "steward", "POST", "/analysts", {"name": "of the steward"})
    keys = f"/analysts/{by['id']}/keys"
    every = {
        "dataset": Call("steward", "/datasets", dataset_body("a"), dataset_body("b"), "/datasets"),
        "release": Call("steward", f"/datasets/{dataset}/releases", release_body(3), release_body(4), "/releases"),
        "analyst": Call("steward", "/analysts", {"name": "x"}, {"name": "y"}, "/analysts"),
        "key": Call("steward", keys, {"label": "x"}, {"label": "y"}, keys),
    }
    if "access" in kinds:
        release, cap = await service.release(dataset), {"epsilon": 15, "delta": 1e-6}
        await service.expect(200, "steward", "PUT", f"/datasets/{dataset}/analysts/{service.people['ada']}", cap)
        ledger = f"/datasets/{dataset}/ledger"
        every["access"] = Call("ada", f"/releases/{release}/access", {"samples": 3}, {"samples": 4}, ledger)
    return {kind: call for kind, call in every.items() if kind in kinds}


async def post(service: Service, call: Call, body: dict[str, Any], key: str = "once") -> httpx.Response:
    return await service.call(call.who, "POST", call.path, body, headers={"Idempotency-Key": key})


async def count(service: Service, call: Call) -> int:
    return len((await service.expect(200, "steward", "GET", f"{call.counted}?limit=200"))["items"])


def told(answer: httpx.Response) -> tuple[int, bytes, str | None, str]:
    return answer.status_code, answer.content, answer.headers.get("location"), answer.headers["content-type"]


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_repetition_is_told_the_same_bytes_and_does_nothing(service: Service, kind: str):
    call = (await calls(service, [kind]))[kind]
    before = await count(service, call)
    first = await post(service, call, call.body)
    assert first.status_code in (200, 201, 202), first.text
    assert "idempotent-replayed" not in first.headers
    made = await count(service, call)
    assert made > before
    if kind == "release":
        await service.settled(first.json()["id"])
        made = await count(service, call)
    again = await post(service, call, call.body)
    assert told(again) == told(first)
    assert again.headers["idempotent-replayed"] == "true"
    assert await count(service, call) == made


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", KINDS)
async def test_another_body_or_another_route_under_the_same_key_is_a_conflict(service: Service, kind: str):
    every = await calls(service, [each for each in KINDS if (each == "access") == (kind == "access")])
    call = every[kind]
    assert (await post(service, call, call.body)).status_code in (200, 201, 202)
    made = await count(service, call)
    others = [(call, call.other)] + [(other, other.body) for name, other in every.items() if name != kind]
    for other, body in others:
        refused = await post(service, other, body)
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict"), other
    assert await count(service, call) == made


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", KINDS)
async def test_of_simultaneous_first_requests_one_does_the_work(service: Service, kind: str):
    call = (await calls(service, [kind]))[kind]
    before = await count(service, call)
    answers = await asyncio.gather(*(post(service, call, call.body) for _ in range(8)))
    assert len({told(answer) for answer in answers}) == 1
    assert answers[0].status_code in (200, 201, 202)
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    if kind != "release":  # which gains a line of its own when it is drawn
        assert await count(service, call) == before + 1


@pytest.mark.slow
async def test_a_refused_request_leaves_its_key_free(service: Service):
    every = await calls(service)
    refusals = {
        "dataset": ({**dataset_body("a"), "columns": {}}, 422),
        "release": ({**release_body(10_000), "force": True}, 409),
        "analyst": ({"name": "x", "role": "steward"}, 422),
        "key": ({"label": "x", "expires_at": "2001-01-01T00:00:00Z"}, 422),
        "access": ({"samples": 101}, 422),
    }
    for kind, (body, status) in refusals.items():
        call = every[kind]
        assert (await post(service, call, body, kind)).status_code == status
        assert (await post(service, call, call.body, kind)).status_code in (200, 201, 202), kind


async def test_a_repetition_is_answered_when_the_work_could_no_longer_be_done(service: Service):
    """The expiry lies in the past by then, and the name is taken by the first request itself."""
    call = (await calls(service, ["dataset"]))["dataset"]
    first = await post(service, call, call.body)
    assert (await service.call("steward", "POST", "/datasets", call.body)).json()["code"] == "name_taken"
    assert told(await post(service, call, call.body)) == told(first)


async def test_an_expired_key_is_new_again_swept_or_not(own_service: Service):
    call = (await calls(own_service, ["analyst"]))["analyst"]
    first = await post(own_service, call, call.body)
    runtime = own_service.app.state.runtime
    for sweep in (False, True):
        async with runtime.database.write() as connection:
            await _age(connection, DAY_US)
        if sweep:
            assert await forget_expired(runtime) == 1
            assert await forget_expired(runtime) == 0
        later = await post(own_service, call, call.other)
        assert later.status_code == 201
        assert "idempotent-replayed" not in later.headers
        assert later.json()["id"] != first.json()["id"]


async def _age(connection: AsyncConnection, by_us: int) -> None:
    await connection.execute(update(idempotency_keys).values(created_us=idempotency_keys.c.created_us - by_us))


async def test_a_thousand_expired_keys_are_swept_in_bounded_batches(own_service: Service):
    """Also by the plan PostgreSQL takes for a small table it has no statistics of: one row after the other."""
    runtime = own_service.app.state.runtime
    rows = [
        {"principal_id": "an_x", "key_digest": number.to_bytes(32, "big"), "route": "r", "input_hash": b"h" * 32}
        for number in range(2 * SWEEP_MAX + 1)
    ]
    async with runtime.database.write() as connection:
        await connection.execute(insert(idempotency_keys), [row | {"created_us": 5} for row in rows])
    async with runtime.database.write() as connection:
        if connection.dialect.name == "postgresql":
            for means in ("hashjoin", "mergejoin", "hashagg", "material", "memoize", "sort"):
                await connection.execute(text(f"SET LOCAL enable_{means} = off"))
        assert await forget_keys(connection, 5) == SWEEP_MAX
    assert await forget_expired(runtime) == SWEEP_MAX + 1


async def test_the_same_cap_again_writes_no_line(service: Service):
    dataset = await service.dataset()
    path = f"/datasets/{dataset}/analysts/{service.people['ada']}"
    for epsilon, lines in ((1.5, 2), (1.5, 2), (1.0, 3)):
        body = {"epsilon": epsilon, "delta": 1e-6}
        capped = await service.expect(200, "steward", "PUT", path, body)
        assert capped["budget"]["epsilon"] == body["epsilon"]
        ledger = await service.expect(200, "steward", "GET", f"/datasets/{dataset}/ledger")
        assert len(ledger["items"]) == lines


def test_every_post_that_creates_or_charges_documents_the_key():
    paths = DOCUMENT["paths"]
    free = {"plan_release", "answer_query", "answer_queries", "verify_ledger", "draft_schema"}
    free |= {"infer_from_release"}  # a question
    free |= {"cancel_release"}  # takes a charge back, once, however often it is asked
    for methods in paths.values():
        described = methods.get("post")
        if described is None or described["operationId"] in free:
            continue
        names = {parameter["name"] for parameter in described.get("parameters", [])}
        assert "Idempotency-Key" in names, described["operationId"]
        assert "409" in described["responses"]
