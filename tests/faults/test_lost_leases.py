"""A worker that stops for longer than its lease is replaced, and cannot write anything when it wakes."""

import asyncio
from dataclasses import replace

import pytest
import structlog

from app.services.releases.run_release import run_next_release
from app.services.runtime.runtime import Runtime
from app.storage.releases import NOBODY
from tests.faults.paused_source import WAIT_S, PausedSource, pause_first_reader
from tests.services.world import SECOND_US, World, at_once, kinds_of, upload_files

WIPED = {"kind": "upload", "retain": False}


def later(runtime: Runtime, seconds: float) -> Runtime:
    """The same services, whose clock is ahead: leases given out so far have run out."""
    return replace(runtime, clock=lambda: runtime.clock() + int(seconds * SECOND_US), sleep=at_once)


async def sleeping_worker(runtime: Runtime, pause: PausedSource) -> asyncio.Task[bool]:
    task = asyncio.create_task(run_next_release(runtime))
    assert await asyncio.to_thread(pause.reading.wait, WAIT_S)
    return task


async def test_a_replaced_worker_publishes_nothing_when_it_wakes(
    world: World, second_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    first = await sleeping_worker(world.runtime, pause)
    assert not await run_next_release(later(second_runtime, 5))
    assert await run_next_release(later(second_runtime, 60))
    drawn = await world.samples(requested.id)
    assert drawn is not None
    with structlog.testing.capture_logs() as logged:
        pause.go.set()
        assert await first
    assert [line["event"] for line in logged] == ["lease lost"]
    assert await world.samples(requested.id) == drawn
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert upload_files(world.runtime) == []
    assert await world.verified()


async def test_a_worker_that_wakes_while_its_successor_works_leaves_it_alone(
    world: World, second_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    """The successor holds the lease but has not stored anything: the first must not get in before it."""
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    first = await sleeping_worker(world.runtime, pause)
    pause_again = pause_first_reader(monkeypatch)
    second = await sleeping_worker(later(second_runtime, 60), pause_again)
    pause.go.set()
    assert await first
    assert (await world.release(requested.id)).status == "pending"
    assert await world.samples(requested.id) is None
    assert len(upload_files(world.runtime)) == 1
    pause_again.go.set()
    assert await second
    assert (await world.release(requested.id)).status == "published"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert await world.verified()


async def test_a_replaced_worker_whose_rows_vanished_does_not_withdraw_what_was_published(
    world: World, second_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)

    def fails() -> None:
        pause.reading.set()
        assert pause.go.wait(WAIT_S)
        raise RuntimeError("the file went away under the reader")

    monkeypatch.setattr(pause, "pass_or_wait", fails)
    first = await sleeping_worker(world.runtime, pause)
    monkeypatch.setattr(pause, "pass_or_wait", lambda: None)
    assert await run_next_release(later(second_runtime, 60))
    pause.go.set()
    assert await first
    assert (await world.release(requested.id)).status == "published"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert await world.verified()


async def test_a_lease_in_use_is_renewed(world: World, second_runtime: Runtime, monkeypatch: pytest.MonkeyPatch):
    """A reader that takes longer than the lease keeps it: nobody else may claim the release meanwhile."""
    pause = pause_first_reader(monkeypatch)
    short = world.runtime.settings.model_copy(update={"lease_s": 2.0})
    requested = await world.request(await world.dataset())
    first = await sleeping_worker(replace(world.runtime, settings=short), pause)
    given = (await world.release(requested.id)).lease_until_us
    for _ in range(100):
        renewed = (await world.release(requested.id)).lease_until_us
        if renewed != given:
            break
        await asyncio.sleep(0.05)
    assert given is not None
    assert renewed is not None
    assert renewed > given
    assert not await run_next_release(second_runtime)
    pause.go.set()
    assert await first
    assert (await world.release(requested.id)).status == "published"


async def test_a_worker_told_to_stop_gives_its_release_back(world: World, monkeypatch: pytest.MonkeyPatch):
    """Cancelled while reading: the next worker need not wait for the lease, and charges nothing again."""
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset()
    requested = await world.request(dataset)
    task = await sleeping_worker(world.runtime, pause)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pause.go.set()
    released = await world.release(requested.id)
    assert (released.status, released.stage, released.lease_token) == ("pending", "reading", NOBODY)
    assert await run_next_release(later(world.runtime, 3))
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert await world.verified()


async def test_a_release_given_back_does_not_wait_for_a_clock_that_was_moved_back(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """A worker stops in good order, the clock goes back an hour, the next worker starts: nobody waits for an hour."""
    pause = pause_first_reader(monkeypatch)
    dataset = await world.dataset()
    requested = await world.request(dataset)
    task = await sleeping_worker(world.runtime, pause)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pause.go.set()
    assert not await run_next_release(world.runtime)
    assert await run_next_release(later(world.runtime, -3600))
    assert (await world.release(requested.id)).status == "published"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert await world.verified()
