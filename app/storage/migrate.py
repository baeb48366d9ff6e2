"""Bringing a database to the present schema, safely when several processes start at once.

The scripts live in the top-level `migrations/`; in an installed package they are beside this file.
"""

from functools import lru_cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import NullPool

from app.errors import ProgramTooOld, Unavailable
from app.storage.database_url import (
    BUSY_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    is_sqlite,
    parse_database_url,
    prepare_sqlite_file,
    sync_url,
)
from app.storage.engine import Database, is_away, prepare_sqlite_connections

_ADVISORY_LOCK = 0x706F737465726E  # "postern"


def upgrade(url: str) -> str:
    """Run what is missing and return the revision; does nothing, quickly, if nothing is missing.

    Blocking. Everything happens in one transaction under a lock (BEGIN IMMEDIATE, or an advisory lock on
    PostgreSQL), so of several processes one migrates and the others find it done.
    """
    engine = blocking_engine(parse_database_url(url))
    try:
        with engine.connect() as connection:
            found = _revision(connection)
            if found == head_revision():
                return head_revision()
            if not _is_known(found):
                raise ProgramTooOld
        with engine.execution_options(postern_write=True).begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        if not is_away(error):
            raise
        raise Unavailable("the database is not answering") from error
    finally:
        engine.dispose()
    return head_revision()


async def is_current(database: Database) -> bool:
    """True if the database has exactly the revision this code was written for. Raises ProgramTooOld where it has one that this
    code has never heard of."""
    async with database.read() as connection:
        found = await connection.run_sync(_revision)
    if not _is_known(found):
        raise ProgramTooOld
    return found == head_revision()


async def require_current(connection: AsyncConnection) -> None:
    """In the transaction of a charge: whoever migrates waits until it has ended, and afterwards this code charges no more.

    Raises ProgramTooOld, or Unavailable on an older database that took this one's place.
    """
    locked = " FOR SHARE" if connection.dialect.name == "postgresql" else ""
    found = (await connection.execute(text(f"SELECT version_num FROM alembic_version{locked}"))).scalar()  # noqa: S608
    if found == head_revision():
        return
    if not _is_known(found):
        raise ProgramTooOld
    raise Unavailable("the database is not at this version's schema; run `postern migrate` first")


def _is_known(revision: str | None) -> bool:
    return revision is None or revision in _known_revisions()


@lru_cache(maxsize=1)
def _known_revisions() -> frozenset[str]:
    return frozenset(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


@lru_cache(maxsize=1)
def head_revision() -> str:
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise FileNotFoundError("no migration scripts found")
    return head


def migrations_folder() -> Path:
    here = Path(__file__).resolve()
    installed = here.parent / "migrations"
    return installed if installed.is_dir() else here.parents[2] / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    return config


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def blocking_engine(url: URL) -> Engine:
    """A synchronous engine without a pool, for migrations only."""
    if not is_sqlite(url):
        return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    prepare_sqlite_file(url)
    engine = create_engine(sync_url(url), poolclass=NullPool, connect_args={"timeout": BUSY_TIMEOUT_S})
    prepare_sqlite_connections(engine)
    return engine
