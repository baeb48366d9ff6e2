"""Purchases made at the same moment on several processes: each sample is paid for once, no cap is exceeded."""

import asyncio
from functools import partial

import pytest

from app.errors import BudgetExhausted
from app.ledger.amounts import ZERO, upgrade_charge
from app.services.releases.buy_access import buy_access
from app.services.releases.stored_release import cost_from_json
from app.services.runtime.idempotency import perform_once
from app.services.runtime.runtime import Runtime
from tests.services.world import World


async def test_simultaneous_upgrades_are_charged_once_and_never_beyond_the_cap(world: World, second_runtime: Runtime):
    """Twelve purchases on two processes, of which the last only just fits: the sum is that of buying it at once."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    analyst = await world.person("analyst")
    await world.cap(dataset, analyst, epsilon=15.0)
    both: list[Runtime] = [world.runtime, second_runtime]

    async def buy(number: int, samples: int) -> int:
        view = await buy_access(both[number % 2], analyst=analyst.analyst, release_id=release, samples=samples)
        return view.samples

    wanted = [3, 30, 7, 30, 12, 1, 30, 25, 29, 30, 2, 18]
    held = await asyncio.gather(*(buy(number, samples) for number, samples in enumerate(wanted)))
    assert all(has >= samples for has, samples in zip(held, wanted, strict=True))
    cost = cost_from_json((await world.release(release)).cost).per_sample
    account = await world.account(f"{analyst.id}@{dataset}")
    assert account.spent == upgrade_charge(cost, 0, 30)
    assert account.spent_renyi_nano <= account.capacity_nano
    assert await world.verified()


async def test_purchases_that_together_exceed_a_cap_are_not_all_admitted(world: World, second_runtime: Runtime):
    """Each fits alone; the cap holds across releases and processes."""
    dataset = await world.dataset()
    releases = [await world.published(dataset, samples=10) for _ in range(4)]
    analyst = await world.person("analyst")
    await world.cap(dataset, analyst, epsilon=5.0)
    both = [world.runtime, second_runtime]

    async def buy(number: int, release: str) -> bool:
        asked = buy_access(both[number % 2], analyst=analyst.analyst, release_id=release, samples=10)
        return not isinstance((await asyncio.gather(asked, return_exceptions=True))[0], Exception)

    admitted = await asyncio.gather(*(buy(number, release) for number, release in enumerate(releases)))
    account = await world.account(f"{analyst.id}@{dataset}")
    assert 1 <= sum(admitted) < len(releases)
    assert account.spent_renyi_nano <= account.capacity_nano
    assert (await world.kinds(dataset)).count("access") == sum(admitted)
    assert await world.verified()


async def test_a_lowered_cap_stops_purchases_and_keeps_what_was_paid_for(world: World, second_runtime: Runtime):
    """What was sold stays sold; nothing more is, on any process, from the moment the cap is on disk."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    analyst = await world.buyer(dataset, release, 10)
    spent = (await world.account(f"{analyst.id}@{dataset}")).spent
    await world.cap(dataset, analyst, epsilon=0.01)
    for runtime in (world.runtime, second_runtime):
        with pytest.raises(BudgetExhausted) as refused:
            await buy_access(runtime, analyst=analyst.analyst, release_id=release, samples=11)
        assert refused.value.facts["samples_held"] == refused.value.facts["samples_affordable"] == 10
    assert (await world.account(f"{analyst.id}@{dataset}")).spent == spent
    await world.cap(dataset, analyst, epsilon=15.0)
    await buy_access(second_runtime, analyst=analyst.analyst, release_id=release, samples=11)
    assert await world.verified()


async def test_no_change_of_a_cap_rewrites_what_was_spent(world: World):
    """Up, down, below what is spent and back: charges, totals, the fixed order and every earlier line stay as they are."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    analyst = await world.buyer(dataset, release, 10)
    number = f"{analyst.id}@{dataset}"
    first, lines = await world.account(number), await world.entries(dataset)
    for epsilon in (19.0, 0.01, 0.0, 15.0, 12.0):
        await world.cap(dataset, analyst, epsilon=epsilon)
        now = await world.account(number)
        assert (now.spent, now.order, now.slack_delta) == (first.spent, first.order, first.slack_delta)
        assert (await world.entries(dataset))[: len(lines)] == lines
    again = await world.entries(dataset)
    assert [entry.kind for entry in again[len(lines) :]] == ["cap"] * 5
    assert all(entry.amounts == ZERO and entry.totals == first.spent for entry in again[len(lines) :])
    assert await world.verified()


async def test_a_repeated_purchase_on_two_processes_pays_once_and_a_new_key_pays_nothing_more(
    world: World, second_runtime: Runtime
):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    analyst = await world.person("analyst")
    await world.cap(dataset, analyst)
    both = [world.runtime, second_runtime]

    async def buy(number: int, samples: int, key: str) -> bytes:
        runtime = both[number % 2]
        once = world.once(key, f"POST /v1/releases/{release}/access", {"samples": samples}, analyst)
        work = partial(buy_access, runtime, analyst=analyst.analyst, release_id=release, samples=samples, once=once)
        return (await perform_once(runtime, once, work))[0].body

    same = await asyncio.gather(*(buy(number, 9, "once") for number in range(8)))
    assert len(set(same)) == 1
    spent = (await world.account(f"{analyst.id}@{dataset}")).spent
    await asyncio.gather(*(buy(number, 9 - number, f"other {number}") for number in range(8)))
    assert (await world.account(f"{analyst.id}@{dataset}")).spent == spent
    assert (await world.kinds(dataset)).count("access") == 1
    assert await buy(1, 9, "once") == same[0]
