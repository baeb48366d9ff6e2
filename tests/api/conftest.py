"""The whole service in one process, on both backends, driven over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from app.main import create_app
from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.people.verify_key import verify_key
from app.services.principals import Role
from app.settings import Settings
from tests.conftest import Backend
from tests.services.fixtures import runtime, second_runtime, settings, world
from tests.services.world import Person, World

__all__ = ["runtime", "second_runtime", "settings", "world"]

COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
QUESTION = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}, "confidence": 0.95}
PEOPLE: dict[str, Role] = {"steward": "steward", "ada": "analyst", "wall": "dashboard", "eve": "auditor"}
ROWS = "cured,days\n" + "".join(f"{int(row % 3 == 0)},{row % 365}\n" for row in range(1000))


@dataclass
class Service:
    """A running service and people who hold keys to it."""

    app: FastAPI
    client: httpx.AsyncClient
    tokens: dict[str, str] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)

    async def add(self, name: str, role: Role) -> None:
        runtime = self.app.state.runtime
        person = await create_principal(runtime, role=role, name=name, created_by=None)
        key = await create_key(runtime, actor=None, principal_id=person.id, label=name, expires_us=None)
        assert key.token is not None
        self.people[name], self.tokens[name] = person.id, key.token

    async def call(self, who: str | None, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return await self.client.request(method, f"/v1{path}", json=json, headers=headers, **more)

    async def expect(self, status: int, who: str | None, method: str, path: str, json: Any = None, **more: Any) -> Any:
        answer = await self.call(who, method, path, json, **more)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def dataset(self, name: str = "trial", epsilon: float = 20.0) -> str:
        budget = {"epsilon": epsilon, "delta": 1e-6}
        body = {"name": name, "columns": COLUMNS, "budget": budget, "source": {"kind": "upload", "retain": True}}
        made = await self.expect(201, "steward", "POST", "/datasets", body)
        headers = {"Content-Type": "text/csv"}
        await self.expect(200, "steward", "PUT", f"/datasets/{made['id']}/data", content=ROWS.encode(), headers=headers)
        return str(made["id"])

    async def release(self, dataset: str, samples: int = 100, temperature: float = 1.0) -> str:
        mechanism = {"kind": "baps", "samples": samples, "temperature": temperature}
        body = {"model": MODEL, "mechanism": mechanism}
        made = await self.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", body)
        return await self.settled(str(made["id"]))

    async def settled(self, release: str) -> str:
        for _ in range(1_000):
            found = await self.expect(200, "steward", "GET", f"/releases/{release}")
            if found["status"] != "pending":
                assert found["status"] == "published", found
                return release
            await asyncio.sleep(0.03)
        raise AssertionError("the release is still pending")


@dataclass(frozen=True, slots=True)
class Published:
    """A release of a hundred samples for tests that only read it, and the people it belongs to."""

    service: Service
    dataset: str
    release: str
    world: World
    """The same steward, below HTTP."""


def settings_on(backend: Backend, folder: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "data_dir": folder / "data",
        "database_url": backend.database_url,
        "redis_url": backend.redis_url,
        "embedded_worker": True,
        "rights_poll_s": 0.1,
        "database_silence_s": 60,  # the loop of a service that is shared stands still while other tests run
        "publication_tick_s": 0.01,
        "publication_pace": 1e-6,
    }
    return Settings(**(values | changes))


@asynccontextmanager
async def started(chosen: Settings) -> AsyncIterator[Service]:
    app = create_app(chosen)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield await with_people(Service(app, client))


async def with_people(service: Service) -> Service:
    """The same service among people nobody knows yet."""
    fresh = Service(service.app, service.client)
    for name, role in PEOPLE.items():
        await fresh.add(name, role)
    return fresh


@pytest.fixture
def api_settings(backend: Backend, tmp_path: Path) -> Settings:
    return settings_on(backend, tmp_path)


@pytest.fixture
async def own_service(api_settings: Settings) -> AsyncIterator[Service]:
    """For tests that count everything there is, or that change the service itself."""
    async with started(api_settings) as running:
        yield running


@asynccontextmanager
async def shared_with_everybody(backend: Backend, folder: Path) -> AsyncIterator[Published]:
    """Without limits: hundreds of tests come from one address."""
    unlimited = {"rate_limit_per_s": 0, "rate_limit_heavy_per_s": 0, "auth_failures_per_s": 0}
    async with started(settings_on(backend, folder, **unlimited)) as running:
        dataset = await running.dataset()
        release, token = await running.release(dataset), running.tokens["steward"]
        steward = Person(await verify_key(running.app.state.runtime, token=token), token)
        yield Published(running, dataset, release, World(running.app.state.runtime, steward))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_sqlite_service(
    shared_sqlite: Backend, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Published]:
    async with shared_with_everybody(shared_sqlite, tmp_path_factory.mktemp("shared-sqlite")) as published:
        yield published


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_postgres_service(
    shared_postgres: Backend, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Published]:
    async with shared_with_everybody(shared_postgres, tmp_path_factory.mktemp("shared-postgres")) as published:
        yield published


@pytest.fixture
def published(request: pytest.FixtureRequest, shared_backend: Backend) -> Published:
    """One service and one release for the whole run. Keys made for a test are the test's own."""
    found: Published = request.getfixturevalue(f"shared_{shared_backend.name}_service")
    people = Service(found.service.app, found.service.client, dict(found.service.tokens), dict(found.service.people))
    return replace(found, service=people)


@pytest.fixture
def known(published: Published) -> Service:
    """The shared service among the people all tests share: for tests that make nothing."""
    return published.service


@pytest_asyncio.fixture(loop_scope="session")
async def service(published: Published) -> Service:
    """The shared service among people of the test's own, who have no datasets yet."""
    return await with_people(published.service)
