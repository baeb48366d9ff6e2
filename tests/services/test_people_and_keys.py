"""Who may make, narrow and revoke keys, and what a key may then do."""

from typing import Any

import pytest

from app.errors import AccessRequired, Forbidden, InvalidInput, KeyExpired, NotFound
from app.services.datasets import set_cap, withdraw_access
from app.services.people.directory import create_principal, read_me
from app.services.people.keys import create_key, revoke_key
from app.services.people.verify_key import verify_key
from app.services.principals import Dashboard
from app.services.reading.answer_query import answer_query
from app.services.releases.buy_access import buy_access
from app.services.runtime.watch_rights import check_rights
from tests.services.world import QUESTION, SECOND_US, World, new_world

pytestmark = pytest.mark.engine_in_turn


async def test_a_key_narrowed_to_a_dashboard_reads_what_its_analyst_holds(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset)
    analyst = await world.buyer(dataset, release, 10)
    made = await create_key(
        world.runtime, actor=world.steward, principal_id=analyst.id, label="wall", expires_us=None, role="dashboard"
    )
    narrowed = await verify_key(world.runtime, token=made.token)
    assert isinstance(narrowed, Dashboard)
    own = await answer_query(world.runtime, reader=analyst.reader, release_id=release, body=QUESTION)
    assert await answer_query(world.runtime, reader=narrowed, release_id=release, body=QUESTION) == own
    assert (await read_me(world.runtime, principal=narrowed)).role == "dashboard"


@pytest.mark.parametrize(("owner", "role"), [("dashboard", "analyst"), ("analyst", "auditor"), ("auditor", "analyst")])
async def test_a_key_never_gets_more_than_its_owner_has(world: World, owner: str, role: str):
    person = await world.person(owner)
    with pytest.raises(Forbidden):
        await create_key(
            world.runtime, actor=world.steward, principal_id=person.id, label="", expires_us=None, role=role
        )


async def test_a_steward_makes_keys_only_for_people_they_created(world: World):
    other = await new_world(world.runtime)
    theirs = await other.person("analyst")
    for stranger in (theirs.id, other.boss.id, world.boss.id, "an_nobody"):
        with pytest.raises(NotFound):
            await create_key(world.runtime, actor=world.steward, principal_id=stranger, label="", expires_us=None)


async def test_a_steward_revokes_their_own_keys_and_their_people_s_and_no_others(world: World):
    other = await new_world(world.runtime)
    theirs, ours = await other.person("analyst"), await world.person("analyst")
    for key_id in (theirs.who.key_id, other.boss.who.key_id, "a" * 16):
        with pytest.raises(NotFound):
            await revoke_key(world.runtime, actor=world.steward, key_id=key_id)
    for key_id in (ours.who.key_id, ours.who.key_id, world.boss.who.key_id):
        await revoke_key(world.runtime, actor=world.steward, key_id=key_id)


async def test_stewards_come_from_the_command_line_alone(world: World):
    with pytest.raises(Forbidden):
        await create_principal(world.runtime, role="steward", name="eve", created_by=world.steward)


async def test_a_warm_key_expires_on_time(world: World):
    now_us = world.runtime.clock()
    person = await world.person("analyst")
    made = await create_key(
        world.runtime, actor=world.steward, principal_id=person.id, label="", expires_us=now_us + 3600 * SECOND_US
    )
    assert (await verify_key(world.runtime, token=made.token)).id == person.id
    object.__setattr__(world.runtime, "clock", lambda: now_us + 3600 * SECOND_US)
    with pytest.raises(KeyExpired):
        await verify_key(world.runtime, token=made.token)


