"""Private files: uploaded rows on disk for as long as they are needed and no longer.

Every file is `<32 hex digits>.part` while it is being written and `<32 hex digits>.rows`
afterwards; spill directories of the engine are `<32 hex digits>.spill`. Nothing a caller
sends reaches a path. What was sent is only ever a `.part`; a `.rows` holds what was kept of it,
sealed (`kept_rows.py`), or is the file as it was sent to an earlier version.

A file in use is held with an advisory lock (`flock`) that dies with the process, so a
file whose lock can be taken belongs to nobody who is alive. That is how a sweep
tells the remains of a crash from the work of another worker.
"""

import asyncio
import os
import re
import secrets
import threading
from collections.abc import AsyncIterable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from app.errors import PayloadTooLarge
from app.sources.private_files import (
    CHUNK_BYTES,
    claim,
    disk_full_as_unavailable,
    lock_new,
    sync_directory,
    wipe,
    wipe_directory,
)

UPLOAD_BYTES_MAX = 2 * 1024**3

_NAME = re.compile(r"[0-9a-f]{32}\.rows")
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY = re.compile(r"[0-9a-f]{32}\.(rows|part|spill)")


class UploadStore:
    """A directory of private files (0700, files 0600), one per upload."""

    def __init__(self, root: Path, bytes_max: int = UPLOAD_BYTES_MAX) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
        self.root = root.resolve()
        self.bytes_max = bytes_max

    def begin(self, dataset_id: str, *, limited: bool = True) -> "PartialUpload":
        """Open a new file for writing, locked until it is closed or this process ends.

        Not `limited`: what is made here from an upload within the limit may be somewhat larger than that was.
        """
        while True:
            path = self.root / f"{secrets.token_hex(16)}.part"
            descriptor = os.open(path, _CREATE, 0o600)
            os.fchmod(descriptor, 0o600)
            if lock_new(descriptor):
                return PartialUpload(self, dataset_id, path, descriptor, self.bytes_max if limited else None)

    def path(self, name: str) -> Path:
        """Where a finished upload lies. ValueError for anything that is not a name given out here."""
        if not _NAME.fullmatch(name):
            raise ValueError("not the name of an upload")
        return self.root / name

    def wipe(self, name: str) -> None:
        """Overwrite an upload with zeros and unlink it; a name already gone is fine.

        What this promises: after it returns, the file system no longer serves the bytes,
        and where a file is rewritten in place (ext4, XFS, NTFS on a magnetic disk) the
        sectors hold zeros. What it cannot promise: flash translation layers, copy-on-write
        and log-structured file systems (Btrfs, ZFS, overlay layers), snapshots, journals of
        data, backups and swap may keep the old blocks. For those put the data directory on
        an encrypted volume and discard its key.
        """
        wipe(self.path(name))

    def unclaimed(self) -> frozenset[str]:
        """Names of everything here that no living process holds: candidates for `sweep`."""
        found = set()
        for name in os.listdir(self.root):  # noqa: PTH208 - names only
            if _ANY.fullmatch(name):
                with claim(self.root / name) as claimed:
                    found |= {name} if claimed else set()
        return frozenset(found)

    def sweep(self, keep: Collection[str], candidates: Collection[str] | None = None) -> int:
        """Wipe what a crash left behind; returns how many files or spill directories went.

        Everything unclaimed goes except the names in `keep` (uploads the database knows).
        When other workers may be running, take `candidates = unclaimed()` *before* reading
        `keep` from the database: an upload that was unclaimed by then had been recorded by
        then, so one that finishes in between is never mistaken for a remain.
        """
        wiped = 0
        for name in self.unclaimed() if candidates is None else candidates:
            if name in keep or not _ANY.fullmatch(name):
                continue
            path = self.root / name
            with claim(path) as claimed:
                if claimed:
                    wipe_directory(path) if path.is_dir() else wipe(path)
                    wiped += 1
        return wiped

    @contextmanager
    def spill(self) -> Iterator[Path]:
        """A private directory for what the engine cannot hold in memory, gone afterwards."""
        path, descriptor = self._new_spill()
        try:
            yield path
        finally:
            wipe_directory(path)
            os.close(descriptor)

    def _new_spill(self) -> tuple[Path, int]:
        while True:
            path = self.root / f"{secrets.token_hex(16)}.spill"
            path.mkdir(mode=0o700)
            with suppress(FileNotFoundError):  # swept before it could be opened
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                if lock_new(descriptor):
                    return path, descriptor


class PartialUpload:
    """A file being received. Use as a context manager: leaving without `finish`, or with an error, wipes it.

    The lock is kept after `finish` until the block ends, so that checking the rows and
    recording the name in the database can happen inside it, safe from another worker's sweep.
    """

    def __init__(self, store: UploadStore, dataset_id: str, path: Path, descriptor: int, bytes_max: int | None) -> None:
        self.dataset_id = dataset_id
        self._bytes_max = bytes_max
        self.size_bytes = 0
        self.name: str | None = None
        self._store = store
        self._path = path
        self._descriptor: int | None = descriptor
        # A cancelled request aborts while its last write may still run in a thread; without this
        # the thread could write rows into whatever file next gets the same descriptor.
        self._guard = threading.Lock()

    def write(self, chunk: bytes) -> None:
        """Append. Raises PayloadTooLarge at the limit, Unavailable when the disk is full."""
        with self._guard, disk_full_as_unavailable():
            descriptor = self._open_descriptor()
            self.size_bytes += len(chunk)
            if self._bytes_max is not None and self.size_bytes > self._bytes_max:
                raise PayloadTooLarge("body", f"at most {self._bytes_max} bytes")
            view = memoryview(chunk)
            while view:
                view = view[os.write(descriptor, view) :]

    async def receive(self, chunks: AsyncIterable[bytes]) -> None:
        """Append a stream, writing in a thread once a megabyte has gathered."""
        gathered = bytearray()
        async for chunk in chunks:
            gathered += chunk
            if len(gathered) >= CHUNK_BYTES:
                await asyncio.to_thread(self.write, bytes(gathered))
                gathered.clear()
        if gathered:
            await asyncio.to_thread(self.write, bytes(gathered))

    @property
    def path(self) -> Path:
        """Where it lies now; for reading by whoever holds it."""
        return self._path

    def finish(self) -> str:
        """Flush to disk and give the file its final name, in one step; returns that name."""
        with self._guard, disk_full_as_unavailable():
            os.fsync(self._open_descriptor())
            final = self._path.with_suffix(".rows")
            self._path.rename(final)
            self._path, self.name = final, final.name
            sync_directory(self._store.root)
            return final.name

    def abort(self) -> None:
        """Wipe whatever was written, finished or not."""
        with self._guard:
            if self._descriptor is not None:
                wipe(self._path)
            self._release()

    def close(self) -> None:
        """Give up the lock. A file never finished counts as remains from here on."""
        with self._guard:
            self._release()

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open_descriptor(self) -> int:
        if self._descriptor is None or self.name is not None:
            raise ValueError("the upload is closed")
        return self._descriptor

    def __enter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """In a thread: overwriting gigabytes takes seconds, in which nobody else would be answered."""
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind, error, trace))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or self.name is None:
            self.abort()
        self.close()
