"""A file on its way: it ends with the right to read it and with its reader, and gives back the room it took."""

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.api.downloads import PIECE_BYTES, Download
from app.errors import AccessRequired, KeyRevoked, TooBusy, Unavailable
from app.services.people.keys import revoke_key
from app.services.reading.built_files import BuiltFile, build_export, right_to
from app.services.reading.export_samples import Export, describe_export
from app.services.reading.exports import FORMATS
from app.services.runtime.export_thread_pool import (
    HELD_BYTES_MAX,
    SHARE_BYTES,
    SMALL_BYTES,
    TURNS,
    WAITING_MAX,
    ExportRoom,
)
from app.services.runtime.warm_cache import Receipt
from app.services.runtime.watch_rights import check_rights
from tests.services.export_files import drawn
from tests.services.world import World

CONTENT = bytes(range(256)) * (5 * PIECE_BYTES // 256)


class Wire:
    """What an ASGI server would have been given. `on_piece` may wait, as a connection does whose other end is slow."""

    def __init__(self, on_piece: Callable[[], Awaitable[object]] | None = None) -> None:
        self.on_piece = on_piece
        self.started = False
        self.pieces: list[bytes] = []
        self.complete = False
        self.gone = asyncio.Event()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            return
        if message["body"]:
            self.pieces.append(message["body"])
            if self.on_piece is not None:
                await self.on_piece()
        self.complete = not message["more_body"]

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}


