"""Forty simultaneous requests for a budget that fits seven: seven are admitted, whoever asks whichever process."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from app.ledger.account import admits, charge, open_account
from app.ledger.amounts import Amounts, prefix_charge
from app.ledger.entry import Entry
from app.services.releases.stored_release import cost_from_json
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.runtime import Runtime
from app.storage import accounts, ledger_book
from tests.end_to_end.fixtures import Start
from tests.services.world import World, over_http, release_spec

REQUESTS, FITTING = 40, 7
DELTA = 1e-6
READING_S = 10.0


def admitted(epsilon: float, cost: Amounts, limit: int) -> int:
    """How often an account of this budget admits the charge, counted up to one more than `limit`."""
    account, count = open_account("ds_probe", epsilon=epsilon, delta=DELTA), 0
    while count <= limit and admits(account, cost):
        account, count = charge(account, cost), count + 1
    return count


def budget_that_fits(cost: Amounts, times: int) -> float:
    """An ε that admits the charge exactly so many times, found by bisection."""
    low, high = 0.0, 20.0
    assert admitted(high, cost, times) >= times
    while (found := admitted((low + high) / 2, cost, times)) != times:
        middle = (low + high) / 2
        low, high = (middle, high) if found < times else (low, middle)
    return (low + high) / 2


async def one_charge(world: World, samples: int = 20) -> Amounts:
    """What each of the requests will cost, read off a release of another dataset with as many people."""
    requested = await world.request(await world.dataset("probe"), samples=samples)
    cost = cost_from_json((await world.release(requested.id)).cost)
    await world.work()
    return prefix_charge(cost.per_sample, cost.samples)


@asynccontextmanager
async def watching_the_budget(world: World, dataset: str) -> AsyncIterator[list[int]]:
    """Reads account and ledger in one snapshot, again and again; collects what was spent at the account's order."""
    seen: list[int] = []

    async def watch() -> None:
        while True:
            async with world.runtime.database.read() as connection:
                account = await accounts.get_account(connection, dataset)
                lines = (await ledger_book.page_entries(connection, dataset=dataset, limit=1000)).items
            assert account is not None
            assert sum_of([line for line in lines if line.account == dataset]) == account.spent
            assert account.spent_renyi_nano <= account.capacity_nano
            seen.append(account.spent_renyi_nano)
            fresh.set()
            await asyncio.sleep(0)

    fresh = asyncio.Event()
    task = asyncio.create_task(watch())
    try:
        await wait_for_any(READING_S, fresh)
        yield seen
        fresh.clear()
        await wait_for_any(READING_S, fresh)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def sum_of(lines: Sequence[Entry]) -> Amounts:
    total = lines[0].amounts
    for line in lines[1:]:
        total = total.plus(line.amounts)
    return total


async def race(world: World, clients: Sequence[httpx.AsyncClient]) -> None:
    cost = await one_charge(world)
    epsilon = budget_that_fits(cost, FITTING)
    dataset = await world.dataset("contested", budget={"epsilon": epsilon, "delta": DELTA})
    async with watching_the_budget(world, dataset) as seen:
        asked = [
            clients[number % len(clients)].post(
                f"/v1/datasets/{dataset}/releases",
                json=release_spec(),
                headers=world.boss.headers | {"Idempotency-Key": f"request {number}"},
            )
            for number in range(REQUESTS)
        ]
        answers = await asyncio.gather(*asked)
    outcomes = Counter((answer.status_code, answer.json().get("code")) for answer in answers)
    assert outcomes == {(202, None): FITTING, (409, "budget_exhausted"): REQUESTS - FITTING}
    assert seen == sorted(seen)
    assert seen[0] == 0 < seen[-1]
    await world.work()
    winners = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert len(winners) == FITTING
    assert {(await world.release(winner)).status for winner in winners} == {"published"}
    account = await world.account(dataset)
    assert account.spent.pure_nano == FITTING * cost.pure_nano
    assert account.spent.curve_nano == tuple(FITTING * value for value in cost.curve_nano)
    assert not admits(account, cost)
    kinds = Counter(await world.kinds(dataset))
    assert kinds == {"open": 1, "reserve": FITTING, "commit": FITTING}
    assert await world.verified()


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
async def test_exactly_seven_of_forty_are_admitted_by_one_process_on_sqlite(world: World):
    async with over_http(world.runtime) as client:
        await race(world, [client])


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
async def test_exactly_seven_of_forty_are_admitted_by_two_services_on_one_sqlite_file(
    world: World, second_runtime: Runtime
):
    async with over_http(world.runtime) as here, over_http(second_runtime) as there:
        await race(world, [here, there])


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
async def test_exactly_seven_of_forty_are_admitted_by_four_processes_on_postgresql(world: World, serve: Start):
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(process.connect()) for process in serve(4)]
        await race(world, clients)
