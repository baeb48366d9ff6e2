"""Uploads are private, whole or absent, and gone after a crash."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.errors import PayloadTooLarge
from app.sources import private_files
from app.sources.uploads import UploadStore

CANARY = b"canary-4711,1\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put(store: UploadStore, rows: bytes = CANARY) -> str:
    with store.begin("ds_a") as upload:
        upload.write(rows)
        return upload.finish()


def test_files_and_folder_are_private_whatever_the_umask(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        store = UploadStore(tmp_path / "open")
        with store.begin("ds_a") as upload:
            (part,) = store.root.iterdir()
            assert mode(part) == 0o600
            upload.write(CANARY)
            name = upload.finish()
        with store.spill() as spill:
            assert mode(spill) == 0o700
    finally:
        os.umask(before)
    assert mode(store.root) == 0o700
    assert mode(store.path(name)) == 0o600
    assert store.path(name).read_bytes() == CANARY


def test_no_name_repeats_or_tells_whose_rows_it_holds(store: UploadStore) -> None:
    names = {put(store) for _ in range(20)}
    assert len(names) == 20
    assert not any("ds_a" in name for name in names)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a.rows", "0" * 32 + ".part", "0" * 32 + ".rows\n"])
def test_only_names_given_out_become_paths(store: UploadStore, name: str) -> None:
    with pytest.raises(ValueError, match="not the name"):
        store.path(name)
    with pytest.raises(ValueError, match="not the name"):
        store.wipe(name)


def test_upload_is_invisible_until_finished_and_nothing_remains_of_an_aborted_one(store: UploadStore) -> None:
    with store.begin("ds_a") as upload:
        upload.write(CANARY)
        assert not list(store.root.glob("*.rows"))
    assert not list(store.root.iterdir())
    with pytest.raises(ValueError, match="closed"):
        upload.write(CANARY)


def test_error_after_finish_wipes_the_file(store: UploadStore) -> None:
    def refuse() -> None:
        with store.begin("ds_a") as upload:
            upload.write(CANARY)
            upload.finish()
            raise RuntimeError("rows refused")

    with pytest.raises(RuntimeError):
        refuse()
    assert not list(store.root.iterdir())


def test_upload_over_the_limit_is_refused_before_the_excess_is_written(tmp_path: Path) -> None:
    store = UploadStore(tmp_path / "u", bytes_max=100)
    with store.begin("ds_a") as upload:
        upload.write(b"x" * 100)
        with pytest.raises(PayloadTooLarge):
            upload.write(b"y")
        (part,) = store.root.iterdir()
        assert part.stat().st_size == 100


async def test_streamed_chunks_arrive_whole_and_in_order(store: UploadStore) -> None:
    pieces = [bytes([i % 251]) * (i * 977 % 70_000) for i in range(120)]

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    with store.begin("ds_a") as upload:
        await upload.receive(chunks())
        name = upload.finish()
    assert store.path(name).read_bytes() == b"".join(pieces)


async def test_cancelled_stream_leaves_nothing(store: UploadStore) -> None:
    started = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"x" * 3_000_000
        started.set()
        await asyncio.sleep(60)

    async def receive() -> None:
        with store.begin("ds_a") as upload:
            await upload.receive(chunks())

    task = asyncio.create_task(receive())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list(store.root.iterdir())


def test_wiping_zeroes_the_bytes_before_unlinking(store: UploadStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "CHUNK_BYTES", 1000)
    name = put(store, CANARY * 1000)
    other = store.path(name).with_name("link")
    os.link(store.path(name), other)
    store.wipe(name)
    assert not store.path(name).exists()
    assert other.read_bytes() == bytes(len(CANARY) * 1000)
    store.wipe(name)


def test_sweep_keeps_what_is_known_and_what_is_being_written(store: UploadStore) -> None:
    known, unknown = put(store), put(store)
    with store.begin("ds_a") as live, store.begin("ds_b") as finished, store.spill() as spill:
        live.write(CANARY)
        finished.write(CANARY)
        name = finished.finish()
        assert store.sweep({known}) == 1
        assert spill.is_dir()
        assert not store.path(unknown).exists()
        assert store.path(known).exists()
        assert store.path(name).exists()
        live.finish()


def test_sweep_spares_an_upload_recorded_after_the_names_were_read(store: UploadStore) -> None:
    put(store)
    with store.begin("ds_b") as upload:
        candidates = store.unclaimed()
        keep_read_too_early: set[str] = set()
        upload.write(CANARY)
        name = upload.finish()
    assert store.sweep(keep_read_too_early, candidates) == 1
    assert store.path(name).exists()


def test_sweep_is_not_stopped_by_a_link_or_a_folder_with_one_of_our_names(store: UploadStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"not ours")
    (store.root / f"{'a' * 32}.rows").symlink_to(elsewhere)
    (store.root / f"{'b' * 32}.rows").mkdir()
    (store.root / f"{'c' * 32}.rows").write_bytes(b"left by a crash")
    assert store.sweep(set()) == 2
    assert [path.name[0] for path in store.root.iterdir()] == ["a"]
    assert elsewhere.read_bytes() == b"not ours"


def test_sweep_leaves_foreign_files_alone(store: UploadStore) -> None:
    foreign = store.root / "README"
    foreign.write_text("not ours")
    assert store.sweep(set(), {"README", "../README"}) == 0
    assert store.sweep(set()) == 0
    assert foreign.exists()


CRASHING = """
import sys, time
from pathlib import Path
from app.sources.uploads import UploadStore
store = UploadStore(Path(sys.argv[1]))
upload = store.begin("ds_a")
upload.write(b"canary-4711,1\\n" * 1000)
with store.spill() as spill:
    (spill / "duckdb_temp").write_bytes(b"canary-4711")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_next_start_wipes_what_a_killed_process_was_writing_and_not_before(store: UploadStore) -> None:
    process = subprocess.Popen([sys.executable, "-c", CRASHING, str(store.root)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert store.sweep(set()) == 0
        assert len(list(store.root.iterdir())) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
        (part,) = store.root.glob("*.part")
        os.link(part, store.root / "link")
        assert UploadStore(store.root).sweep(set()) == 2
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    assert b"canary" not in (store.root / "link").read_bytes()
    assert [entry.name for entry in store.root.iterdir()] == ["link"]


def test_file_swept_before_it_was_locked_is_given_up(tmp_path: Path) -> None:
    for unlinked in (True, False):
        descriptor = os.open(tmp_path / "new", os.O_CREAT | os.O_RDWR)
        if unlinked:
            (tmp_path / "new").unlink()
        assert private_files.lock_new(descriptor) is not unlinked
    os.close(descriptor)


def test_uploads_begun_during_sweeps_survive_them(store: UploadStore) -> None:
    done = threading.Event()

    def keep_sweeping() -> None:
        while not done.is_set():
            store.sweep(set())

    sweeper = threading.Thread(target=keep_sweeping)
    sweeper.start()
    try:
        for _ in range(100):
            with store.begin("ds_a") as upload, store.spill() as spill:
                upload.write(CANARY)
                name = upload.finish()
                assert store.path(name).read_bytes() == CANARY
                assert spill.is_dir()
    finally:
        done.set()
        sweeper.join()


async def test_wiping_does_not_hold_up_anybody_else(store: UploadStore) -> None:
    """What is wiped may be gigabytes, and one loop answers everybody."""
    turns = 0

    async def live() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    living = asyncio.create_task(live())
    try:
        async with store.begin("ds_a") as upload:
            await asyncio.to_thread(upload.write, bytes(8_000_000))
            turns = 0
    finally:
        living.cancel()
    assert turns > 3
    assert list(store.root.iterdir()) == []
