"""One budget for the same people: charged with every dataset, exceeded by none of them, never left."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from app.errors import BudgetExhausted, Conflict, InvalidInput, LedgerUntrusted, NameTaken, NotFound
from app.services.datasets import (
    change_dataset,
    change_population,
    create_dataset,
    create_population,
    delete_dataset,
    delete_population,
    list_populations,
    read_dataset,
    read_population,
)
from app.services.ledger import read_population_ledger, recost_ledger
from app.services.plans.plan_together import plan_together
from app.services.reading.read_card import read_card
from app.services.releases import cancel_release
from app.services.runtime.runtime import Runtime
from app.services.views import PublicDatasetView
from app.storage.tables import datasets as datasets_table
from tests.attacks.tampering import tampered
from tests.conftest import POSTGRES_DEEP, SQLITE_DEEP
from tests.deep import deep
from tests.services.world import COLUMNS, MODEL, World

BUDGET = {"epsilon": 20.0, "delta": 1e-6}


async def change(world: World, dataset: str, **spec: Any) -> Any:
    return await change_dataset(world.runtime, steward=world.steward, dataset_id=dataset, spec=spec)


async def spent(world: World, *names: str) -> list[Any]:
    return [(await world.account(name)).spent for name in names]


@POSTGRES_DEEP
async def test_every_charge_of_its_datasets_is_on_the_populations_account_and_on_the_card(world: World) -> None:
    shared = await world.population(epsilon=12.0, delta=1e-5)
    first, second = await world.dataset("a", population="people"), await world.dataset("b", population=shared)
    released = await world.published(first)
    requested = await world.request(second, samples=7)
    own = await spent(world, first, second)
    assert await spent(world, shared) == [own[0].plus(own[1])]
    await cancel_release(world.runtime, steward=world.steward, release_id=requested.id)
    assert await spent(world, shared) == [own[0]]
    lines = await read_population_ledger(
        world.runtime, overseer=world.steward, population_id=shared, cursor=None, limit=50
    )
    assert [line.kind for line in lines.items] == ["open", "reserve", "commit", "reserve", "void"]
    assert [line.event.get("dataset") for line in lines.items] == [None, first, None, second, None]
    assert (await world.kinds(first)) == ["open", "reserve", "commit"]
    ada = await world.buyer(first, released, 5)
    card = await read_card(world.runtime, principal=ada.who, release_id=released)
    (line,) = [line for line in card["lines"] if line["name"] == "population"]
    assert line["value"] == {"id": shared, "name": "people", "epsilon": 12.0, "delta": 1e-5}
    assert "'people'" in card["not_promised"][0]
    seen = await read_dataset(world.runtime, principal=ada.who, dataset_id=first)
    assert isinstance(seen, PublicDatasetView)
    assert seen.population == {"id": shared, "name": "people"}
    recoster, charges = await recost_ledger(world.runtime)
    assert {charge.account for charge in charges} == {first, second, shared, f"{ada.id}@{first}"}
    assert recoster.counts["exact"] == len(charges) == 5
    assert await world.verified()


@POSTGRES_DEEP
@pytest.mark.parametrize("planned", [False, deep(True)])
async def test_what_fits_a_dataset_is_refused_when_its_population_is_empty_and_plans_know(
    world: World, planned: bool
) -> None:
    probe = await world.dataset("probe")
    await world.request(probe, samples=6)
    whole = (await world.account(probe)).spent
    shared = await world.population(epsilon=whole.pure_nano / 1e9 * 1.51, delta=0.0)
    first, second = await world.dataset("a", population=shared), await world.dataset("b", population=shared)
    await world.request(first, samples=6)
    with pytest.raises(BudgetExhausted) as refused:
        await world.request(second, samples=6)
    facts = refused.value.facts
    assert (facts["account"], facts["population"], facts["dataset"]) == ("population", shared, second)
    assert facts["samples_affordable"] == 3
    if not planned:
        return
    plan = {"models": [{"model": MODEL, "mechanism": {"kind": "auto"}}], "account": second}
    told = await plan_together(world.runtime, principal=world.steward, spec=plan)
    assert told["population"]["id"] == shared
    assert told["models"][0]["epsilon"] <= told["population"]["epsilon"] - whole.pure_nano / 1e9
    assert told["population"]["spent_epsilon"] <= told["population"]["epsilon"]


@POSTGRES_DEEP
async def test_a_dataset_joins_and_leaves_until_something_was_charged_to_it(world: World) -> None:
    shared, other = await world.population(), await world.population("others")
    dataset = await world.dataset("a")
    with pytest.raises(NameTaken):
        await world.population()
    assert (await change(world, dataset, population="people")).population == {"id": shared, "name": "people"}
    with pytest.raises(Conflict):
        await delete_population(world.runtime, steward=world.steward, population_id=shared)
    assert (await change(world, dataset, population=None)).population is None
    await change(world, dataset, population=other)
    requested = await world.request(dataset)
    await cancel_release(world.runtime, steward=world.steward, release_id=requested.id)
    for elsewhere in (None, shared):
        with pytest.raises(Conflict):
            await change(world, dataset, population=elsewhere)
    assert (await change(world, dataset, population="others", description="as it is")).population["id"] == other
    await change(world, dataset, archived=True)
    view = await read_population(world.runtime, steward=world.steward, population_id=other)
    assert view.datasets == [dataset]
    with pytest.raises(Conflict):
        await change(world, await _charged_dataset(world), population=shared)
    await delete_population(world.runtime, steward=world.steward, population_id=shared)
    assert await world.population() != shared
    assert await world.verified()


async def _charged_dataset(world: World) -> str:
    dataset = await world.dataset("charged")
    await world.request(dataset)
    return dataset


@POSTGRES_DEEP
async def test_a_population_is_renamed_wherever_it_shows_and_its_account_never_changes(world: World) -> None:
    shared, other = await world.population(), await world.population("others")
    dataset = await world.dataset("a", population=shared)
    released = await world.published(dataset)
    before, card = (
        await spent(world, shared),
        await read_card(world.runtime, principal=world.steward, release_id=released),
    )

    async def renamed(population: str, **spec: Any) -> Any:
        return await change_population(world.runtime, steward=world.steward, population_id=population, spec=spec)

    assert (await renamed(shared, name="patients", description="since 2020")).name == "patients"
    assert (await renamed(shared, description=None)).name == "patients"
    with pytest.raises(NameTaken):
        await renamed(other, name="patients")
    for name in ("", "two\nlines", "x" * 201):
        with pytest.raises(InvalidInput):
            await renamed(shared, name=name)
    stranger = World(world.runtime, await world.person("steward", "mallory"))
    with pytest.raises(NotFound):
        await change_population(world.runtime, steward=stranger.steward, population_id=shared, spec={"name": "mine"})
    after = await read_card(world.runtime, principal=world.steward, release_id=released)
    (line,) = [line for line in after["lines"] if line["name"] == "population"]
    assert line["value"]["name"] == "patients"
    assert (after["digest"], await spent(world, shared)) == (card["digest"], before)
    assert (await change(world, await world.dataset("b"), population="patients")).population["id"] == shared
    assert await world.verified()


@POSTGRES_DEEP
async def test_populations_are_their_stewards_and_never_of_rehearsals(world: World) -> None:
    shared = await world.population()
    stranger = World(world.runtime, await world.person("steward", "mallory"))
    with pytest.raises(InvalidInput):
        await stranger.dataset("a", population=shared)
    with pytest.raises(NotFound):
        await read_population(world.runtime, steward=stranger.steward, population_id=shared)
    page = await list_populations(world.runtime, steward=stranger.steward, cursor=None, limit=10)
    assert not page.items
    spec = {"name": "r", "columns": COLUMNS, "budget": BUDGET, "rehearsal": True}
    with pytest.raises(InvalidInput) as refused:
        await create_dataset(world.runtime, steward=world.steward, spec=spec | {"population": shared})
    assert refused.value.problems[0].field == "population"
    made = await create_dataset(world.runtime, steward=world.steward, spec=spec)
    with pytest.raises(InvalidInput):
        await change(world, made.id, population=shared)
    auditor = await world.person("auditor")
    for who, seen in ((auditor, True), (stranger.boss, False)):
        call = read_population_ledger(world.runtime, overseer=who.who, population_id=shared, cursor=None, limit=5)
        if seen:
            assert len((await call).items) == 1
        else:
            with pytest.raises(NotFound):
                await call
    never = await world.dataset("never", population=shared)
    await delete_dataset(world.runtime, steward=world.steward, dataset_id=never)
    assert (await read_population(world.runtime, steward=world.steward, population_id=shared)).datasets == []
    vacuous = {"name": "x", "budget": {"epsilon": 1e5, "delta": 1e-6}}
    with pytest.raises(InvalidInput):
        await create_population(world.runtime, steward=world.steward, spec=vacuous)


@SQLITE_DEEP
async def test_two_datasets_raced_cannot_together_exceed_their_population(
    world: World, second_runtime: Runtime
) -> None:
    """Twelve requests, six to each dataset from two processes, at a budget that three of them fill."""
    probe = await world.dataset("probe")
    await world.request(probe, samples=2)
    each = (await world.account(probe)).spent
    shared = await world.population(epsilon=each.pure_nano / 1e9 * 3.5, delta=0.0)
    members = [await world.dataset(name, population=shared) for name in ("a", "b")]
    there = world.on(second_runtime)
    asked = [(world if place % 4 < 2 else there).request(members[place % 2], samples=2) for place in range(12)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    outcomes = Counter(type(answer).__name__ for answer in answers)
    assert outcomes == {"ReleaseView": 3, "BudgetExhausted": 9}
    account = await world.account(shared)
    assert account.spent == each.plus(each).plus(each)
    assert await spent(world, shared) == [_sum(await spent(world, *members))]
    assert await world.verified()


def _sum(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    return total


@POSTGRES_DEEP
async def test_a_row_edited_to_leave_its_population_charges_and_draws_nothing(world: World) -> None:
    shared = await world.population()
    dataset = await world.dataset("a", population=shared)
    waiting = await world.request(dataset)
    leave = datasets_table.update().where(datasets_table.c.id == dataset).values(population=None)
    await tampered(world.runtime.database, lambda connection: connection.execute(leave))
    await world.work()
    found = await world.release(waiting.id)
    assert (found.status, found.reason) == ("withdrawn", "not what the ledger charged for")
    before = await spent(world, dataset, shared)
    with pytest.raises(LedgerUntrusted):
        await world.request(dataset)
    assert await spent(world, dataset, shared) == before
    assert before[0] == before[1]
