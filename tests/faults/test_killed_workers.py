"""SIGKILL between the charge and the publication, at every stage: the next start ends it, charged once."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.services.ledger.recover import recover_on_start
from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.end_to_end.fixtures import Start, StartWorker
from tests.end_to_end.served import environment_for
from tests.faults.forked import ForkServer
from tests.services.world import SECOND_US, World, at_once, kinds_of, upload_files

WIPED = {"kind": "upload", "retain": False}
BEFORE = ["release.claimed", "release.reading", "release.rows_read", "release.drawn", "release.storing"]
AFTER = ["release.published", "release.wiping"]
REACHED_S = 60

Kill = Callable[..., None]


@pytest.fixture
def kill_worker_at(backend: Backend, tmp_path: Path, bytecode: Path | None, forks: ForkServer) -> Kill:
    """Start a worker that kills itself at a failpoint of the next release, and wait until it is gone."""

    def kill(point: str, **changes: str) -> None:
        environment = environment_for(backend, tmp_path, bytecode, FAILPOINT=point, **changes)
        worker = forks.start(environment, "worker")
        deadline = time.monotonic() + REACHED_S
        while worker.alive:
            assert time.monotonic() < deadline, worker.log
            time.sleep(0.01)
        assert "failpoints are armed" in worker.log

    return kill


def after_the_lease(runtime: Runtime) -> Runtime:
    return replace(runtime, clock=lambda: runtime.clock() + 60 * SECOND_US, sleep=at_once)


@pytest.mark.parametrize("point", [*BEFORE, *AFTER])
async def test_the_next_start_finishes_what_a_killed_worker_left(world: World, kill_worker_at: Kill, point: str):
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    spent = (await world.account(dataset)).spent
    await asyncio.to_thread(kill_worker_at, point)
    left = await world.release(requested.id)
    assert left.status == ("published" if point in AFTER else "pending")
    assert (await world.samples(requested.id) is None) == (point in BEFORE)
    assert len(upload_files(world.runtime)) == 1
    started = world.on(after_the_lease(world.runtime))
    await recover_on_start(started.runtime)
    await started.work()
    assert (await world.release(requested.id)).status == "published"
    assert len(await world.samples(requested.id) or b"") == 20 * 8
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert (await world.account(dataset)).spent == spent
    assert upload_files(world.runtime) == []
    assert await world.verified()


async def test_a_restarted_process_finishes_by_itself(
    backend: Backend, world: World, kill_worker_at: Kill, serve: Start, start_worker: StartWorker
):
    """`postern serve` with its own worker on SQLite, `postern worker` on PostgreSQL; nobody tells them anything."""
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    await asyncio.to_thread(kill_worker_at, "release.reading", LEASE_S="1")
    if backend.name == "sqlite":
        await asyncio.to_thread(serve, 1, LEASE_S="1")
    else:
        start_worker(LEASE_S="1")
    for _ in range(1200):
        if (await world.release(requested.id)).status != "pending":
            break
        await asyncio.sleep(0.05)
    assert (await world.release(requested.id)).status == "published"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert await world.verified()
