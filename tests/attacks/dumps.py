"""Everything a thief would carry away: tables, raw files, cache, folders."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg import sql

from tests.conftest import Backend
from tests.servers.postgres import PostgresServer

_SEGMENT = 1 << 24


def stored_values(backend: Backend) -> Iterator[tuple[str, Any]]:
    """Every value of every table, with where it stands."""
    if backend.name == "sqlite":
        with sqlite3.connect(sqlite_file(backend)) as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:
                yield from _values(name, connection.execute(f'SELECT * FROM "{name}"'))
        connection.close()
        return
    with psycopg.connect(backend.database_url) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for (name,) in connection.execute(query).fetchall():
            yield from _values(name, connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))))


def _values(table: str, cursor: Any) -> Iterator[tuple[str, Any]]:
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        for column, value in zip(columns, row, strict=True):
            if value is not None:
                yield f"{table}.{column}", value


def sqlite_file(backend: Backend) -> Path:
    return Path(backend.database_url.removeprefix("sqlite:///"))


def log_position(backend: Backend) -> int:
    """How many bytes the server has written ahead: other tests' numbers stand before them, and may be any number."""
    if backend.name == "sqlite":
        return 0
    with psycopg.connect(backend.database_url) as connection:
        (position,) = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone() or (0,)
    return int(position)


def database_files(backend: Backend, server: PostgresServer, since: int) -> Iterator[tuple[str, bytes]]:
    """The bytes on disk: pages with what was deleted from them, what was written ahead since a position, the server's own log."""
    if backend.name == "sqlite":
        path = sqlite_file(backend)
        for found in sorted(path.parent.glob(f"{path.name}*")):
            yield found.name, found.read_bytes()
        return
    with psycopg.connect(backend.database_url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        (folder,) = connection.execute(
            "SELECT 'base/' || oid FROM pg_database WHERE datname = current_database()"
        ).fetchone() or ("",)
    data = server.folder / "data"
    for found in sorted((data / folder).iterdir()):
        if found.is_file():
            yield str(found.relative_to(data)), found.read_bytes()
    yield from _written_ahead(data / "pg_wal", since, log_position(backend))
    yield "server.log", (server.folder / "server.log").read_bytes()


def _written_ahead(folder: Path, since: int, until: int) -> Iterator[tuple[str, bytes]]:
    """Segments are numbered by their place, in two groups of eight digits after the timeline; old ones are used again."""
    for number in range(since // _SEGMENT, until // _SEGMENT + 1):
        (found,) = folder.glob(f"????????{number >> 8:08X}{number & 0xFF:08X}")
        first = number * _SEGMENT
        yield f"pg_wal/{found.name}", found.read_bytes()[max(since - first, 0) : until - first]


def cached_values(backend: Backend) -> Iterator[tuple[str, bytes]]:
    if backend.redis_url is None:
        return
    with redis.Redis.from_url(backend.redis_url) as client:
        for key in client.scan_iter("*"):
            yield f"key {key!r}", key
            yield f"value of {key!r}", client.dump(key) or b""
            if client.type(key) == b"string":
                yield f"text of {key!r}", client.get(key) or b""


def folder_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for found in sorted(folder.rglob("*")):
        yield f"name {found.name}", found.name.encode()
        if found.is_file():
            yield str(found.relative_to(folder)), found.read_bytes()
