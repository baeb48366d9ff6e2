"""A process that has answered once asks nobody again: database and cache may be gone, and memory stays bounded."""

import json
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from app.core.decisions.sample_set import SampleSet
from app.services.reading.answer_query import OFF_LOOP_SAMPLES, OFF_LOOP_WORK
from app.services.runtime.warm_cache import ANSWER_BYTES_MAX, Shelf
from tests.conftest import POSTGRES_DEEP
from tests.services.world import World, over_http

pytestmark = pytest.mark.engine_in_turn

THETA = {"kind": "parameter", "name": "theta"}
KINDS: list[dict[str, Any]] = [
    {"kind": "squared"},
    {"kind": "absolute"},
    {"kind": "interval", "level": 0.9},
    {"kind": "log", "floor": 0.01},
    {"kind": "expression", "utility": "-abs(g - r)", "range": [-1, 0], "responses": [0.1, 0.2, 0.3]},
]


class Away:
    """Stands where the database or the cache was. Any use of it fails the test."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{self._name}.{name} was asked for")


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("role", "view"),
    [("steward", "samples"), ("analyst", "samples"), ("dashboard", "samples"), ("analyst", "calibrated")],
)
async def test_a_warm_question_touches_neither_database_nor_cache(world: World, role: str, view: str):
    """Seen before or not, alone, in a batch, streamed or only checked."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=30)
    person = world.boss if role == "steward" else await world.person(role, "someone")
    if role == "analyst":
        person = await world.buyer(dataset, release, 12)
    elif role == "dashboard":
        await world.cap(dataset, person, samples=7)
    path = f"/v1/releases/{release}"
    async with over_http(world.runtime) as client:
        warmed = await client.post(f"{path}/query", json=question(0, view), headers=person.headers)
        assert warmed.status_code == 200
    cold: Any = {"database": Away("database"), "cache": Away("cache")}
    async with over_http(replace(world.runtime, **cold)) as client:
        for number in range(2 * len(KINDS)):
            answer = await client.post(f"{path}/query", json=question(number, view), headers=person.headers)
            assert answer.status_code == 200, answer.text
        batch = {"queries": [question(number, view) for number in range(3 * len(KINDS))], "together": True}
        for query in ("", "?dry_run=true"):
            for accept in ("application/json", "application/x-ndjson"):
                headers = person.headers | {"Accept": accept}
                answer = await client.post(f"{path}/queries{query}", json=batch, headers=headers)
                assert answer.status_code == 200, answer.text
                assert "problem" not in answer.text.replace('"problems":0', "")


def question(number: int, view: str = "samples") -> dict[str, Any]:
    asked = {"estimand": THETA, "utility": KINDS[number % len(KINDS)], "confidence": 0.5 + number / 100}
    return asked if view == "samples" else asked | {"view": view}


@POSTGRES_DEEP
async def test_ten_thousand_different_questions_leave_memory_within_its_limit(world: World, monkeypatch: Any):
    release = await world.published(await world.dataset(), samples=30)
    small: Shelf[bytes] = Shelf(ANSWER_BYTES_MAX // 256)
    world.runtime.warm.answers = small
    async with over_http(world.runtime) as client:
        for start in range(0, 10_000, 1_000):
            queries = [{**question(0), "confidence": (start + index + 1) / 10_001} for index in range(1_000)]
            answer = await client.post(
                f"/v1/releases/{release}/queries", json={"queries": queries}, headers=world.boss.headers
            )
            assert answer.status_code == 200
    assert 0 < len(small) < 1_000
    assert small._size <= ANSWER_BYTES_MAX // 256


async def test_a_large_set_needs_a_thread_once_for_each_parameter(world: World):
    """The first question about a parameter sorts and sums; later ones are answered where they arrive, from the same sums."""
    mechanism = {"kind": "laplace", "epsilon": 0.5, "samples": 2 * OFF_LOOP_SAMPLES}
    release = await world.published(await world.dataset(), mechanism=mechanism)
    threaded: list[Any] = []
    room = world.runtime.answers
    run = room.run

    async def counted(work: Any, *arguments: Any) -> Any:
        threaded.append(work)
        return await run(work, *arguments)

    room.run = counted
    async with over_http(world.runtime) as client:
        for number, utility in enumerate(KINDS[:4]):
            body = {"estimand": THETA, "utility": utility}
            answer = await client.post(f"/v1/releases/{release}/query", json=body, headers=world.boss.headers)
            assert answer.status_code == 200
            assert len(threaded) == 1, number
        large = {"estimand": THETA, "utility": KINDS[4]}
        assert 2 * OFF_LOOP_SAMPLES * 4 * 3 < OFF_LOOP_WORK
        await client.post(f"/v1/releases/{release}/query", json=large, headers=world.boss.headers)
    kept = world.runtime.warm.releases.get((release, 2 * OFF_LOOP_SAMPLES, "samples"))
    assert kept is not None
    assert isinstance(kept.samples, SampleSet)
    assert kept.samples.is_summed(0)
    assert not kept.samples.is_summed(1)


async def test_answers_of_sums_kept_and_of_sums_found_are_the_same_bytes(world: World):
    mechanism = {"kind": "laplace", "epsilon": 0.5, "samples": OFF_LOOP_SAMPLES}
    release = await world.published(await world.dataset(), mechanism=mechanism)
    body = json.dumps({"estimand": THETA, "utility": {"kind": "absolute"}})
    async with over_http(world.runtime) as client:
        sent: Any = {"content": body, "headers": world.boss.headers}
        first = await client.post(f"/v1/releases/{release}/query", **sent)
        world.runtime.warm.answers.clear()
        assert (await client.post(f"/v1/releases/{release}/query", **sent)).content == first.content
        world.runtime.warm.clear()
        assert (await client.post(f"/v1/releases/{release}/query", **sent)).content == first.content
