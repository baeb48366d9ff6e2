"""The same idempotency key: the same release and one charge, through races, failures, restarts and later uploads."""

import asyncio

import msgspec
import pytest

from app.errors import BudgetExhausted, DataMissing, IdempotencyConflict, NotFound
from app.services.releases.request_release import request_release
from app.services.runtime.idempotency import AnsweredBefore
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView
from tests.services.world import MODEL, World, new_world, release_spec

WIPED = {"kind": "upload", "retain": False}


async def test_a_replay_gives_the_same_release_and_no_second_charge(world: World, second_runtime: Runtime):
    dataset = await world.dataset()
    first = await world.request(dataset, key="once")
    spent = (await world.account(dataset)).spent
    for replayed in (
        await world.request(dataset, key="once"),
        await world.on(second_runtime).request(dataset, key="once"),
    ):
        assert replayed == first
    await world.work()
    assert await world.request(dataset, key="once") == first
    assert (await world.account(dataset)).spent == spent
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]


async def test_a_replay_is_recognised_whatever_the_order_of_its_fields(world: World):
    dataset = await world.dataset()
    first = await world.request(dataset, key="once")
    spec = release_spec()
    shuffled = {
        "mechanism": dict(reversed(spec["mechanism"].items())),
        "model": dict(reversed(MODEL.items())),
    }
    once = world.once("once", f"POST /v1/datasets/{dataset}/releases", shuffled)
    with pytest.raises(AnsweredBefore) as earlier:
        await request_release(world.runtime, steward=world.steward, dataset_id=dataset, spec=shuffled, once=once)
    assert msgspec.msgpack.decode(earlier.value.reply.body, type=ReleaseView) == first


async def test_another_body_or_another_dataset_under_the_same_key_is_refused(world: World):
    dataset, other = await world.dataset(), await world.dataset("other")
    await world.request(dataset, key="once")
    spent = (await world.account(dataset)).spent
    with pytest.raises(IdempotencyConflict):
        await world.request(dataset, key="once", samples=21)
    with pytest.raises(IdempotencyConflict):
        await world.request(other, key="once")
    assert (await world.account(dataset)).spent == spent
    assert await world.kinds(other) == ["open"]


async def test_simultaneous_replays_on_two_processes_make_one_release(world: World, second_runtime: Runtime):
    dataset = await world.dataset()
    both = (world, world.on(second_runtime))
    asked = [both[number % 2].request(dataset, key="once") for number in range(12)]
    assert len({view.id for view in await asyncio.gather(*asked)}) == 1
    assert await world.kinds(dataset) == ["open", "reserve"]
    assert await world.verified()


async def test_a_key_belongs_to_whoever_used_it(world: World):
    """Another steward's key of the same name is another key, and shows them nothing."""
    dataset = await world.dataset()
    first = await world.request(dataset, key="once")
    other = await new_world(world.runtime)
    theirs = await other.request(await other.dataset(), key="once")
    assert theirs.id != first.id
    with pytest.raises(NotFound):
        await other.request(dataset, key="another")


async def test_a_refused_request_does_not_use_up_its_key(world: World):
    """The steward raises nothing here but asks for less: the failed attempt left no trace to conflict with."""
    dataset = await world.dataset(budget={"epsilon": 1.0, "delta": 1e-6})
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, key="once", samples=100)
    assert (await world.request(dataset, key="once", samples=1)).status == "pending"


async def test_a_replay_after_the_rows_are_gone_still_finds_its_release(world: World):
    dataset = await world.dataset(source=WIPED)
    first = await world.request(dataset, key="once")
    await world.work()
    assert (await world.request(dataset, key="once")).id == first.id
    with pytest.raises(DataMissing):
        await world.request(dataset, key="twice")
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]
