"""Everything that writes, at once, on two processes: nothing fails for being simultaneous, and the ledger verifies."""

import asyncio
import random
from collections.abc import Awaitable
from typing import Any

import pytest

from app.services.datasets.set_cap import set_cap
from app.services.people.directory import read_me
from app.services.people.keys import create_key, revoke_key
from app.services.reading.answer_query import answer_query
from app.services.releases.buy_access import buy_access
from app.services.releases.run_release import run_next_release
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import flush_used
from tests.conftest import SQLITE_DEEP
from tests.services.world import CAP, QUESTION, Person, World

pytestmark = pytest.mark.slow

ROUNDS = 90


async def work(runtime: Runtime) -> None:
    await run_next_release(runtime)


async def rotate_signing_key(world: World, person: Person) -> None:
    made = await create_key(world.runtime, actor=world.steward, principal_id=person.id, label="x", expires_us=None)
    await revoke_key(world.runtime, actor=world.steward, key_id=made.id)


def anything(
    choice: random.Random, worlds: list[World], datasets: list[str], releases: list[str], people: list[Person]
) -> Awaitable[Any]:
    world, person = choice.choice(worlds), choice.choice(people)
    runtime, number = world.runtime, choice.randrange(len(datasets))
    dataset, release = datasets[number], releases[number]
    target = {"dataset_id": dataset, "principal_id": person.id, "spec": CAP}
    kinds: list[Any] = [
        lambda: world.request(dataset, samples=1, key=f"storm {choice.randrange(10)}"),
        lambda: world.request(dataset, samples=1),
        lambda: buy_access(runtime, analyst=person.analyst, release_id=release, samples=choice.randint(1, 20)),
        lambda: set_cap(runtime, steward=world.steward, **target),
        lambda: rotate_signing_key(world, person),
        lambda: flush_used(runtime),
        lambda: work(runtime),
        lambda: read_me(runtime, principal=person.who),
        lambda: answer_query(runtime, reader=world.steward, release_id=release, body=QUESTION),
        lambda: world.verified(),
    ]
    asked: Awaitable[Any] = choice.choice(kinds)()
    return asked


@SQLITE_DEEP
async def test_writers_of_every_kind_do_not_get_in_each_other_s_way(world: World, second_runtime: Runtime):
    worlds = [world, world.on(second_runtime)]
    datasets = [await world.dataset(f"set {number}") for number in range(2)]
    releases = [await world.published(dataset) for dataset in datasets]
    people = [await world.person("analyst", f"analyst {number}") for number in range(3)]
    for dataset in datasets:
        for person in people:
            await world.cap(dataset, person)
    choice = random.Random(11)
    asked = [anything(choice, worlds, datasets, releases, people) for _ in range(ROUNDS)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    failures = {type(outcome).__qualname__: str(outcome) for outcome in outcomes if isinstance(outcome, Exception)}
    allowed = {"BudgetExhausted", "IdempotencyConflict"}
    assert {name: text for name, text in failures.items() if name not in allowed} == {}
    await world.work()
    assert await world.verified()
    for dataset in datasets:
        kinds = await world.kinds(dataset)
        assert kinds.count("reserve") == kinds.count("commit")
