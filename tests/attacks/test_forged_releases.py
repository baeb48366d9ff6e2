"""The worker draws what the ledger charged for, whatever somebody wrote into the table of releases."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.entry import Entry
from app.services.ledger.settle_release import settle_release
from app.services.releases import end_release, run_release
from app.services.releases.run_release import run_next_release
from app.storage import ledger_book
from app.storage.tables import datasets, releases
from tests.attacks.tampering import tampered
from tests.conftest import POSTGRES_DEEP
from tests.services.world import World, kinds_of

Forgery = Callable[[AsyncConnection], Awaitable[Any]]


def rewritten(column: str, old: str, new: str) -> Forgery:
    async def forge(connection: AsyncConnection) -> None:
        text = (await connection.execute(select(releases.c[column]))).scalar_one()
        assert old in text
        await connection.execute(update(releases).values({column: text.replace(old, new)}))

    return forge


def with_value(column: str, value: Any) -> Forgery:
    return lambda connection: connection.execute(update(releases).values({column: value}))


async def wider_schema(connection: AsyncConnection) -> None:
    columns = (await connection.execute(select(datasets.c.columns))).scalar_one()
    await connection.execute(update(datasets).values(columns=columns.replace("binary", "real")))


FORGERIES: dict[str, Forgery] = {
    "more samples": rewritten("mechanism", '"samples":5', '"samples":500'),
    "more samples, a cost to match": rewritten("cost", '"samples":5', '"samples":500'),
    "a colder posterior": rewritten("mechanism", '"temperature":1.0', '"temperature":0.001'),
    "a wider trim": rewritten("model", '"trim":0.05', '"trim":0.0005'),
    "fewer people": with_value("n", 2),
    "more rows a person": with_value("unit_rows", 50),
    "a cost that does not parse": with_value("cost", "{}"),
    "the law of an earlier version": rewritten("cost", '"law":2', '"law":1'),
    "another schema": wider_schema,
    "a check nobody paid for": with_value("fit_check", '{"delta":null,"epsilon":0.5}'),
}


@pytest.mark.cases(4)
@POSTGRES_DEEP
@pytest.mark.parametrize("name", FORGERIES)
async def test_a_rewritten_release_is_withdrawn_unread_and_its_charge_stands(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await world.dataset()
    requested = await world.request(dataset, mechanism={"kind": "baps", "samples": 5, "temperature": 1.0})
    spent = (await world.account(dataset)).spent
    monkeypatch.setattr(run_release, "dataset_source", _never)
    await tampered(world.runtime.database, FORGERIES[name])
    assert await run_next_release(world.runtime)
    found = await world.release(requested.id)
    assert (found.status, found.reason) == ("withdrawn", "not what the ledger charged for")
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert (await world.account(dataset)).spent == spent
    assert await world.samples(requested.id) is None
    assert await world.verified()


async def test_a_release_nobody_paid_for_is_withdrawn_unread(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a paid one was settled: its reservation is used up."""
    dataset = await world.dataset()
    paid = await world.published(dataset, samples=5)
    lines = await world.kinds(dataset)
    monkeypatch.setattr(run_release, "dataset_source", _never)
    async with world.runtime.database.write() as connection:
        row = (await connection.execute(select(releases))).mappings().one()
        pending = {"id": "rel_forged", "status": "pending", "stage": "reserved", "published_us": None}
        await connection.execute(insert(releases).values(dict(row) | pending))
    assert await run_next_release(world.runtime)
    assert not await run_next_release(world.runtime)
    assert (await world.release("rel_forged")).status == "withdrawn"
    assert (await world.release(paid)).status == "published"
    assert await world.kinds(dataset) == lines
    assert await world.samples("rel_forged") is None


async def test_a_reservation_settled_while_drawing_is_not_published(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await world.dataset()
    requested = await world.request(dataset, samples=5)

    async def gone(*_: object) -> list[Entry]:
        return []

    async def settled(*_: Any, **__: Any) -> bool:
        monkeypatch.setattr(ledger_book, "reservations", gone)
        return await settle_release(*_, **__)

    monkeypatch.setattr(end_release, "settle_release", settled)
    with pytest.raises(end_release.IntegrityFailure):
        await run_next_release(world.runtime)
    assert await world.samples(requested.id) is None


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "change",
    [
        {"model": "{}"},
        {"mechanism": "{}"},
        {"cost": "{}"},
        {"n": 1},
        {"unit_rows": 7},
        {"data_version": 7},
        {"created_us": 7},
        {"dataset_id": "ds_x"},
        {"created_by": "an_x"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_the_database_refuses_to_rewrite_a_waiting_release(world: World, change: dict[str, Any]) -> None:
    dataset = await world.dataset()
    requested = await world.request(dataset, samples=5)
    before = await world.release(requested.id)
    with pytest.raises(IntegrityError):
        async with world.runtime.database.write() as connection:
            await connection.execute(update(releases).values(change))
    assert await world.release(requested.id) == before


async def test_the_database_refuses_to_call_a_read_release_unread(world: World) -> None:
    """Else a failure after reading would take its charge back."""
    dataset = await world.dataset()
    await world.request(dataset, samples=5)
    async with world.runtime.database.write() as connection:
        await connection.execute(update(releases).values(stage="reading"))
    with pytest.raises(IntegrityError):
        async with world.runtime.database.write() as connection:
            await connection.execute(update(releases).values(stage="reserved"))


def _never(*_: object, **__: object) -> object:
    raise AssertionError("rows were read")
