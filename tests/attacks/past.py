"""A ledger with some history whose head was seen, its earlier states, and ways to put another one in its place."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.signed_head import Act
from app.ledger.trust import TrustFault
from app.services.ledger.accept_head import accept_head
from app.services.ledger.read_ledger import read_head
from app.services.ledger.watch_ledger import check_ledger_on_start, remember_head
from app.services.runtime.runtime import Runtime
from app.settings import Settings
from app.storage.engine import Database
from app.storage.signing_keys import KEY_FILE
from app.storage.tables import ledger_acts
from tests.attacks import tampering
from tests.attacks.kept_installations import ENGINES, KeptInstallations
from tests.services.world import Person, new_world, over_http, release_spec, services

REASON = "the disk died; the board decided to go on from the newest backup"


@dataclass(frozen=True, slots=True)
class Past:
    """A ledger with a release, a buyer and a second release, whose head was seen; and its state in between."""

    settings: Settings
    boss: Person
    buyer: Person
    dataset: str
    old_release: str
    new_release: str
    yesterday: tampering.Rows
    last_week: tampering.Rows


async def make_past(settings: Settings) -> Past:
    async with services(settings) as runtime:
        await check_ledger_on_start(runtime)
        world = await new_world(runtime)
        dataset = await world.dataset()
        last_week = await tampering.backup(runtime.database)
        old = await world.published(dataset, samples=5)
        buyer = await world.buyer(dataset, old, 3)
        await remember_head(runtime)
        yesterday = await tampering.backup(runtime.database)
        new = await world.published(dataset, samples=4)
        await remember_head(runtime)
    return Past(settings, world.boss, buyer, dataset, old, new, yesterday, last_week)


@pytest.fixture(params=ENGINES)
def past(request: pytest.FixtureRequest, kept_installations: KeptInstallations) -> Past:
    return kept_installations.put_back(request, make_past)


@asynccontextmanager
async def started(past: Past) -> AsyncIterator[tuple[Runtime, httpx.AsyncClient]]:
    async with services(past.settings) as runtime:
        await check_ledger_on_start(runtime)
        async with over_http(runtime) as client:
            yield runtime, client


async def behind_its_back(past: Past, *steps: Callable[[AsyncConnection], Awaitable[Any]]) -> None:
    database = Database.open(past.settings.database_url)
    await tampering.tampered(database, *steps)
    await database.dispose()


async def bring_back(past: Past, rows: tampering.Rows) -> None:
    database = Database.open(past.settings.database_url)
    await tampering.restore(database, rows)
    await database.dispose()


async def planted(past: Past, acts: list[dict[str, Any]]) -> None:
    """Acts from elsewhere among those the database has."""

    async def insert_acts(connection: AsyncConnection) -> None:
        await connection.execute(tampering.insert(ledger_acts), acts)

    await behind_its_back(past, insert_acts)


async def current(past: Past) -> tampering.Rows:
    database = Database.open(past.settings.database_url)
    rows = await tampering.backup(database)
    await database.dispose()
    return rows


def machine(past: Past, folder: Path, *, witnesses: bool = False) -> Past:
    """The same installation, with its key, on another machine without Redis: with what is on disk, or knowing nothing."""
    folder.mkdir()
    shutil.copy(past.settings.data_dir / KEY_FILE, folder / KEY_FILE)
    if witnesses:
        shutil.copytree(past.settings.data_dir / "ledger", folder / "ledger")
    return replace(past, settings=past.settings.model_copy(update={"data_dir": folder, "redis_url": None}))


async def accepted(past: Past) -> Act:
    async with services(past.settings) as operator:
        head = await read_head(operator)
        return await accept_head(operator, head=f"{head.sequence}:{head.digest}", actor="ops", reason=REASON)


async def fault_at_start(past: Past) -> TrustFault | None:
    async with started(past) as (runtime, _):
        return runtime.notary.fault


async def verification(client: httpx.AsyncClient, past: Past) -> dict[str, Any]:
    answer = await client.post("/v1/ledger/verify", headers=past.boss.headers)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def charging(client: httpx.AsyncClient, past: Past) -> httpx.Response:
    return await client.post(
        f"/v1/datasets/{past.dataset}/releases", json=release_spec(samples=2), headers=past.boss.headers
    )
