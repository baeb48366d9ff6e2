"""Locks that die with their process, and erasing what was written."""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.errors import Unavailable

CHUNK_BYTES = 1 << 20


def lock_new(descriptor: int) -> bool:
    """Lock what was just created; False (and closed) if a sweep got to it first and unlinked it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if os.fstat(descriptor).st_nlink:
        return True
    os.close(descriptor)
    return False


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Hold the lock of a file if no living process does; False if one does, or it is gone, or it is a link: none of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def wipe(path: Path) -> None:
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            left = os.fstat(descriptor).st_size
            zeros = memoryview(bytes(min(left, CHUNK_BYTES)))
            while left > 0:
                left -= os.write(descriptor, zeros[: min(left, CHUNK_BYTES)])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        path.unlink()
        sync_directory(path.parent)


def wipe_directory(path: Path) -> None:
    with suppress(FileNotFoundError):
        for entry in os.scandir(path):
            if entry.is_file(follow_symlinks=False):
                wipe(Path(entry.path))
    shutil.rmtree(path, ignore_errors=True)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk_full_as_unavailable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable("the server has no room for this upload", retry_after_s=60) from None
