"""Rows whose last release has ended do not stay because wiping them failed once."""

import asyncio
from typing import Any

import pytest

from app.errors import Unavailable
from app.services import run_release, run_worker
from tests.services.world import World


async def worked_until_gone(world: World) -> bool:
    """A worker that lives for at most five seconds; whether no private file is left by then."""
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker.run_worker(world.runtime, stop=stop))
    for _ in range(100):
        if not world.runtime.uploads.unclaimed():
            break
        await asyncio.sleep(0.05)
    stop.set()
    await worker
    return not world.runtime.uploads.unclaimed()


async def test_rows_that_could_not_be_wiped_when_their_release_ended_go_with_the_next_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async def refused(*_: Any) -> None:
        raise Unavailable("the database is not answering")

    monkeypatch.setattr(run_release, "wipe_used_upload", refused)
    monkeypatch.setattr(run_worker, "FAILURE_PAUSE_S", 0.05)
    dataset = await world.dataset(source={"kind": "upload", "retain": False})
    requested = await world.request(dataset)
    assert world.runtime.uploads.unclaimed()
    assert await worked_until_gone(world)
    assert (await world.release(requested.id)).status == "published"


async def test_rows_of_a_release_whose_worker_was_killed_go_without_a_restart(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async def killed(*_: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(run_release, "wipe_used_upload", killed)
    monkeypatch.setattr(run_worker, "SWEEP_S", 0.1)
    monkeypatch.setattr(run_worker, "POLL_S", 0.05)
    dataset = await world.dataset(source={"kind": "upload", "retain": False})
    await world.request(dataset)
    with pytest.raises(asyncio.CancelledError):
        await world.work()
    assert world.runtime.uploads.unclaimed()
    assert await worked_until_gone(world)


async def test_rows_that_are_retained_or_not_used_yet_stay(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_worker, "SWEEP_S", 0.0)
    await world.published(await world.dataset("kept"))
    await world.dataset("unused", source={"kind": "upload", "retain": False})
    assert not await worked_until_gone(world)
    assert len(world.runtime.uploads.unclaimed()) == 2
