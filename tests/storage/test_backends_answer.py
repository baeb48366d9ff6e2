"""Both backends come up fresh, migrated and private; what is away says so."""

import asyncio
import contextlib
import logging
import stat
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.errors import InvalidInput, PosternError, Unavailable
from app.storage.cache import Cache
from app.storage.engine import Database
from app.storage.installation import bump_epoch, get_epoch
from app.storage.migrate import is_current, upgrade
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.storage.populated import add_principal


async def test_a_fresh_database_answers_and_is_current(database: Database) -> None:
    await database.ping()
    assert await is_current(database)


async def test_the_cache_answers(cache: Cache) -> None:
    assert await cache.ping()


async def test_a_write_is_there_for_others_and_a_failed_one_never_was(database: Database) -> None:
    async with database.write() as connection:
        await bump_epoch(connection)

    async def change_and_fail() -> None:
        async with database.write() as connection:
            await bump_epoch(connection)
            raise PosternError("changed my mind")

    with pytest.raises(PosternError):
        await change_and_fail()
    async with database.read() as connection:
        assert await get_epoch(connection) == 1


async def test_a_read_sees_one_snapshot_while_others_write(database: Database) -> None:
    async with database.read() as connection:
        before = await get_epoch(connection)
        async with database.write() as writing:
            await bump_epoch(writing)
        assert await get_epoch(connection) == before
    async with database.read() as connection:
        assert await get_epoch(connection) == before + 1


async def test_what_a_read_writes_is_never_kept(database: Database) -> None:
    with contextlib.suppress(DBAPIError):  # PostgreSQL refuses at once
        async with database.read() as connection:
            await bump_epoch(connection)
    async with database.read() as connection:
        assert await get_epoch(connection) == 0


async def test_a_cancelled_writer_leaves_nothing_and_blocks_nobody(database: Database) -> None:
    entered = asyncio.Event()

    async def hang() -> None:
        async with database.write() as connection:
            await bump_epoch(connection)
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(hang())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with database.write() as connection:
        await bump_epoch(connection)
        assert await get_epoch(connection) == 1


async def test_forty_writers_queue_without_losing_an_update(database: Database) -> None:
    async def write() -> None:
        async with database.write() as connection:
            await bump_epoch(connection)

    await asyncio.gather(*(write() for _ in range(40)))
    async with database.read() as connection:
        assert await get_epoch(connection) == 40


async def test_foreign_keys_hold_on_both_engines(database: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        async with database.write() as connection:
            await connection.execute(text("INSERT INTO grants VALUES ('an_x', 'ds_x', NULL, 0)"))


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "nonsense", ""])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        Database.open(url)


async def test_a_server_that_is_away_is_unavailable() -> None:
    database = Database.open(f"postgresql://nobody@127.0.0.1:{free_port()}/nothing")
    with pytest.raises(Unavailable):
        await database.ping()
    with pytest.raises(Unavailable):
        async with database.write() as connection:
            await connection.execute(text("SELECT 1"))
    await database.dispose()


async def test_lost_connections_are_unavailable_once_and_then_replaced(postgres_server: PostgresServer) -> None:
    name = postgres_server.create_database()
    database = Database.open(postgres_server.url(name))
    kill = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(Unavailable):
        async with database.write() as connection:
            await connection.execute(kill)
    await database.ping()
    await database.dispose()
    postgres_server.drop_database(name)


async def test_a_file_that_another_process_holds_too_long_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.engine.BUSY_TIMEOUT_S", 0.05)
    url = f"sqlite:///{tmp_path / 'p.db'}"
    upgrade(url)
    ours, theirs = Database.open(url), Database.open(url)
    async with theirs.write():
        with pytest.raises(Unavailable):
            async with ours.write() as connection:
                await bump_epoch(connection)
        async with ours.read() as connection:
            assert await get_epoch(connection) == 0
    await ours.dispose()
    await theirs.dispose()


def test_a_file_that_is_no_database_and_a_folder_in_its_place_are_unavailable_at_once(tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("Dear database, " * 100)
    (tmp_path / "folder.db").mkdir()
    for name in ("letter.db", "folder.db", "letter.db/inside.db"):
        with pytest.raises(Unavailable):
            Database.open(f"sqlite:///{tmp_path / name}")


async def test_the_embedded_files_are_private_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "new" / "postern.db"
    upgrade(f"sqlite:///{path}")
    path.chmod(0o644)
    database = Database.open(f"sqlite:///{path}")
    async with database.write() as connection:
        await add_principal(connection, "steward")
        mode = (await connection.execute(text("PRAGMA journal_mode"))).scalar_one()
        durable = (await connection.execute(text("PRAGMA synchronous"))).scalar_one()
    assert (mode, durable) == ("wal", 2)
    files = [path, path.with_name("postern.db-wal"), path.with_name("postern.db-shm")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await database.dispose()


async def test_no_parameter_reaches_logs_or_errors(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with database.write() as connection:
            await add_principal(connection, "canary4711")
        with pytest.raises(Exception, match="hidden") as failed:
            async with database.write() as connection:
                await connection.execute(text("SELECT nothing FROM nowhere WHERE x = :x"), {"x": "canary4711"})
    assert "canary4711" not in caplog.text + str(failed.value)
