"""The two kinds of database address Postern takes, and the private file behind the embedded one."""

import os
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from app.errors import InvalidInput

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
    """Create the file and its directory readable by their owner alone; SQLite gives `-wal` and `-shm` its mode."""
    path = Path(url.database or "")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return path
