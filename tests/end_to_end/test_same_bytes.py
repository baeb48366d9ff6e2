"""One question, one release: the same bytes from every process, before and after anything is restarted or flushed."""

import json
from typing import Any

import httpx
import redis

from tests.conftest import Backend
from tests.end_to_end.fixtures import Start
from tests.services.world import QUESTION, Person, World, over_http

BASE = json.loads(QUESTION)
DOUBLED = {"kind": "expression", "expression": "2 * theta - 0.5"}
UTILITIES: list[dict[str, Any]] = [
    {"kind": "squared"},
    {"kind": "absolute"},
    {"kind": "pinball", "tau": 0.9},
    {"kind": "interval", "level": 0.8},
]
ACTIONS = {"kind": "actions", "actions": {"treat": "theta", "wait": "1 - theta"}, "range": [0, 1]}
QUESTIONS = [json.dumps({**BASE, "utility": utility}).encode() for utility in UTILITIES]
QUESTIONS += [json.dumps({**BASE, "estimand": DOUBLED}).encode(), json.dumps({"utility": ACTIONS}).encode()]
BATCH = b'{"queries":[' + b",".join(QUESTIONS) + b"]}"


async def answers(client: httpx.AsyncClient, release: str, *people: Person) -> list[bytes]:
    """Bodies of every question, then of the batch and of what else a client may keep."""
    found = []
    for person in people:
        for question in QUESTIONS:
            answer = await client.post(f"/v1/releases/{release}/query", content=question, headers=person.headers)
            assert answer.status_code == 200, answer.text
            found.append(answer.content)
        batch = await client.post(f"/v1/releases/{release}/queries", content=BATCH, headers=person.headers)
        view = await client.get(f"/v1/releases/{release}", headers=person.headers)
        card = await client.get(f"/v1/releases/{release}/card", headers=person.headers)
        assert [answer.status_code for answer in (batch, view, card)] == [200, 200, 200]
        found += [batch.content, view.content, card.content]
        found += [view.headers["etag"].encode(), card.headers["etag"].encode()]
    return found


async def test_every_process_gives_the_same_bytes_before_and_after_restarts_and_flushes(
    backend: Backend, world: World, serve: Start
):
    """This process is the first worker; the second is killed, not stopped, and started again."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=30)
    analyst = await world.buyer(dataset, release, 12)
    people = (world.boss, analyst)
    (server,) = serve(1, EMBEDDED_WORKER="false")
    async with over_http(world.runtime) as here, server.connect() as there:
        expected = await answers(here, release, *people)
        assert len(set(expected[: len(QUESTIONS)])) == len(QUESTIONS)
        assert await answers(here, release, *people) == expected
        assert await answers(there, release, *people) == expected
        if backend.redis_url is not None:
            with redis.Redis.from_url(backend.redis_url) as client:
                assert any(key.endswith(f"samples:{release}".encode()) for key in client.keys("*"))
                client.flushdb()
            assert await answers(here, release, *people) == expected
            assert await answers(there, release, *people) == expected
        server.kill()
        world.runtime.warm.clear()
        (restarted,) = serve(1, EMBEDDED_WORKER="false")
        async with restarted.connect() as again:
            assert await answers(again, release, *people) == expected
        assert await answers(here, release, *people) == expected
