"""Connections and transactions: one snapshot to read, one committed change to write, on either engine.

`read()` sees a single snapshot (SQLite's deferred transaction, PostgreSQL's REPEATABLE READ, read only).
`write()` commits when its block ends and rolls back if it raises. On SQLite it begins IMMEDIATE, so it never has
to be upgraded and repeated, and writers of one process queue in order on a lock; on PostgreSQL it is READ
COMMITTED and rows are locked explicitly (FOR NO KEY UPDATE, which does not hold up rows that merely refer to them),
accounts in sorted order and the ledger's head last.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import ColumnElement, Table, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from app.errors import DiskFull, OutcomeUnknown, Unavailable
from app.storage.database_url import (
    BUSY_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    is_sqlite,
    parse_database_url,
    prepare_sqlite_file,
)

if TYPE_CHECKING:
    from app.storage.postgres.silence import Silence

_PRAGMAS = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
# Primary result codes that say "not now" rather than "wrong statement".
_SQLITE_AWAY = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PROTOCOL,
    }
)

_log = structlog.get_logger("postern.database")

GIVEN_BACK_S = 1.0
SILENCE_S = 1.5
TCP_SILENCE_MS = 5_000
KEPT_ALIVE = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
"""For a machine that is gone without a word; a process that is frozen is noticed by `Silence`."""

# At debug level the driver logs statements together with their parameters: key hashes and samples.
logging.getLogger("aiosqlite").setLevel(logging.WARNING)


class Database:
    """One pool for a process. Used from one event loop."""

    def __init__(
        self, url: URL, engine: AsyncEngine, options: Mapping[str, Any] | None = None, silence: "Silence | None" = None
    ) -> None:
        """`options` travel with every connection: who signs for this process, for one."""
        self.url = url
        self._silence = silence
        self._shares = False
        self.is_full = False
        """The last change was refused for want of room."""
        engine = engine.execution_options(**(options or {}))
        self.is_sqlite = is_sqlite(url)
        self._engine = engine
        self._write_lock: AbstractAsyncContextManager[Any] = asyncio.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            self._readers = engine
            self._writers = engine.execution_options(postern_write=True)
        else:
            self._readers = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            self._writers = engine

    @classmethod
    def open(
        cls,
        url: str,
        *,
        pool_size: int = 10,
        options: Mapping[str, Any] | None = None,
        silence_s: float = SILENCE_S,
        beside: "Database | None" = None,
    ) -> "Database":
        """Connects lazily: a database that is away is noticed by the first use, as `Unavailable`. One that says nothing for
        `silence_s` is taken to be away; what is known of that is shared with another pool of the process, `beside` this one."""
        parsed = parse_database_url(url)
        if is_sqlite(parsed):
            return cls(parsed, _sqlite(parsed, pool_size), options)
        from app.storage.postgres.silence import Silence  # the embedded default should not have to load a driver

        silence = Silence(silence_s) if beside is None or beside._silence is None else beside._silence
        opened = cls(parsed, _postgres(parsed, pool_size, silence), options, silence)
        opened._shares = beside is not None
        return opened

    async def dispose(self) -> None:
        """Closes every connection. Those that cancelled work is still giving back are waited for, though not for ever: one
        that comes back after its pool was replaced would be closed by nobody."""
        ends = asyncio.get_running_loop().time() + GIVEN_BACK_S
        if self._silence is not None and not self._shares:
            await self._silence.close()
        while self._pool_in_use() and asyncio.get_running_loop().time() < ends:  # noqa: ASYNC110 (a pool tells nobody)
            await asyncio.sleep(0.005)
        await self._engine.dispose()

    def _pool_in_use(self) -> bool:
        pool = self._engine.pool
        return isinstance(pool, QueuePool) and pool.checkedout() > 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A snapshot; whatever the block does is rolled back."""
        self._refuse_if_silent()
        with _translated():
            async with self._readers.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that is committed, durably, when the block ends.

        If the connection breaks during the commit itself the outcome is unknown to the caller, who gets
        `OutcomeUnknown`; repeating the request with the same idempotency key settles it.
        """
        self._refuse_if_silent()
        committing = False
        try:
            with _translated():
                async with self._write_lock, self._writers.begin() as connection:
                    yield connection
                    committing = True
            self.is_full = False
        except DiskFull:
            if not self.is_full:
                _log.error("the disk of the database is full")
            self.is_full = True
            raise
        except Unavailable as away:
            if committing and not self.is_sqlite and away.__cause__ is not None:
                raise OutcomeUnknown from away.__cause__
            raise

    def _refuse_if_silent(self) -> None:
        if self._silence is not None and self._silence.is_silent:
            raise Unavailable("the database is not answering")

    async def ping(self) -> None:
        """Raises `Unavailable` if the database does not answer."""
        async with self.read() as connection:
            await connection.execute(text("SELECT 1"))


def _sqlite(url: URL, pool_size: int) -> AsyncEngine:
    prepare_sqlite_file(url)
    engine = create_async_engine(
        url,
        hide_parameters=True,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=BUSY_TIMEOUT_S,
        connect_args={"timeout": BUSY_TIMEOUT_S},
    )
    prepare_sqlite_connections(engine.sync_engine)
    return engine


def prepare_sqlite_connections(engine: Any) -> None:
    """Transactions under our own control: the driver would begin late, deferred, and not at all for DDL."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine, "begin")
    def begun(connection: Any) -> None:
        immediate = connection.get_execution_options().get("postern_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _postgres(url: URL, pool_size: int, silence: "Silence") -> AsyncEngine:
    return create_async_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=BUSY_TIMEOUT_S,
        pool_pre_ping=True,
        connect_args={
            "async_creator_fn": silence.connect,
            "connect_timeout": CONNECT_TIMEOUT_S,
            "tcp_user_timeout": TCP_SILENCE_MS,
            **KEPT_ALIVE,
            "application_name": "postern",
            "options": f"-c lock_timeout={BUSY_TIMEOUT_S}s -c idle_in_transaction_session_timeout=120s",
        },
    )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except PoolTimeout:
        raise Unavailable("all database connections are in use") from None
    except DBAPIError as error:
        if not is_away(error):
            raise
        if _is_full(error):
            raise DiskFull("the disk of the database is full: nothing can be changed until there is room") from error
        raise Unavailable("the database is not answering") from error


def _is_full(error: DBAPIError) -> bool:
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == "53100"


def is_away(error: DBAPIError) -> bool:
    """True if trying again may help: connection refused or lost, server shutting down, lock or deadlock, disk."""
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return error.connection_invalidated or (code is not None and code & 0xFF in _SQLITE_AWAY)
    # By name: the embedded default should not have to load PostgreSQL's driver.
    kinds = {kind.__name__ for kind in type(cause).__mro__ if kind.__module__.startswith("psycopg")}
    return error.connection_invalidated or bool(kinds & {"OperationalError", "InterfaceError"})


async def insert_or_change(
    connection: AsyncConnection,
    table: Table,
    values: Mapping[str, Any],
    *,
    key: Sequence[str],
    change: Mapping[str, Any],
    where: ColumnElement[bool] | None = None,
) -> bool:
    """True if a row was written: the new one, or the old one changed (only `where` it holds). Both engines spell it alike, and
    SQLAlchemy keeps it in two dialects."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = (
        dialect.insert(table)
        .values(values)
        .on_conflict_do_update(index_elements=list(key), set_=dict(change), where=where)
        .returning(*table.primary_key)
    )
    # By what comes back: the row count of an INSERT is not kept on PostgreSQL.
    return (await connection.execute(statement)).first() is not None
