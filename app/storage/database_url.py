"""The two kinds of database address Postern takes, and the private file behind the embedded one."""

import contextlib
import errno
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from app.errors import InvalidInput, Unavailable

BUSY_TIMEOUT_S = 15
CONNECT_TIMEOUT_S = 5


def parse_database_url(url: str) -> URL:
    """`sqlite:///path` or `postgresql://…`, with the driver that serves both sync and async use."""
    expected = "sqlite:///path/to/file or postgresql://user@host/name"
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InvalidInput("database_url", expected) from None
    dialect = parsed.drivername.partition("+")[0]
    if dialect == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed.set(drivername="sqlite+aiosqlite")
    if dialect in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise InvalidInput("database_url", expected)


def sync_url(url: URL) -> URL:
    return url.set(drivername="sqlite") if is_sqlite(url) else url


def is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def prepare_sqlite_file(url: URL) -> Path:
    """Create the file and its directory readable by their owner alone; SQLite gives `-wal` and `-shm` its mode.

    Blocking, and only slow where several processes create the file at once. `Unavailable` if it cannot be opened.
    """
    path = Path(url.database or "")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Only a file that is new here is opened: closing any descriptor of a database drops every lock this process
        # holds on it, and another process would then take its write-ahead log for abandoned and delete it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if not path.is_file():
            raise OSError(errno.EISDIR, "not a file")
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise Unavailable(f"the database file cannot be opened: {error.strerror}") from error
    _keep_a_write_ahead_log(path)
    return path


def _keep_a_write_ahead_log(path: Path) -> None:
    """Switch the file to WAL once; the file remembers it.

    Two processes that switch at the same moment are told "locked" without waiting for the busy timeout, so the
    waiting is done here.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.Error as error:
                locked = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not locked or time.monotonic() > deadline:
                    raise Unavailable(f"the database file cannot be used: {error}") from error
                time.sleep(0.02)
            else:
                return
