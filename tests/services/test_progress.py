"""How far work is shows to the steward of its rows and to nobody else, lasts nowhere, and moves nothing that others see."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.errors import NotFound, TooBusy, Unavailable
from app.main import running
from app.services.datasets.create_dataset import create_dataset
from app.services.datasets.upload_data import upload_data
from app.services.people.keys import revoke_key
from app.services.reading.read_card import read_card
from app.services.releases.read_progress import follow_release, release_progress, upload_progress
from app.services.releases.read_releases import read_release
from app.services.releases.run_release import ATTEMPTS_MAX, run_next_release
from app.services.runtime.progress import STAGES, TTL_S, Work, look, shown, work_from
from app.services.runtime.watch_rights import check_rights
from app.sources.engine import Limits
from tests.attacks.dumps import stored_values
from tests.conftest import POSTGRES_DEEP, Backend
from tests.faults.paused_source import pause_first_reader
from tests.services.clockwork import Clockwork
from tests.services.world import COLUMNS, World, kinds_of, new_world, over_http, rows, services, settings_for

SECRET_BYTES = 48_611_233
"""A number of bytes that stands nowhere else."""


async def steward_sees(world: World, release: str) -> Any:
    return await release_progress(world.runtime, steward=world.steward, release_id=release)


async def test_the_steward_sees_a_release_wait_work_and_end_and_everyone_else_sees_pending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset()
    requested = await world.request(dataset)
    analyst, auditor = await world.person("analyst"), await world.person("auditor")
    await world.cap(dataset, analyst)

    async def others_see() -> list[Any]:
        found = [
            await read_release(world.runtime, principal=each.who, release_id=requested.id)
            for each in (analyst, auditor)
        ]
        return [*found, await read_card(world.runtime, principal=analyst.who, release_id=requested.id)]

    before = await others_see()
    assert (await steward_sees(world, requested.id)).stage == "waiting"
    working = asyncio.create_task(run_next_release(world.runtime))
    await asyncio.to_thread(pause.reading.wait, 20)
    seen = await steward_sees(world, requested.id)
    assert (seen.status, seen.attempts, seen.attempts_max) == ("pending", 1, ATTEMPTS_MAX)
    assert seen.stage in ("working", "opening", "reading")
    assert await others_see() == before, "nobody else may tell whether a worker is on it"
    pause.go.set()
    await working
    seen = await steward_sees(world, requested.id)
    assert (seen.stage, seen.status, seen.bytes_done, seen.reason) == ("done", "published", None, None)


async def test_nobody_but_the_steward_of_the_dataset_may_ask(world: World) -> None:
    dataset = await world.dataset()
    release = await world.published(dataset)
    analyst = await world.buyer(dataset, release, 5)
    stranger = await world.person("steward", "other")
    addresses = [f"/v1/releases/{release}/progress", f"/v1/datasets/{dataset}/progress"]
    addresses += [f"{address}/events" for address in addresses]
    people = {
        analyst: 403,
        await world.person("dashboard", "screen"): 403,
        await world.person("auditor", "controller"): 403,
        stranger: 404,
    }
    async with over_http(world.runtime) as client:
        for address in addresses:
            for person, status in people.items():
                answer = await client.get(address, headers=person.headers)
                assert answer.status_code == status, address
                assert "stage" not in answer.text
        answer = await client.get(addresses[0], headers=world.boss.headers)
    assert answer.json()["stage"] == "done"
    assert answer.headers["cache-control"] == "no-store"


async def test_events_tell_every_change_until_the_release_has_ended(world: World) -> None:
    requested = await world.request(await world.dataset())
    async with over_http(world.runtime) as client:
        address = f"/v1/releases/{requested.id}/progress/events"
        following = asyncio.create_task(client.get(address, headers=world.boss.headers))
        await asyncio.sleep(0.05)
        await world.work()
        answer = await following
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [dict(line.split(": ", 1) for line in event.splitlines()) for event in answer.text.strip().split("\n\n")]
    assert {event["event"] for event in events} == {"progress"}
    states = [json.loads(event["data"]) for event in events]
    assert (states[0]["stage"], states[-1]["stage"], states[-1]["status"]) == ("waiting", "done", "published")
    assert all(one != other for one, other in pairwise(states))


async def test_following_ends_with_the_key_and_there_is_room_for_so_many(world: World) -> None:
    requested = await world.request(await world.dataset())
    seen = await follow_release(world.runtime, steward=world.steward, release_id=requested.id)
    assert (await anext(seen)).stage == "waiting"
    await revoke_key(world.runtime, actor=None, key_id=world.steward.key_id)
    await check_rights(world.runtime)
    with pytest.raises(StopAsyncIteration):
        await anext(seen)
    full = replace(world.runtime, followers=asyncio.Semaphore(0))
    with pytest.raises(TooBusy):
        await follow_release(full, steward=world.steward, release_id=requested.id)
    with pytest.raises(NotFound):
        await follow_release(world.runtime, steward=world.steward, release_id="rel_nobody")


async def test_an_upload_tells_its_bytes_while_they_come(world: World) -> None:
    dataset, go = await world.dataset(), asyncio.Event()
    body = rows()

    async def chunks() -> AsyncIterator[bytes]:
        yield body[:1000]
        go.set()
        for _ in range(200):
            found = await upload_progress(world.runtime, steward=world.steward, dataset_id=dataset)
            if found.stage == "receiving":
                seen.append(found)
                break
            await asyncio.sleep(0.02)
        yield body[1000:]

    seen: list[Any] = []
    upload = upload_data(world.runtime, steward=world.steward, dataset_id=dataset, chunks=chunks(), length=len(body))
    assert (await upload).people == 400
    assert [(found.bytes_done in (0, 1000), found.bytes_total) for found in seen] == [(True, len(body))]


async def test_what_is_told_is_of_one_length_sealed_and_soon_gone(world: World, backend: Backend) -> None:
    values = [Work(stage, done, SECRET_BYTES) for stage in STAGES for done in (None, 0, 2**62)]
    assert len({len(work.packed()) for work in values}) == 1
    assert all(work_from(work.packed()) == work for work in values)
    async with shown(world.runtime, "rel_x") as work:
        work.enter("opening", bytes_done=7, bytes_total=SECRET_BYTES)
        for _ in range(100):
            await asyncio.sleep(0.01)
            if await look(world.runtime, "rel_x") is not None:
                break
        assert await look(world.runtime, "rel_x") == work
        kept = await world.runtime.cache.get("progress:rel_x")
        assert kept is not None
        assert work.packed() not in kept
        assert await look(world.runtime, "rel_y") is None
        await world.runtime.cache.put("progress:rel_y", kept, TTL_S)
        assert await look(world.runtime, "rel_y") is None, "a value that was moved to another name does not open"
    assert not any(str(SECRET_BYTES) in str(value) for _, value in stored_values(backend))


@POSTGRES_DEEP
async def test_attempts_come_at_longer_and_longer_intervals_and_end_with_a_reason_for_the_steward(
    backend: Backend, tmp_path: Path
) -> None:
    """A file that cannot be read now: five attempts, then it is parked for good, withdrawn at a public moment."""
    (tmp_path / "roots").mkdir()
    time = Clockwork()
    settings = settings_for(backend, tmp_path, source_roots=(tmp_path / "roots",))
    async with services(settings, **time.parts()) as runtime:
        world = await new_world(runtime)
        path = tmp_path / "roots" / "trial.csv"
        path.write_bytes(rows())
        budget = {"epsilon": 20.0, "delta": 1e-6}
        spec = {"name": "file", "columns": COLUMNS, "budget": budget, "source": {"kind": "file", "path": path.name}}
        dataset = (await create_dataset(runtime, steward=world.steward, spec=spec)).id
        requested = await world.request(dataset)
        analyst = await world.person("analyst")
        await world.cap(dataset, analyst)
        path.write_bytes(b"PAR1 nothing PAR1")
        pauses = []
        for attempt in range(1, ATTEMPTS_MAX + 1):
            with pytest.raises(Unavailable):
                await run_next_release(runtime)
            seen = await steward_sees(world, requested.id)
            assert (seen.attempts, seen.stage, seen.reason) == (attempt, "waiting", None)
            assert seen.next_attempt_us is not None
            pauses.append((seen.next_attempt_us - time.now_us) / 1e6)
            assert not await run_next_release(runtime), "not before it is due"
            time.advance(pauses[-1])
        assert pauses == [2, 4, 8, 16, 32]
        assert await run_next_release(runtime)
        seen = await steward_sees(world, requested.id)
        assert (seen.status, seen.stage, seen.reason) == ("withdrawn", "done", "too many attempts")
        assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
        told = await read_release(runtime, principal=analyst.who, release_id=requested.id)
        assert "attempts" not in str(told)


async def lasts_us(backend: Backend, folder: Path, at_once: int) -> int:
    time = Clockwork()
    settings = settings_for(backend, folder, publication_tick_s=0.01, publication_pace=1.0, releases_at_once=at_once)
    async with services(settings, **time.parts()) as runtime:
        world = await new_world(runtime)
        found = await world.release(await world.published(await world.dataset(f"at once {at_once}")))
    assert found.duration_us is not None
    return found.duration_us


@POSTGRES_DEEP
async def test_a_worker_of_several_releases_at_once_says_beforehand_that_each_takes_longer(
    backend: Backend, tmp_path: Path
) -> None:
    """How busy the others keep the machine must not show: the moment has room for all of them."""
    one, four = await lasts_us(backend, tmp_path, 1), await lasts_us(backend, tmp_path, 4)
    assert 4 * one - 4 * 10_000 < four <= 4 * one


@POSTGRES_DEEP
async def test_as_many_releases_are_drawn_at_once_as_the_settings_say(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is held in the middle of its rows; the second is published meanwhile."""
    pause = pause_first_reader(monkeypatch)
    settings = settings_for(backend, tmp_path)
    async with services(settings) as runtime:
        world = await new_world(runtime)
        held = (await world.request(await world.dataset("held"))).id
        async with running(settings.model_copy(update={"embedded_worker": True, "releases_at_once": 2})):
            await asyncio.to_thread(pause.reading.wait, 20)
            free = (await world.request(await world.dataset("free"))).id
            for _ in range(1000):
                if (await world.release(free)).status == "published":
                    break
                await asyncio.sleep(0.02)
            ends = [(await world.release(each)).status for each in (held, free)]
            pause.go.set()
        assert ends == ["pending", "published"]


@POSTGRES_DEEP
async def test_what_an_engine_may_use_is_a_setting(backend: Backend, tmp_path: Path) -> None:
    async with services(settings_for(backend, tmp_path)) as runtime:
        assert runtime.engine_limits == Limits()
    changes = {"engine_memory": "2GB", "engine_spill": "3GB", "engine_threads": 5, "engine_s": 7}
    async with services(settings_for(backend, tmp_path, **changes)) as runtime:
        assert runtime.engine_limits == Limits(memory_mb=2000, spill_mb=3000, threads=5, seconds=7.0)
        world = await new_world(runtime)
        await world.published(await world.dataset())
