"""Installations with a history, made once a run and engine, and put back for every test."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from app.settings import Settings
from tests.conftest import Backend, note_backend
from tests.servers.database_lot import DatabaseLot
from tests.servers.kept_place import Folder, Kept, KeptPlace
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer
from tests.services.world import settings_for

T = TypeVar("T")
ENGINES = ["sqlite", "postgres"]


class KeptInstallations:
    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._session = request
        self._made: dict[tuple[str, object], tuple[Backend, KeptPlace[Any]]] = {}

    def put_back(self, request: pytest.FixtureRequest, make: Callable[[Settings], Awaitable[T]]) -> T:
        """What `make` left on the engine that the fixture was asked for."""
        key = (request.param, make)
        if key not in self._made:
            self._made[key] = self._make(request.param, make)
        backend, place = self._made[key]
        note_backend(request, backend)
        value: T = place.put_back()
        return value

    def _make(self, engine: str, make: Callable[[Settings], Awaitable[T]]) -> tuple[Backend, KeptPlace[T]]:
        factory: pytest.TempPathFactory = self._session.getfixturevalue("tmp_path_factory")
        folder = factory.mktemp("installation") / "here"
        folder.mkdir()
        backend, *servers = self._on_postgres() if engine == "postgres" else self._on_sqlite(folder)
        settings = settings_for(backend, folder)

        async def made() -> T:
            return await make(settings)

        return backend, KeptPlace(lambda: asyncio.run(made()), Folder(folder), *servers)

    def _on_sqlite(self, folder: Path) -> tuple[Backend, *tuple[Kept, ...]]:
        shutil.copyfile(self._session.getfixturevalue("migrated_file"), folder / "postern.db")
        return (Backend("sqlite", f"sqlite:///{folder / 'postern.db'}", None),)

    def _on_postgres(self) -> tuple[Backend, *tuple[Kept, ...]]:
        lot: DatabaseLot = self._session.getfixturevalue("database_lot")
        server: PostgresServer = self._session.getfixturevalue("postgres_server")
        redis: ValkeyServer = self._session.getfixturevalue("redis_server")
        name = lot.take()
        redis.flush()
        return Backend("postgres", server.url(name), redis.url), lot.contents(name), redis


@pytest.fixture(scope="session")
def kept_installations(request: pytest.FixtureRequest) -> KeptInstallations:
    return KeptInstallations(request)
