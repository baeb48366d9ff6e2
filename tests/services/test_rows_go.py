"""Rows whose last release has ended do not stay because wiping them failed once."""

import asyncio
from importlib import import_module
from typing import Any

import pytest

from app.errors import Unavailable
from app.ledger.entry import Head
from app.services.releases import run_release
from app.storage.ledger_heads import read_stored
from tests.services.world import World

run_worker = import_module("app.services.releases.run_worker")


async def worked_until_gone(world: World, turns: int = 100) -> bool:
    """A worker that lives for at most five seconds; whether no private file is left by then."""
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker.run_worker(world.runtime, stop=stop))
    for _ in range(turns):
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


@pytest.mark.slow
async def test_rows_that_are_retained_or_not_used_yet_stay(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_worker, "SWEEP_S", 0.0)
    await world.published(await world.dataset("kept"))
    await world.dataset("unused", source={"kind": "upload", "retain": False})
    assert not await worked_until_gone(world, turns=20)
    assert len(world.runtime.uploads.unclaimed()) == 2


async def test_what_a_killed_process_held_goes_without_a_restart(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_worker, "SWEEP_S", 0.0)
    root = world.runtime.uploads.root
    spill = root / f"{'a' * 32}.spill"
    spill.mkdir()
    (spill / "rows").write_bytes(b"1,2,3")
    (root / f"{'b' * 32}.part").write_bytes(b"1,2,3")
    (root / f"{'c' * 32}.rows").write_bytes(b"1,2,3")
    assert await worked_until_gone(world)
    assert not list(root.iterdir())


@pytest.mark.slow
async def test_what_an_older_database_does_not_know_is_not_wiped_by_a_living_worker(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """The head lies behind one this process has seen, which nobody has noticed yet."""
    monkeypatch.setattr(run_worker, "SWEEP_S", 0.0)
    monkeypatch.setattr(run_worker, "FAILURE_PAUSE_S", 0.05)
    await world.dataset()
    async with world.runtime.database.read() as connection:
        head = (await read_stored(connection)).signed
    assert head is not None
    ahead = Head(head.head.sequence + 1, b"\1" * 32)
    world.runtime.notary.seen = world.runtime.notary.keys.signing.sign_head(head.ledger, ahead, 1)
    today = world.runtime.uploads.root / f"{'c' * 32}.rows"
    today.write_bytes(b"1,2,3")
    assert not await worked_until_gone(world, turns=20)
    assert today.exists()