class Held:
    """A built file that says when it was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.built = BuiltFile(io.BytesIO(CONTENT), len(CONTENT), self._close)

    def _close(self) -> None:
        self.closed += 1


async def deliver(held: Held, wire: Wire, check: Callable[[], Awaitable[object]], **pace: float) -> None:
    download = Download(held.built, headers={}, media_type="text/csv", gzipped=False, check=check, **pace)
    await download({"type": "http"}, wire.receive, wire.send)


async def allowed() -> None:
    return None


async def test_a_file_arrives_whole_and_in_pieces():
    held, wire = Held(), Wire()
    await deliver(held, wire, allowed)
    assert b"".join(wire.pieces) == CONTENT
    assert max(map(len, wire.pieces)) <= PIECE_BYTES
    assert wire.complete
    assert held.closed == 1


async def test_a_right_that_is_gone_before_the_first_byte_is_a_refusal():
    held, wire = Held(), Wire()

    async def refuse() -> None:
        raise AccessRequired("gone")

    with pytest.raises(AccessRequired):
        await deliver(held, wire, refuse)
    assert not wire.started
    assert held.closed == 1


async def test_a_right_that_goes_on_the_way_leaves_a_visibly_incomplete_file():
    held, wire = Held(), Wire()

    async def check() -> None:
        if len(wire.pieces) >= 2:
            raise AccessRequired("gone")

    await deliver(held, wire, check, check_s=0.0)
    assert len(wire.pieces) == 2
    assert not wire.complete
    assert held.closed == 1


async def test_a_reader_who_leaves_or_stops_reading_is_sent_no_more():
    left, leaving = Held(), Wire()
    leaving.on_piece = lambda: asyncio.sleep(0, leaving.gone.set())
    await deliver(left, leaving, allowed, check_s=0.0)
    assert (len(leaving.pieces), leaving.complete, left.closed) == (1, False, 1)
    stalled, asleep = Held(), Wire(lambda: asyncio.sleep(60))
    await deliver(stalled, asleep, allowed, stall_s=0.05)
    assert (len(asleep.pieces), asleep.complete, stalled.closed) == (1, False, 1)


async def test_a_key_revoked_while_its_file_is_built_gets_none_of_it(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=50)
    analyst = await world.buyer(dataset, release, 20)
    runtime, wire = world.runtime, Wire()
    export = await describe_export(runtime, reader=analyst.reader, release_id=release, name="csv", parameters=[])
    built = await build_export(runtime, export)
    await right_to(runtime, export)()
    await revoke_key(runtime, actor=world.steward, key_id=analyst.who.key_id)
    await check_rights(runtime)
    download = Download(
        built,
        headers={},
        media_type="text/csv",
        gzipped=False,
        check=right_to(runtime, export),
    )
    with pytest.raises(KeyRevoked):
        await download({"type": "http"}, wire.receive, wire.send)
    assert not wire.started
    assert built.file.closed


def a_large_export(world: World, release: Any) -> Export:
    """More than is kept in memory."""
    draws = drawn(["a", "b", "c"], 70_001)
    return Export(release, world.steward, FORMATS["csv"], draws, Receipt({"release": "r"}, b"x"), "tag")


async def test_a_file_leaves_no_trace_on_the_disk_and_a_disk_that_is_away_is_a_refusal(world: World, tmp_path: Path):
    folder = world.runtime.settings.data_dir
    before = sorted(folder.rglob("*"))
    export = a_large_export(world, None)
    built = await build_export(world.runtime, export)
    assert sorted(folder.rglob("*")) == before
    built.file.seek(0)
    assert len(built.file.read()) == built.size > 1024**2
    built.close()
    settings = world.runtime.settings.model_copy(update={"data_dir": tmp_path / "away"})
    with pytest.raises(Unavailable) as refused:
        await build_export(replace(world.runtime, settings=settings), export)
    assert refused.value.code == "unavailable"
    for _ in range(WAITING_MAX):
        world.runtime.exports.reserve(world.steward.id, 1)


async def test_a_reader_builds_one_file_at_a_time_and_all_of_them_a_few():
    room, running, seen = ExportRoom(), list[str](), list[list[str]]()

    def work(reader: str) -> None:
        running.append(reader)
        seen.append(list(running))
        time.sleep(0.01)
        running.remove(reader)

    readers = ["ada", "bo", "cy"] * 3
    await asyncio.gather(*(room.take_turn(reader, partial(work, reader)) for reader in readers))
    assert max(map(len, seen)) == TURNS
    assert all(len(set(together)) == len(together) for together in seen)


def test_one_reader_leaves_room_for_the_others_whatever_they_hold():
    room = ExportRoom()
    room.reserve("ada", 3 * HELD_BYTES_MAX)
    room.reserve("bo", 1000)
    room.reserve("bo", SHARE_BYTES - 1)
    with pytest.raises(TooBusy):
        room.reserve("bo", SHARE_BYTES + 1)
    with pytest.raises(TooBusy):
        room.reserve("bo", SMALL_BYTES + 1)
    room.free("ada", 3 * HELD_BYTES_MAX)
    room.reserve("bo", SHARE_BYTES + 1)
    for _ in range(WAITING_MAX - 3):
        room.reserve("bo", SMALL_BYTES)
    with pytest.raises(TooBusy):
        room.reserve("bo", 1)
    room.reserve("ada", SHARE_BYTES)


def test_files_waiting_to_be_sent_have_a_limit_by_reader_and_in_bytes():
    room = ExportRoom()
    for reader in range(HELD_BYTES_MAX // SHARE_BYTES):
        room.reserve(str(reader), SHARE_BYTES)
    with pytest.raises(TooBusy):
        room.reserve("ada", SMALL_BYTES + 1)
    for _ in range(WAITING_MAX):
        room.reserve("ada", 1)
    with pytest.raises(TooBusy):
        room.reserve("ada", 1)
    room.reserve("bo", 1)
    room.free("ada", 1)
    room.reserve("ada", 1)


async def test_a_reader_who_takes_every_piece_too_slowly_is_sent_no_more():
    """No piece takes 0.3 s, but three take longer than all of them may at such a rate."""
    held, slow = Held(), Wire(lambda: asyncio.sleep(0.12))
    await deliver(held, slow, allowed, stall_s=0.3, rate_min=1e12)
    assert (len(slow.pieces) <= 3, slow.complete, held.closed) == (True, False, 1)


async def test_a_reader_who_stops_before_the_last_message_is_given_up_too():
    held = Held()

    class Deaf(Wire):
        async def send(self, message: Any) -> None:
            await super().send(message)
            if len(self.pieces) == 5 and not message["body"]:
                await asyncio.sleep(60)

    await asyncio.wait_for(deliver(held, Deaf(), allowed, stall_s=0.05), 10)
    assert held.closed == 1
