"""A refusal says enough to ask again for something that works, and nothing that depends on rows."""

import json
import re
from datetime import datetime
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app.services.releases.run_release import run_next_release
from app.storage.releases import NOBODY
from app.storage.tables import releases
from tests.services.world import MODEL, SECOND_US, Person, World, over_http, rows

pytestmark = pytest.mark.engine_in_turn

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def release_body(samples: int) -> dict[str, Any]:
    return {"model": MODEL, "mechanism": {"kind": "baps", "samples": samples, "temperature": 1.0}}


async def post(world: World, person: Person, path: str, body: Any) -> httpx.Response:
    async with over_http(world.runtime) as client:
        return await client.post(f"/v1{path}", json=body, headers=person.headers)


async def test_a_dataset_short_of_budget_says_what_would_fit_and_that_does(world: World):
    dataset = await world.dataset(budget={"epsilon": 2.0, "delta": 1e-6})
    refused = await post(world, world.boss, f"/datasets/{dataset}/releases", release_body(500) | {"force": True})
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "budget_exhausted")
    assert (problem["account"], problem["dataset"], problem["short"]) == ("dataset", dataset, ["renyi", "pure"])
    assert problem["asked_renyi"] > problem["remaining_renyi"]
    assert problem["asked_pure"] > problem["remaining_pure"]
    assert (problem["samples_asked"], problem["samples_held"]) == (500, 0)
    fits = problem["samples_affordable"]
    assert 1 <= fits < 500
    assert f"{fits} samples would fit" in problem["detail"]
    more = await post(world, world.boss, f"/datasets/{dataset}/releases", release_body(fits + 1))
    assert more.json()["code"] == "budget_exhausted"
    assert (await post(world, world.boss, f"/datasets/{dataset}/releases", release_body(fits))).status_code == 202
    nothing = await post(world, world.boss, f"/datasets/{dataset}/releases", release_body(fits))
    assert nothing.json()["samples_affordable"] < fits


async def test_an_analyst_short_of_budget_is_told_what_would_fit_and_that_does(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=100)
    ada = await world.buyer(dataset, release, 3)
    await world.cap(dataset, ada, epsilon=10.0)
    refused = (await post(world, ada, f"/releases/{release}/access", {"samples": 100})).json()
    assert (refused["account"], refused["short"], refused["samples_held"]) == ("analyst", ["renyi", "pure"], 3)
    fits = refused["samples_affordable"]
    assert 3 < fits < 100
    assert (await post(world, ada, f"/releases/{release}/access", {"samples": fits + 1})).status_code == 409
    assert (await post(world, ada, f"/releases/{release}/access", {"samples": fits})).status_code == 200
    none_left = (await post(world, ada, f"/releases/{release}/access", {"samples": 100})).json()
    assert none_left["samples_affordable"] == none_left["samples_held"] == fits
    assert "stay readable" in none_left["detail"]


async def test_a_refused_charge_is_the_same_whatever_the_rows_say(world: World):
    """Two datasets of the same size and opposite rows: the same refusal to the last digit."""
    problems = []
    for name, ones in (("few", 0), ("many", 400)):
        dataset = await world.dataset(name, data=rows(400, ones), budget={"epsilon": 2.0, "delta": 1e-6})
        problem = (await post(world, world.boss, f"/datasets/{dataset}/releases", release_body(90))).json()
        problems.append({key: value for key, value in problem.items() if key not in ("instance", "dataset")})
    assert problems[0] == problems[1]
    assert problems[0]["code"] == "budget_exhausted"


async def test_a_pending_release_tells_its_steward_when_to_look_again(world: World):
    """Waiting, leased, postponed: never in the past; then it works."""
    dataset = await world.dataset()
    pending = (await world.request(dataset)).id
    question = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}
    path = f"/releases/{pending}/query"
    waiting = await post(world, world.boss, path, question)
    assert (waiting.status_code, waiting.json()["code"]) == (409, "release_not_ready")
    assert waiting.headers["retry-after"] == "1"
    assert RFC3339.fullmatch(waiting.json()["next_attempt_at"])
    assert waiting.json()["lease_expires_at"] is None
    now_us = world.runtime.clock()
    await set_times(world, pending, due_us=0, lease_token="w", lease_until_us=now_us + 20 * SECOND_US)
    leased = await post(world, world.boss, path, question)
    until = datetime.fromisoformat(leased.json()["lease_expires_at"])
    assert abs(until.timestamp() * 1e6 - (now_us + 20 * SECOND_US)) < 1
    assert (leased.json()["next_attempt_at"], leased.headers["retry-after"]) == (None, "1")
    await set_times(world, pending, due_us=now_us + 90 * SECOND_US, lease_token=None, lease_until_us=None)
    postponed = await post(world, world.boss, path, question)
    assert 60 <= int(postponed.headers["retry-after"]) <= 90
    await set_times(world, pending, due_us=0, lease_token=NOBODY, lease_until_us=now_us + 90 * SECOND_US)
    given_back = await post(world, world.boss, path, question)
    assert 60 <= int(given_back.headers["retry-after"]) <= 90
    assert given_back.json()["lease_expires_at"] is None
    await set_times(world, pending, due_us=0, lease_token=None, lease_until_us=None)
    assert await run_next_release(world.runtime)
    assert (await post(world, world.boss, path, question)).status_code == 200


async def test_an_analyst_cannot_tell_that_an_attempt_on_a_pending_release_failed(world: World):
    """An attempt may fail by what it read: new, leased, postponed after failures, given back look alike to the last byte."""
    dataset = await world.dataset()
    pending = (await world.request(dataset)).id
    ada, board = await world.person("analyst", "ada"), await world.person("dashboard", "board")
    await world.cap(dataset, ada, epsilon=2.0)
    await world.cap(dataset, board, samples=5)
    question = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}}
    soon_us = world.runtime.clock() + 90 * SECOND_US
    states: list[dict[str, Any]] = [
        {"due_us": 0, "lease_token": None, "lease_until_us": None, "attempts": 0},
        {"due_us": 0, "lease_token": "w", "lease_until_us": soon_us, "attempts": 1},
        {"due_us": soon_us, "lease_token": None, "lease_until_us": None, "attempts": 7},
        {"due_us": 0, "lease_token": NOBODY, "lease_until_us": soon_us, "attempts": 2},
    ]
    seen = set()
    for state in states:
        await set_times(world, pending, **state)
        answers = [await post(world, who, f"/releases/{pending}/query", question) for who in (ada, board)]
        answers.append(await post(world, ada, f"/releases/{pending}/access", {"samples": 1}))
        for answer in answers:
            assert answer.status_code == 409
            problem = {key: value for key, value in answer.json().items() if key != "instance"}
            seen.add((json.dumps(problem, sort_keys=True), answer.headers["retry-after"]))
    assert len(seen) == 1
    assert "attempt" not in str(seen)


async def set_times(world: World, release: str, **values: Any) -> None:
    async with world.runtime.database.write() as connection:
        await connection.execute(update(releases).where(releases.c.id == release).values(values))
