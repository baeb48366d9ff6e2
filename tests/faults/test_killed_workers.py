"""SIGKILL between the charge and the publication, at every stage: the next start ends it, charged once."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.services.recover import recover_on_start
from app.services.runtime import Runtime
from tests.conftest import Backend
from tests.end_to_end.fixtures import Start, StartWorker
from tests.end_to_end.served import environment_for
from tests.servers.process import Server, fresh_folder
from tests.services.world import SECOND_US, World, kinds_of, upload_files

WIPED = {"kind": "upload", "retain": False}
STAGES = ["claimed", "reading", "drawn", "storing", "published"]
START_S = 60

Kill = Callable[..., None]


@pytest.fixture
def kill_worker_at(backend: Backend, tmp_path: Path, bytecode: Path) -> Iterator[Kill]:
    """Start a worker that stops at a stage of the next release, and kill it there."""
    started: list[Server] = []

    def kill(stage: str, **changes: str) -> None:
        environment = environment_for(backend, tmp_path, bytecode, **changes)
        command = [sys.executable, "-m", "tests.faults.stopped_worker", stage]
        worker = Server(command, fresh_folder("postern-stopped-"), stop_signal=signal.SIGKILL, env=environment)
        started.append(worker)
        worker.wait_until(lambda: f"at {stage}" in worker.log.read_text(), START_S)
        worker.process.kill()
        worker.process.wait(timeout=10)

    yield kill
    for worker in started:
        worker.stop()


def after_the_lease(runtime: Runtime) -> Runtime:
    return replace(runtime, clock=lambda: runtime.clock() + 60 * SECOND_US)


@pytest.mark.parametrize("stage", STAGES)
async def test_the_next_start_finishes_what_a_killed_worker_left(world: World, kill_worker_at: Kill, stage: str):
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    spent = (await world.account(dataset)).spent
    await asyncio.to_thread(kill_worker_at, stage)
    left = await world.release(requested.id)
    assert left.status == ("published" if stage == "published" else "pending")
    assert (await world.samples(requested.id) is None) == (stage != "published")
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
    await asyncio.to_thread(kill_worker_at, "reading", LEASE_S="1")
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
