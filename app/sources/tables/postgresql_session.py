"""One read-only look at a PostgreSQL database: a snapshot, time limits on both sides, and no word of the engine's own errors.

What an engine says when it fails may quote rows, names and addresses. It is never shown, logged or chained: a failure becomes
one of two of ours, raised where the engine's error is no longer its context.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from app.errors import DataMissing, PosternError, Unavailable
from app.sources.dialects.postgresql import POSTGRES
from app.sources.engine import Limits

VERSION_MIN = 160_000
CONNECT_S = 10
GRACE_S = 5.0
"""How much longer than the engine itself this side waits before it hangs up."""

AWAY = "the database with the rows does not answer"
GONE = "the table is not there any more, not as it was declared, or may not be read"
# Undefined table, column, schema, function, database; no privilege; a type that is not what it was.
_GONE_STATES = frozenset({"42P01", "42703", "3F000", "42883", "3D000", "42501", "42804"})
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "client_min_messages": "error",
    "jit": "off",
}


class Session:
    """Statements in one snapshot. Blocking."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Raises DataMissing and Unavailable."""
        failure: PosternError
        try:
            found = psycopg.RawCursor(self._connection).execute(sql.encode()).fetchall()
        except (psycopg.Error, UnicodeError, OSError) as error:
            failure = _in_our_words(error)
        else:
            return found
        raise failure

    def choose_by(self, hash_key: bytes) -> None:
        """Where the dialect looks for the key: in the session, not in the text of a statement, which others may see."""
        failure: PosternError
        try:
            psycopg.RawCursor(self._connection).execute(
                b"SELECT set_config('postern.choice_key', $1, true)", [hash_key.hex()]
            )
        except (psycopg.Error, OSError) as error:
            failure = _in_our_words(error)
        else:
            return
        raise failure

    def copy(self, sql: str, target: Path) -> None:
        """What a query finds, as CSV, into a new file for the owner alone; rows do not become objects here."""
        failure: PosternError
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                statement = f"COPY ({sql}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')".encode()
                with psycopg.Cursor(self._connection).copy(statement) as rows:
                    for piece in rows:
                        file.write(piece)
        except (psycopg.Error, OSError) as error:
            failure = _in_our_words(error)
        else:
            return
        raise failure


@contextmanager
def open_session(url: str, limits: Limits) -> Iterator[Session]:
    """A transaction that may read and sees one snapshot; rolled back at the end.

    Raises DataMissing for what will not be better in a minute, Unavailable for everything else.
    """
    connection = _connect(url)
    done = threading.Event()
    alarm = threading.Thread(target=_hang_up_after, args=(connection, limits.seconds + GRACE_S, done), daemon=True)
    try:
        session = Session(connection)
        _begin(session, limits)
        alarm.start()
        yield session
    finally:
        done.set()
        # not the connection's own `with`, which logs what it could not do
        with contextlib.suppress(psycopg.Error, OSError):
            connection.rollback()
        with contextlib.suppress(psycopg.Error, OSError):
            connection.close()
        if alarm.ident is not None:
            alarm.join()


def _connect(url: str) -> psycopg.Connection[Any]:
    failure: PosternError
    try:
        connection = psycopg.connect(
            url,
            connect_timeout=CONNECT_S,
            application_name="postern",
            client_encoding="utf8",
            keepalives=1,
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            prepare_threshold=None,
        )
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
    except (psycopg.Error, OSError) as error:
        failure = _in_our_words(error)
    else:
        return connection
    raise failure


def _begin(session: Session, limits: Limits) -> None:
    settings = {**_SETTINGS, "statement_timeout": f"{limits.seconds * 1000:.0f}", "lock_timeout": f"{CONNECT_S}s"}
    settings["idle_in_transaction_session_timeout"] = f"{limits.seconds * 1000:.0f}"
    listed = ", ".join(f"set_config('{name}', {POSTGRES.text(value)}, true)" for name, value in settings.items())
    session.run(f"SELECT {listed}")
    ((version, encoding, reads_only),) = session.run(
        "SELECT CAST(current_setting('server_version_num') AS int4), current_setting('server_encoding'), "
        "current_setting('transaction_read_only')"
    )
    if version < VERSION_MIN or encoding != "UTF8" or reads_only != "on":
        raise DataMissing("the database is not PostgreSQL 16 or newer in UTF-8")


def _hang_up_after(connection: psycopg.Connection[Any], seconds: float, done: threading.Event) -> None:
    """For an engine, or a network, that is not even there to see its own time limit."""
    if done.wait(seconds):
        return
    with contextlib.suppress(psycopg.Error, OSError, ValueError):
        line = socket.socket(fileno=os.dup(connection.fileno()))
        with contextlib.closing(line):
            line.shutdown(socket.SHUT_RDWR)


def _in_our_words(error: Exception) -> PosternError:
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state in _GONE_STATES:
        return DataMissing(GONE)
    return Unavailable(AWAY, retry_after_s=60)
