"""A person's acceptance of an older head counts once, for what it names, and never again."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import LedgerUntrusted
from app.ledger.hash_chain import GENESIS
from app.ledger.signed_head import SigningKey
from app.services.ledger.read_ledger import read_head
from app.services.ledger.watch_ledger import remember_head, tick
from app.services.reading.answer_query import answer_query
from app.storage.ledger_heads import read_stored, record_act
from app.storage.tables import ledger_acts
from tests.attacks import tampering
from tests.attacks.past import (
    REASON,
    Past,
    accepted,
    behind_its_back,
    bring_back,
    charging,
    current,
    fault_at_start,
    machine,
    planted,
    started,
)
from tests.services.world import QUESTION, World, services

pytestmark = pytest.mark.engine_in_turn

EMPTY = ("principals", "api_keys", "epochs", "installation_secrets")


def emptied(past: Past) -> tampering.Rows:
    """A database without any line, in which the same people have keys."""
    head = dict.fromkeys(past.yesterday["ledger_head"][0]) | {"id": 1, "sequence": 0, "digest": GENESIS.digest}
    kept = {name: past.yesterday[name] for name in EMPTY}
    return {name: [] for name in past.yesterday} | {"ledger_head": [head]} | kept


async def name_at_start(past: Past) -> str | None:
    fault = await fault_at_start(past)
    return None if fault is None else fault.name


async def test_an_acceptance_made_on_a_copy_elsewhere_excuses_no_rollback_here(past: Past, tmp_path: Path) -> None:
    """A drill on a spare machine restores yesterday and accepts it; somebody carries its act over, with yesterday."""
    today = await current(past)
    await bring_back(past, past.yesterday)
    spare = machine(past, tmp_path / "spare")
    await accepted(spare)
    drill = await current(past)
    await bring_back(past, today)
    assert await name_at_start(past) is None
    await bring_back(past, drill)
    async with started(past) as (runtime, client):
        assert runtime.notary.fault is not None, "the act names nothing that this place has seen"
        assert runtime.notary.fault.name == "rolled_back"
        assert (await charging(client, past)).status_code == 503


async def test_an_acceptance_excuses_nothing_older_than_the_head_it_accepts(past: Past, tmp_path: Path) -> None:
    """On a machine that was off meanwhile, whose witness the act does name."""
    away = machine(past, tmp_path / "away", witnesses=True)
    await bring_back(past, past.yesterday)
    await accepted(past)
    acts = (await current(past))["ledger_acts"]
    honest = machine(away, tmp_path / "honest", witnesses=True)
    assert await name_at_start(honest) is None, "what was accepted is accepted for every machine"
    await bring_back(past, past.last_week)
    await planted(past, acts)
    assert await name_at_start(away) == "rolled_back"
    assert await name_at_start(honest) == "rolled_back"


async def test_a_machine_that_was_off_cannot_be_led_back_over_what_it_saw_after_an_acceptance(
    past: Past, tmp_path: Path
) -> None:
    await bring_back(past, past.yesterday)
    await accepted(past)
    accepted_rows = await current(past)
    async with started(past) as (runtime, _):
        await World(runtime, past.boss).dataset("after")
        await remember_head(runtime)
    later = machine(past, tmp_path / "later", witnesses=True)
    await bring_back(past, accepted_rows)
    assert await name_at_start(later) == "rolled_back"


async def test_another_ledger_with_an_acceptance_of_its_own_cannot_take_this_place(past: Past, tmp_path: Path) -> None:
    """A second ledger under the same key, with all its budget, where somebody once accepted a head."""
    await bring_back(past, emptied(past))
    other = machine(past, tmp_path / "other")
    async with started(other) as (runtime, _):
        dataset = await World(runtime, past.boss).dataset("somebody else's")
    await accepted(other)
    async with started(past) as (runtime, client):
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "replaced"
        assert (await charging(client, replace(past, dataset=dataset))).status_code == 503


async def test_a_move_to_another_ledger_and_back_is_not_repeated_by_the_old_act(past: Past, tmp_path: Path) -> None:
    today = await current(past)
    await bring_back(past, emptied(past))
    other = machine(past, tmp_path / "other")
    async with started(other) as (runtime, _):
        await World(runtime, past.boss).dataset("the new one")
    assert await name_at_start(past) == "replaced"
    await accepted(past)
    moved = await current(past)
    assert await name_at_start(past) is None
    await bring_back(past, today)
    assert await name_at_start(past) == "replaced"
    await accepted(past)
    assert await name_at_start(past) is None
    await bring_back(past, moved)
    assert await name_at_start(past) == "replaced", "that move was decided once, and taken back"


async def test_a_newer_database_found_again_is_not_lost_to_the_act_that_gave_it_up(past: Past) -> None:
    today = await current(past)
    await bring_back(past, past.yesterday)
    await accepted(past)
    given_up = await current(past)
    async with started(past) as (runtime, _):
        await World(runtime, past.boss).dataset("in between")
        await remember_head(runtime)
    await bring_back(past, today)
    assert await name_at_start(past) in ("forked", "rolled_back")
    await accepted(past)
    assert await name_at_start(past) is None
    await bring_back(past, given_up)
    assert await name_at_start(past) == "rolled_back"


async def test_a_forged_act_moves_no_witness_back(past: Past) -> None:
    """In the second before the watch looks, requests are served from the older database and write down its head."""
    forger = SigningKey("the forger's own secret, long enough")
    async with started(past) as (runtime, _):
        async with runtime.database.read() as connection:
            signed = (await read_stored(connection)).signed
        assert signed is not None
        act = forger.sign_act(10**6, "accepted", signed.ledger, GENESIS, actor="ops", reason=REASON, at_us=1)
        row = {"number": act.number, "kind": act.kind, "ledger_id": act.ledger, "sequence": 0, "actor": "ops"}
        row |= {"digest": GENESIS.digest, "reason": REASON, "at_us": 1, "key_id": act.key_id}
        await bring_back(past, past.yesterday)
        await planted(past, [row | {"signature": act.signature}])
        assert await answer_query(runtime, reader=past.buyer.reader, release_id=past.old_release, body=QUESTION)
        await tick(runtime)
        assert runtime.notary.fault is not None
    assert await name_at_start(past) == "rolled_back"


async def test_an_act_nobody_signed_lifts_no_alarm(past: Past) -> None:
    """The alarm was about a head that only this process remembers: its witnesses are gone."""
    today = await current(past)
    forger = SigningKey("the forger's own secret, long enough")
    async with started(past) as (runtime, _):
        await behind_its_back(past, tampering.edit)
        await bring_back(past, past.yesterday)
        await tick(runtime)
        assert runtime.notary.fault is not None
        signed = runtime.notary.seen
        assert signed is not None
        await bring_back(past, today)
        act = forger.sign_act(9, "accepted", signed.ledger, GENESIS, actor="ops", reason=REASON, at_us=1)
        row = {"number": 9, "kind": act.kind, "ledger_id": act.ledger, "sequence": 0, "digest": GENESIS.digest}
        row |= {"actor": "ops", "reason": REASON, "at_us": 1, "key_id": act.key_id, "signature": act.signature}
        await planted(past, [row])
        await tick(runtime)
        assert runtime.notary.fault is not None


async def test_an_act_that_disappears_is_noticed(past: Past) -> None:
    """Without it the count of acts would fall, and witnesses that count them would stand still."""
    await bring_back(past, past.yesterday)
    await accepted(past)
    assert await name_at_start(past) is None

    async def remove_acts(connection: tampering.AsyncConnection) -> None:
        await connection.execute(tampering.delete(ledger_acts))

    await behind_its_back(past, remove_acts)
    assert await name_at_start(past) == "deleted"


async def test_another_ledger_under_a_running_service_is_neither_served_nor_charged_nor_pinned(
    past: Past, tmp_path: Path
) -> None:
    """A longer one under the same key, in the second before anybody looks."""
    today = await current(past)
    await bring_back(past, emptied(past))
    other = machine(past, tmp_path / "other")
    async with started(other) as (runtime, _):
        world = World(runtime, past.boss)
        for number in range(len(today["ledger_entries"])):
            dataset = await world.dataset(f"set {number}")
        release = await world.published(dataset, samples=2)
    foreign = await current(past)
    await bring_back(past, today)
    async with started(past) as (runtime, client):
        await bring_back(past, foreign)
        with pytest.raises(LedgerUntrusted):
            await answer_query(runtime, reader=past.boss.reader, release_id=release, body=QUESTION)
        refused = await charging(client, replace(past, dataset=dataset))
        assert (refused.status_code, refused.json()["fault"]) == (503, "replaced")
        await tick(runtime)
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "replaced"
    assert await name_at_start(past) == "replaced"


async def test_another_history_under_a_running_service_is_found_by_the_next_tick(past: Past, tmp_path: Path) -> None:
    """Signed by the same key, on a copy of yesterday that was carried on longer than the true one."""
    today = await current(past)
    await bring_back(past, past.yesterday)
    async with started(machine(past, tmp_path / "spare")) as (runtime, _):
        for number in range(4):
            await World(runtime, past.boss).dataset(f"set {number}")
    forked = await current(past)
    await bring_back(past, today)
    async with started(past) as (runtime, _):
        await bring_back(past, forked)
        await tick(runtime)
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "forked"
    assert await name_at_start(past) == "forked"


async def test_an_acceptance_from_before_acts_named_anything_fails_closed_and_says_what_to_do(
    past: Past, tmp_path: Path
) -> None:
    away = machine(past, tmp_path / "away", witnesses=True)
    await bring_back(past, past.yesterday)
    async with services(past.settings) as operator:
        async with operator.database.write() as connection:
            signed = (await read_stored(connection, lock=True)).signed
            assert signed is not None
            key = operator.notary.keys.signing
            act = await record_act(connection, key, "accepted", signed, actor="ops", reason=REASON)
        assert act.replaces is None
    fault = await fault_at_start(away)
    assert fault is not None
    assert fault.name == "rolled_back"
    assert f"act {act.number} accepted a head without naming what it replaces" in fault.detail
    again = await accepted(away)
    assert again.replaces
    assert again.number > act.number
    assert await fault_at_start(away) is None


async def test_a_pin_in_redis_does_not_outvote_the_one_on_disk(past: Past, tmp_path: Path) -> None:
    await bring_back(past, emptied(past))
    other = machine(past, tmp_path / "other")
    async with started(other) as (runtime, _):
        await World(runtime, past.boss).dataset("somebody else's")
        ledger = (await read_head(runtime)).ledger
    assert ledger is not None
    async with services(past.settings) as runtime:
        if runtime.witnesses.redis is not None:
            await runtime.witnesses.redis.pin(runtime.witnesses.place, ledger, back=True)
    assert await name_at_start(past) == "replaced"


async def test_numbers_of_acts_that_nobody_signed_stand_in_nobodys_way(past: Past) -> None:
    """The first free number is taken, and the largest there is."""
    forged = {"kind": "accepted", "ledger_id": "led_x", "sequence": 0, "digest": GENESIS.digest, "actor": "x"}
    forged |= {"reason": REASON, "at_us": 1, "key_id": "x", "signature": bytes(64)}
    await bring_back(past, past.yesterday)
    await planted(past, [forged | {"number": number} for number in (1, 2, 2**63 - 1)])
    act = await accepted(past)
    assert act.number == 3
    assert await name_at_start(past) is None
