"""A pool that is closed while work still gives its connections back."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from app.storage.engine import Database


async def test_a_connection_given_back_after_its_pool_was_closed_is_closed_too(tmp_path: Path):
    database = Database.open(f"sqlite:///{tmp_path}/pool.db")
    holding, enough = asyncio.Event(), asyncio.Event()
    opened: list[sqlite3.Connection] = []

    async def read() -> None:
        async with database.read() as connection:
            await connection.execute(text("SELECT 1"))
            raw = await connection.get_raw_connection()
            assert raw.driver_connection is not None
            opened.append(raw.driver_connection._conn)
            holding.set()
            await enough.wait()

    reading = asyncio.create_task(read())
    await holding.wait()
    closing = asyncio.create_task(database.dispose())
    await asyncio.sleep(0.05)
    enough.set()
    await asyncio.gather(reading, closing)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].total_changes  # noqa: B018