async def test_a_shorter_prefix_costs_nothing_and_upgrades_add_up_to_buying_at_once(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    slow = await world.buyer(dataset, release, 3, "slow")
    quick = await world.buyer(dataset, release, 17, "quick")
    for samples in (9, 2, 9, 16, 17, 1):
        view = await buy_access(world.runtime, analyst=slow.analyst, release_id=release, samples=samples)
    assert view.samples == 17
    own, other = [await world.account(f"{person.id}@{dataset}") for person in (slow, quick)]
    assert own.spent == other.spent
    assert await world.verified()


async def test_a_person_gets_rights_from_the_steward_who_made_them_and_from_no_other(world: World):
    """Who made a person mints their keys: a cap from somebody else would be a door to that somebody's data."""
    other = await new_world(world.runtime)
    dataset = await world.dataset()
    for person in (await other.person("analyst"), await other.person("dashboard")):
        spec = {"epsilon": 1.0, "delta": 1e-6} if person.who.role == "analyst" else {"samples": 5}
        with pytest.raises(NotFound):
            await set_cap(world.runtime, steward=world.steward, dataset_id=dataset, principal_id=person.id, spec=spec)
        with pytest.raises(NotFound):
            await withdraw_access(world.runtime, steward=world.steward, dataset_id=dataset, principal_id=person.id)
    assert await world.kinds(dataset) == ["open"]


async def test_withdrawn_access_reads_and_buys_nothing_stays_paid_and_comes_back_with_a_cap(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    analyst, kept = await world.buyer(dataset, release, 10), await world.buyer(dataset, release, 10, "kept")
    made = await create_key(
        world.runtime, actor=world.steward, principal_id=analyst.id, label="", expires_us=None, role="dashboard"
    )
    readers = [analyst.reader, await verify_key(world.runtime, token=made.token)]

    async def ask(reader: Any) -> bytes:
        return await answer_query(world.runtime, reader=reader, release_id=release, body=QUESTION)

    before = await ask(analyst.reader)
    spent = (await world.account(f"{analyst.id}@{dataset}")).spent
    for _ in range(2):
        await withdraw_access(world.runtime, steward=world.steward, dataset_id=dataset, principal_id=analyst.id)
    await check_rights(world.runtime)
    for reader in readers:
        with pytest.raises(AccessRequired, match="withdrawn"):
            await ask(reader)
    for samples in (5, 15):
        with pytest.raises(AccessRequired, match="withdrawn"):
            await buy_access(world.runtime, analyst=analyst.analyst, release_id=release, samples=samples)
    assert await ask(kept.reader) == before
    lines = [line for line in await world.entries(dataset) if line.account == f"{analyst.id}@{dataset}"]
    assert [line.kind for line in lines] == ["open", "access", "cap"]
    assert lines[-1].reason == "access withdrawn"
    assert (await world.account(f"{analyst.id}@{dataset}")).spent == spent
    assert await world.verified()
    await world.cap(dataset, analyst)
    await check_rights(world.runtime)
    assert await ask(analyst.reader) == before
    assert await world.verified()


async def test_a_dashboard_whose_access_was_withdrawn_reads_nothing(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset)
    board = await world.person("dashboard")
    await world.cap(dataset, board, samples=5)
    assert await answer_query(world.runtime, reader=board.reader, release_id=release, body=QUESTION)
    await withdraw_access(world.runtime, steward=world.steward, dataset_id=dataset, principal_id=board.id)
    await check_rights(world.runtime)
    with pytest.raises(NotFound):
        await answer_query(world.runtime, reader=board.reader, release_id=release, body=QUESTION)


async def test_every_key_ends_and_none_lives_longer_than_the_operator_lets_it(world: World):
    now_us, day_us = world.runtime.clock(), 86_400 * SECOND_US
    object.__setattr__(world.runtime, "clock", lambda: now_us)
    person = await world.person("analyst")

    async def end(expires_us: int | None) -> int | None:
        made = await create_key(
            world.runtime, actor=world.steward, principal_id=person.id, label="", expires_us=expires_us
        )
        return made.expires_us

    assert await end(None) == now_us + 365 * day_us
    assert await end(now_us + 1830 * day_us) == now_us + 1830 * day_us
    with pytest.raises(InvalidInput, match="at most 1830 days"):
        await end(now_us + 1830 * day_us + 1)
