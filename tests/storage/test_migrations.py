"""The schema: made by hand in migrations, described in tables, the same on both engines."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from app.cli.session import prepare_database
from app.errors import ProgramTooOld, Unavailable
from app.ledger.hash_chain import GENESIS
from app.services.runtime.check_readiness import check_readiness, is_ready
from app.storage.audits.table import audits  # noqa: F401 (so that its table is known)
from app.storage.database_url import parse_database_url
from app.storage.engine import Database
from app.storage.ledger_heads import read_stored
from app.storage.migrate import blocking_engine, head_revision, is_current, upgrade
from app.storage.tables import metadata
from tests.conftest import Backend
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.services.world import new_world, services, settings_for


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)


async def test_upgrading_twice_changes_nothing(empty_url: str) -> None:
    database = Database.open(empty_url)
    for _ in range(2):
        assert await asyncio.to_thread(upgrade, empty_url) == head_revision()
        assert await is_current(database)
    await database.dispose()


async def test_a_database_without_migrations_is_not_current(empty_url: str) -> None:
    database = Database.open(empty_url)
    assert not await is_current(database)
    await asyncio.to_thread(upgrade, empty_url)
    assert await is_current(database)
    async with database.read() as connection:
        assert (await read_stored(connection)).head == GENESIS
    await database.dispose()


def test_processes_that_start_together_migrate_once(empty_url: str) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["app.storage.migrate"])
    with context.Pool(4) as pool:
        assert pool.map(upgrade, [empty_url] * 4) == [head_revision()] * 4


async def test_a_program_older_than_its_database_says_so_and_charges_nothing(backend: Backend, tmp_path: Path) -> None:
    """Migrated by a later version under a process that was serving, and then started again by hand."""
    settings = settings_for(backend, tmp_path)
    async with services(settings) as runtime:
        world = await new_world(runtime)
        dataset = await world.dataset()
        async with runtime.database.write() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(ProgramTooOld, match="older than the database"):
            await world.request(dataset)
        checks = await check_readiness(runtime)
        assert not is_ready(checks)
        assert "older than the database" in checks["migrations"]["detail"]
        assert checks["database"]["ok"]
        assert await world.kinds(dataset) == ["open"]
    with pytest.raises(ProgramTooOld):
        await asyncio.to_thread(upgrade, backend.database_url)
    with pytest.raises(ProgramTooOld):
        await asyncio.to_thread(prepare_database, settings)


def test_an_unreachable_server_is_unavailable_to_migrations() -> None:
    with pytest.raises(Unavailable):
        upgrade(f"postgresql://x@127.0.0.1:{free_port()}/x")


def _texts(options: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}


def _described(connection: Connection) -> dict[str, object]:
    """Tables with their checks, uniques and foreign keys, as the engine itself tells them."""
    found = inspect(connection)
    tables = sorted(set(found.get_table_names()) - {"alembic_version"})
    return {
        table: (
            sorted(
                (check["name"], check["sqltext"].replace("\n", "").split())
                for check in found.get_check_constraints(table)
            ),
            sorted((unique["name"], unique["column_names"]) for unique in found.get_unique_constraints(table)),
            sorted((key["constrained_columns"], key["referred_table"]) for key in found.get_foreign_keys(table)),
            sorted(
                (index["name"], index["column_names"], _texts(index.get("dialect_options", {})))
                for index in found.get_indexes(table)
            ),
            found.get_pk_constraint(table)["constrained_columns"],
        )
        for table in tables
    }


def test_the_migrated_schema_is_the_one_the_code_describes(
    empty_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    upgrade(empty_url)
    engine = blocking_engine(parse_database_url(empty_url))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        migrated = _described(connection)
    if engine.dialect.name == "sqlite":
        other = f"sqlite:///{tmp_path / 'described.db'}"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        other = server.url(server.create_database())
    described_engine = blocking_engine(parse_database_url(other))
    with described_engine.begin() as connection:
        metadata.create_all(connection)
        assert migrated == _described(connection)
