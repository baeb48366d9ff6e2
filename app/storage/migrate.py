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
from sqlalchemy.pool import NullPool

from app.errors import Unavailable
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
            if _revision(connection) == head_revision():
                return head_revision()
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
    """True if the database has exactly the revision this code was written for."""
    async with database.read() as connection:
        return await connection.run_sync(_revision) == head_revision()


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
