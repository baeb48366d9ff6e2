"""A release of a table elsewhere: charged once whatever happens to the table, and voided only where no row was read."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog

from app.errors import DataMissing, InvalidSchema, Unavailable
from app.services.datasets.create_dataset import create_dataset
from app.services.reading.lines.moment_line import moment_line
from app.services.releases.run_release import ATTEMPTS_MAX, run_next_release
from app.storage import datasets
from tests.conftest import Backend
from tests.servers.postgres import PostgresServer
from tests.services.world import World, kinds_of, new_world, services, settings_for

COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
SOURCE = {"kind": "postgresql", "connection": "clinic", "table": "people", "rows_max": 500}
SECRET = "secret-0815"
_NAMES = itertools.count()


class Clinic:
    """A database with 400 people, and a reader of it."""

    def __init__(self, server: PostgresServer) -> None:
        self.name = server.create_database()
        self._url = server.url(self.name)
        self.role = f"clinic_{time.time_ns()}_{next(_NAMES)}"
        self.url = self._url.replace("//postern@", f"//{self.role}:{SECRET}@")
        self.do(
            f"CREATE ROLE {self.role} LOGIN PASSWORD '{SECRET}'",
            "CREATE TABLE people (cured boolean, days float8, name text)",
            "INSERT INTO people SELECT g < 130, g % 365, 'canary' FROM generate_series(0, 399) AS g",
            f"GRANT SELECT (cured, days) ON people TO {self.role}",
        )

    def do(self, *statements: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def close(self) -> None:
        self.do("DROP TABLE IF EXISTS people, persons CASCADE", f"DROP OWNED BY {self.role}", f"DROP ROLE {self.role}")


@pytest.fixture
def clinic(postgres_server: PostgresServer) -> Iterator[Clinic]:
    made = Clinic(postgres_server)
    yield made
    made.close()
    postgres_server.drop_database(made.name)


def settings(backend: Backend, folder: Path, clinic: Clinic) -> Any:
    return settings_for(backend, folder, connections={"clinic": clinic.url})


async def declared(world: World, **changes: Any) -> str:
    spec: dict[str, Any] = {
        "name": "clinic",
        "columns": COLUMNS,
        "budget": {"epsilon": 20.0, "delta": 1e-6},
        "source": SOURCE,
    }
    return (await create_dataset(world.runtime, steward=world.steward, spec=spec | changes)).id


@pytest.mark.slow
async def test_a_table_is_released_and_a_moved_one_keeps_its_charge(backend: Backend, tmp_path: Path, clinic: Clinic):
    async with services(settings(backend, tmp_path, clinic)) as runtime:
        world = await new_world(runtime)
        dataset = await declared(world)
        async with runtime.database.read() as connection:
            stored = await datasets.get_dataset(connection, dataset)
        assert stored is not None
        assert stored.n == 400
        assert stored.source == SOURCE
        assert "limit of 500 rows" in moment_line(stored)["text"]
        await world.published(dataset)
        assert await world.kinds(dataset) == ["open", "reserve", "commit"]
        spent = (await world.account(dataset)).spent

        requested = await world.request(dataset)
        clinic.do("INSERT INTO people VALUES (true, 1, '')")
        await world.work()
        moved = await world.release(requested.id)
        assert (moved.status, kinds_of(await world.entries(dataset), requested.id)) == (
            "withdrawn",
            ["reserve", "commit"],
        )
        assert (await world.account(dataset)).spent != spent
        clinic.do("DELETE FROM people WHERE name = ''")

        spent = (await world.account(dataset)).spent
        requested = await world.request(dataset)
        clinic.do(f"REVOKE SELECT (days) ON people FROM {clinic.role}")
        await world.work()
        lost = await world.release(requested.id)
        assert (lost.status, kinds_of(await world.entries(dataset), requested.id)) == ("withdrawn", ["reserve", "void"])
        assert (await world.account(dataset)).spent == spent
        assert await world.verified()


@pytest.mark.slow
async def test_a_database_that_is_away_takes_the_charge_back_after_some_tries(
    sqlite_backend: Backend, tmp_path: Path, clinic: Clinic
):
    now = [1_700_000_000_000_000]
    async with services(settings(sqlite_backend, tmp_path, clinic), clock=lambda: now[0]) as runtime:
        world = await new_world(runtime)
        dataset = await declared(world)
        requested = await world.request(dataset)
        clinic.do(f"ALTER ROLE {clinic.role} NOLOGIN")
        with structlog.testing.capture_logs() as told:
            for _ in range(ATTEMPTS_MAX):
                with pytest.raises(Unavailable):
                    await run_next_release(runtime)
                now[0] += 60_000_000
            assert await run_next_release(runtime)
        assert (await world.release(requested.id)).status == "withdrawn"
        assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "void"]
        assert SECRET not in str(told)
        assert clinic.role not in str(told)
        clinic.do(f"ALTER ROLE {clinic.role} LOGIN")
        await world.published(dataset)


async def test_a_connection_is_named_and_never_shown(sqlite_backend: Backend, tmp_path: Path, clinic: Clinic):
    chosen = settings(sqlite_backend, tmp_path, clinic)
    assert SECRET not in repr(chosen) + str(chosen.describe()) + str(chosen)
    assert chosen.describe()["POSTERN_CONNECTIONS"] == "clinic=***"
    async with services(chosen) as runtime:
        world = await new_world(runtime)
        with pytest.raises(InvalidSchema, match="connection"):
            await declared(world, source=SOURCE | {"connection": "other"})
        with pytest.raises(DataMissing) as caught:
            await declared(world, source=SOURCE | {"table": "nothing"})
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        dataset = await declared(world)
        for file in (tmp_path / "data").rglob("*"):
            assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
        assert SECRET not in str(await world.entries(dataset))
