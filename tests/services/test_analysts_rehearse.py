"""An analyst rehearses a dataset they have a right on: from what is public, as its owner, a few at a time."""

import asyncio
import json
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from app.errors import Conflict, Forbidden, InvalidInput, InvalidMechanism, NameTaken, NotFound
from app.services.datasets import change_dataset, read_dataset, rehearse_dataset, set_cap
from app.services.datasets.rehearse_dataset import CELLS_MAX, EVER_MAX, PRESENT_MAX
from app.services.principals import Rehearser
from app.services.reading.answer_query import answer_query
from app.services.releases import buy_access, rehearsal_limits, request_release
from app.services.releases.rehearsal_limits import RELEASES_MAX, VALUES_MAX, WAITING_MAX
from app.services.views import DatasetView
from app.storage import datasets, releases
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep
from tests.services.world import CAP, QUESTION, Person, World, release_spec, upload_files

pytestmark = POSTGRES_DEEP


async def rehearse(world: World, who: Person, dataset: str, **spec: Any) -> DatasetView:
    assert who.who.role in ("steward", "analyst")
    return await rehearse_dataset(world.runtime, principal=who.analyst, dataset_id=dataset, spec=spec)


async def analyst_with_cap(world: World) -> tuple[Person, str]:
    ada, dataset = await world.person("analyst", "ada"), await world.dataset()
    await world.cap(dataset, ada)
    return ada, dataset


@pytest.mark.parametrize("whole", [False, deep(True)])
async def test_the_same_code_runs_on_a_rehearsal_that_an_analyst_made(world: World, whole: bool) -> None:
    """The `whole` of it is also among every call (`tests/api/test_every_call_on_rehearsals.py`)."""
    ada, real = await analyst_with_cap(world)
    made = await rehearse(world, ada, real, n=60)
    assert (made.name, made.n, made.rehearsal, made.budget.epsilon) == ("rehearsal of trial", 60, True, CAP["epsilon"])
    owner = Rehearser.of(ada.analyst)
    if whole:
        asked = await request_release(world.runtime, steward=owner, dataset_id=made.id, spec=release_spec(4))
        await world.work()
        await buy_access(world.runtime, analyst=ada.analyst, release_id=asked.id, samples=2)
        answer = json.loads(await answer_query(world.runtime, reader=ada.reader, release_id=asked.id, body=QUESTION))
        assert (answer["samples"], answer["warnings"][0]["code"]) == (2, "rehearsal")
    assert isinstance(await read_dataset(world.runtime, principal=ada.who, dataset_id=made.id), DatasetView)
    for mine, spec in ((real, {"name": "x"}), (real, {"archived": True})):
        with pytest.raises(NotFound):
            await change_dataset(world.runtime, steward=owner, dataset_id=mine, spec=spec)
    bob = await world.person("analyst", "bob")
    with pytest.raises(Forbidden):
        await set_cap(world.runtime, steward=owner, dataset_id=made.id, principal_id=bob.id, spec=CAP)
    for unseen in (real, made.id):
        with pytest.raises(NotFound):
            await rehearse(world, bob, unseen)
    assert (await world.account(real)).spent == (await world.account(f"{ada.id}@{real}")).spent
    assert await world.verified()


async def test_rehearsals_of_an_analyst_are_few_and_small_however_many_ask_at_once(world: World) -> None:
    ada, real = await analyst_with_cap(world)
    with pytest.raises(InvalidInput) as refused:
        await rehearse(world, ada, real, n=CELLS_MAX)
    assert refused.value.problems[0].field == "n"
    made = await rehearse(world, ada, real, n=2, name="mine")
    async with world.runtime.database.write() as connection:
        stored = await datasets.get_dataset(connection, made.id)
        assert stored is not None
        for number in range(PRESENT_MAX - 2):
            copy = replace(stored, id=f"ds_rehearsal_{number}", name=f"copy {number}", upload_name=None)
            await datasets.insert_dataset(connection, copy)
    asked = [rehearse(world, ada, real, n=2, name=name) for name in ("a", "b")]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["Conflict", "DatasetView"]
    assert len(upload_files(world.runtime)) == 3
    owner = Rehearser.of(ada.analyst)
    await change_dataset(world.runtime, steward=owner, dataset_id=made.id, spec={"archived": True})
    async with world.runtime.database.write() as connection:
        for number in range(EVER_MAX - PRESENT_MAX):
            copy = replace(stored, id=f"ds_rehearsal_old{number}", name=f"old {number}", archived_us=1)
            await datasets.insert_dataset(connection, copy)
    with pytest.raises(Conflict) as ended:
        await rehearse(world, ada, real, n=2)
    assert ended.value.facts["rehearsals_max"] == EVER_MAX


async def test_releases_of_an_analysts_rehearsal_are_few_and_small(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, real = await analyst_with_cap(world)
    made = await rehearse(world, ada, real, n=20)
    owner = Rehearser.of(ada.analyst)

    async def ask(samples: int) -> str:
        spec = {"model": release_spec()["model"], "mechanism": {"kind": "laplace", "epsilon": 0.2, "samples": samples}}
        return (await request_release(world.runtime, steward=owner, dataset_id=made.id, spec=spec)).id

    with pytest.raises(InvalidMechanism) as large:
        await ask(VALUES_MAX + 1)
    assert large.value.problems[0].field == "mechanism.samples"
    monkeypatch.setattr(rehearsal_limits, "SECONDS_MAX", 0.0)
    with pytest.raises(Conflict, match="works for"):
        await ask(2)
    monkeypatch.undo()
    waiting = [await ask(2) for _ in range(WAITING_MAX)]
    with pytest.raises(Conflict):
        await ask(2)
    first = await world.release(waiting[0])
    async with world.runtime.database.write() as connection:
        for name in waiting:
            assert await releases.cancel(connection, name)
        for number in range(RELEASES_MAX - WAITING_MAX):
            ended = replace(first, id=f"rel_rehearsal_{number}", status="withdrawn", stage="done", reason="copied")
            await releases.insert_release(connection, ended)
    with pytest.raises(Conflict) as refused:
        await ask(2)
    assert str(RELEASES_MAX) in refused.value.detail


async def test_a_name_that_is_taken_is_refused_before_rows_are_made_and_a_cap_settles(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, real = await analyst_with_cap(world)
    made = await rehearse(world, ada, real, n=3)
    monkeypatch.setattr(import_module("app.services.datasets.create_dataset"), "make_rows", None)
    with pytest.raises(NameTaken):
        await rehearse(world, ada, real, n=3)
    monkeypatch.setattr(import_module("app.services.datasets.set_cap"), "REHEARSED_MAX", 3)
    owner = Rehearser.of(ada.analyst)

    async def cap(epsilon: float) -> None:
        spec = CAP | {"epsilon": epsilon}
        await set_cap(world.runtime, steward=owner, dataset_id=made.id, principal_id=ada.id, spec=spec)

    before = await world.account(f"{ada.id}@{made.id}")
    await cap(before.epsilon)
    assert await world.account(f"{ada.id}@{made.id}") == before
    await cap(1.0)
    await cap(1.1)
    with pytest.raises(Conflict, match="for ever"):
        await cap(1.2)
