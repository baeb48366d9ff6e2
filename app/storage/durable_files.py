"""Small private files that are whole or not there: written under another name, synced, then moved to their own."""

import os
import secrets
from pathlib import Path


def write_new(path: Path, body: bytes) -> None:
    """For the owner alone, on disk when this returns. Raises FileExistsError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def write_over(path: Path, body: bytes) -> None:
    """Whoever reads meanwhile finds the old body or the new one."""
    candidate = candidate_for(path)
    try:
        write_new(candidate, body)
        candidate.replace(path)
    except OSError:
        candidate.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def candidate_for(path: Path) -> Path:
    return path.parent / f".{path.name}.{secrets.token_hex(8)}"


def sync_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
