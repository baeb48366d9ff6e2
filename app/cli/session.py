"""Services for the length of one command."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from app.errors import Unavailable

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime
    from app.settings import Settings

T = TypeVar("T")


def with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Open the services, do the work, close them. The database is prepared as `serve` would prepare it."""
    from app.services.runtime.runtime import open_runtime
    from app.settings import Settings

    settings = Settings()
    prepare_database(settings)

    async def session() -> T:
        runtime = await open_runtime(settings)
        try:
            return await work(runtime)
        finally:
            await runtime.close()

    return asyncio.run(session())


def prepare_database(settings: Settings) -> None:
    """SQLite is migrated on the spot. A shared PostgreSQL is not: other versions may still be running on it."""
    from app.storage.migrate import upgrade

    if settings.uses_sqlite:
        upgrade(settings.database_url)
    elif not asyncio.run(_is_current(settings.database_url)):
        raise Unavailable("the database is not at this version's schema; run `postern migrate` first")


async def _is_current(url: str) -> bool:
    from app.storage.engine import Database
    from app.storage.migrate import is_current

    database = Database.open(url)
    try:
        return await is_current(database)
    finally:
        await database.dispose()
