"""Every way of changing history behind the service's back is found when it starts, by name, and stops all charging."""

import asyncio
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import Conflict, IntegrityFailure, InvalidInput, LedgerUntrusted
from app.ledger.entry import Head
from app.services.ledger.accept_head import accept_head
from app.services.ledger.read_ledger import read_head
from app.services.ledger.recover import recover_on_start
from app.services.ledger.verify_lines import Pass, verify_all, verify_links
from app.services.ledger.watch_ledger import check_ledger_on_start, remember_head, tick
from app.services.reading.answer_query import answer_query
from app.services.releases.run_release import run_next_release
from app.services.releases.run_worker import run_worker
from app.storage import ledger_book
from app.storage.engine import Database
from app.storage.ledger_heads import read_stored, record_act
from tests.attacks import tampering
from tests.attacks.past import REASON, Past, behind_its_back, bring_back, charging, started, verification
from tests.conftest import Backend
from tests.services.world import (
    QUESTION,
    World,
    kinds_of,
    new_world,
    services,
    settings_for,
    upload_files,
)

pytestmark = pytest.mark.engine_in_turn

verify_ledger = import_module("app.services.ledger.verify_ledger")
watch_ledger = import_module("app.services.ledger.watch_ledger")

TAMPERINGS = {
    "edited": tampering.edit,
    "cheapened": tampering.cheapen,
    "garbled": tampering.garble,
    "deleted": tampering.remove,
    "deleted and closed up": tampering.remove_and_close_up,
    "inserted": tampering.squeeze_in,
    "reordered": tampering.swap,
    "truncated": tampering.cut_off,
    "written beyond": tampering.write_beyond,
    "replaced under the old signature": tampering.replace_all,
    "replaced under another key": tampering.replace_all_and_sign,
    "replaced as if never signed": tampering.replace_all_unsigned,
    "refunded": tampering.refund,
}
NAMES = {
    "cheapened": "edited",
    "garbled": "edited",
    "deleted and closed up": "deleted",
    "written beyond": "grown",
    "replaced under the old signature": "replaced",
    "replaced under another key": "replaced",
    "replaced as if never signed": "replaced",
    "refunded": "account_differs",
}


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", TAMPERINGS)
async def test_a_start_after_tampering_names_it_and_charges_nothing(past: Past, name: str) -> None:
    await behind_its_back(past, TAMPERINGS[name])
    expected = NAMES.get(name, name)
    async with started(past) as (runtime, client):
        found = await verification(client, past)
        refused = await charging(client, past)
        ready = (await client.get("/readyz")).json()
    assert runtime.notary.fault is not None
    names = {runtime.notary.fault.name, *(fault["name"] for fault in found["faults"])}
    assert not found["ok"]
    assert expected in names, names
    assert (refused.status_code, refused.json()["code"]) == (503, "ledger_untrusted")
    assert refused.headers["Retry-After"]
    assert not ready["checks"]["ledger"]["ok"]


async def test_yesterdays_backup_is_noticed_at_the_start_and_old_releases_are_still_served(past: Past) -> None:
    await bring_back(past, past.yesterday)
    async with started(past) as (runtime, client):
        found = await verification(client, past)
        assert (found["ok"], found["reason"], found["signature"]) == (False, "rolled_back", "valid")
        assert "accept" in found["faults"][0]["advice"]
        assert (await charging(client, past)).json()["fault"] == "rolled_back"
        assert await answer_query(runtime, reader=past.buyer.reader, release_id=past.old_release, body=QUESTION)


async def test_a_release_beyond_the_last_trustworthy_line_is_not_served(past: Past) -> None:
    """The second release's commit is edited; the first release lies before it."""
    last = len(past.yesterday["ledger_entries"]) + 2

    async def edit_last(connection: AsyncConnection) -> None:
        lines = tampering.update(tampering.ledger_entries).where(tampering.ledger_entries.c.sequence == last)
        await connection.execute(lines.values(actor="an_mallory"))

    await behind_its_back(past, edit_last)
    async with started(past) as (runtime, _):
        assert runtime.notary.fault is not None
        assert (runtime.notary.fault.name, runtime.notary.fault.trusted) == ("edited", last - 1)
        assert await answer_query(runtime, reader=past.boss.reader, release_id=past.old_release, body=QUESTION)
        with pytest.raises(LedgerUntrusted):
            await answer_query(runtime, reader=past.boss.reader, release_id=past.new_release, body=QUESTION)


async def test_a_ledger_rolled_back_under_a_running_service_stops_it_within_one_look(past: Past) -> None:
    async with started(past) as (runtime, client):
        assert (await verification(client, past))["ok"]
        await bring_back(past, past.yesterday)
        refused = await charging(client, past)
        assert (refused.status_code, refused.json()["fault"]) == (503, "rolled_back")
        await tick(runtime)
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "rolled_back"


async def test_a_chain_replaced_under_a_running_service_gets_no_honest_signature(past: Past) -> None:
    async with started(past) as (_, client):
        await behind_its_back(past, tampering.replace_all)
        refused = await charging(client, past)
    assert (refused.status_code, refused.json()["fault"]) == (503, "replaced")
    database = Database.open(past.settings.database_url)
    async with database.read() as connection:
        lines = await tampering.lines_of(connection)
    await database.dispose()
    assert all(line.actor == "an_mallory" for line in lines)


async def test_another_empty_ledger_in_the_same_place_is_no_fresh_start(past: Past) -> None:
    empty = {name: [] for name in past.yesterday} | {
        "ledger_head": [
            dict.fromkeys(past.yesterday["ledger_head"][0])
            | {"id": 1, "sequence": 0, "digest": tampering.GENESIS.digest}
        ],
        "principals": past.yesterday["principals"],
        "api_keys": past.yesterday["api_keys"],
        "epochs": past.yesterday["epochs"],
        "installation_secrets": past.yesterday["installation_secrets"],
    }
    await bring_back(past, empty)
    async with started(past) as (runtime, _):
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "replaced"


async def test_an_accepted_head_lets_every_process_go_on_and_is_remembered(past: Past) -> None:
    await bring_back(past, past.yesterday)
    async with started(past) as (runtime, client), services(past.settings) as operator:
        head = await read_head(operator)
        named = f"{head.sequence}:{head.digest}"
        with pytest.raises(Conflict):
            await accept_head(operator, head=f"{head.sequence}:{'0' * 64}", actor="ops", reason=REASON)
        with pytest.raises(InvalidInput):
            await accept_head(operator, head=named, actor="ops", reason="because")
        act = await accept_head(operator, head=named, actor="ops", reason=REASON)
        assert (act.kind, act.reason) == ("accepted", REASON)
        await tick(runtime)
        assert runtime.notary.fault is None
        assert (await charging(client, past)).status_code == 202
        assert (await verification(client, past))["ok"]
    async with started(past) as (runtime, _):
        assert runtime.notary.fault is None
    await bring_back(past, past.yesterday)
    async with started(past) as (runtime, _):
        assert runtime.notary.fault is not None, "an old acceptance does not excuse the next rollback"
        assert runtime.notary.fault.name == "rolled_back"


async def test_a_release_waiting_in_an_accepted_past_is_never_drawn_again(past: Past) -> None:
    """It was drawn once in the future that was lost, for the one charge that both have."""
    async with services(past.settings) as runtime:
        world = World(runtime, past.boss)
        waiting = await world.request(past.dataset, samples=2)
        rows = await tampering.backup(runtime.database)
        spent = (await world.account(past.dataset)).spent
        await world.work()
        await remember_head(runtime)
        assert await runtime.cache.get(f"samples:{waiting.id}") is not None
    await bring_back(past, rows)
    async with started(past) as (runtime, client):
        world, head = World(runtime, past.boss), await read_head(runtime)
        act = await accept_head(runtime, head=f"{head.sequence}:{head.digest}", actor="ops", reason=REASON)
        assert act.head.sequence == head.sequence
        await tick(runtime)
        assert runtime.notary.fault is None
        assert not await run_next_release(runtime)
        assert (await world.release(waiting.id)).status == "withdrawn"
        assert kinds_of(await world.entries(past.dataset), waiting.id) == ["reserve", "commit"]
        assert (await world.account(past.dataset)).spent == spent
        assert await world.samples(waiting.id) is None
        assert await runtime.cache.get(f"samples:{waiting.id}") is None
        assert (await verification(client, past))["ok"]
    async with started(past) as (runtime, _):
        assert runtime.notary.fault is None


async def test_a_chain_that_does_not_verify_cannot_be_accepted(past: Past) -> None:
    await behind_its_back(past, tampering.edit)
    async with started(past) as (runtime, _):
        head = await read_head(runtime)
        with pytest.raises(IntegrityFailure):
            await accept_head(runtime, head=f"{head.sequence}:{head.digest}", actor="ops", reason=REASON)


async def test_the_worker_leaves_releases_alone_while_the_ledger_is_not_trusted(past: Past) -> None:
    async with services(past.settings) as runtime:
        waiting = await World(runtime, past.boss).request(past.dataset, samples=2)
    await behind_its_back(past, tampering.edit)
    async with started(past) as (runtime, _):
        stop = asyncio.Event()
        working = asyncio.create_task(run_worker(runtime, stop=stop))
        await asyncio.sleep(0.3)
        stop.set()
        await working
        found = await World(runtime, past.boss).release(waiting.id)
    assert (found.status, found.stage, found.attempts) == ("pending", "reserved", 0)


async def test_a_start_on_an_older_database_wipes_no_upload(past: Past) -> None:
    """Yesterday's database does not know today's rows: they are needed when the newer one is brought back."""
    async with started(past) as (runtime, _):
        await World(runtime, past.boss).dataset("today")
        await remember_head(runtime)
        files = upload_files(runtime)
    await bring_back(past, past.yesterday)
    async with services(past.settings) as runtime:
        await recover_on_start(runtime)
        assert runtime.notary.fault is not None
        assert upload_files(runtime) == files


async def test_an_act_that_lifts_nothing_is_looked_at_once(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once a second, each time through the whole ledger."""
    passes = 0

    async def counted(database: Database) -> Pass:
        nonlocal passes
        passes += 1
        return await verify_all(database)

    await behind_its_back(past, tampering.edit)
    async with started(past) as (runtime, _):
        async with runtime.database.write() as connection:
            stored = await read_stored(connection, lock=True)
            assert stored.signed is not None
            key = runtime.notary.keys.signing
            await record_act(connection, key, "accepted", stored.signed, actor="ops", reason=REASON, replaces=())
        monkeypatch.setattr(watch_ledger, "verify_all", counted)
        for _ in range(3):
            await tick(runtime)
        assert runtime.notary.fault is not None
    assert passes == 1


@pytest.mark.cases(4)
@pytest.mark.parametrize("value", ["x'ff'", "CAST(x'ff' AS TEXT)"], ids=["bytes for text", "text that is no UTF-8"])
@pytest.mark.parametrize("column", ["reason", "account_id", "release_id", "curve_nano"])
async def test_a_line_that_cannot_even_be_read_is_an_edited_line(
    sqlite_backend: Backend, tmp_path: Path, value: str, column: str
) -> None:
    """Only SQLite lets anyone store such a thing."""
    async with services(settings_for(sqlite_backend, tmp_path)) as runtime:
        await check_ledger_on_start(runtime)
        world = await new_world(runtime)
        for name in ("a", "b", "c"):
            await world.dataset(name)
        async with runtime.database.read() as connection:
            start = (await ledger_book.read_batch(connection, after=0))[0]
        broken = f"UPDATE ledger_entries SET {column} = {value} WHERE sequence = 2"
        with closing(sqlite3.connect(sqlite_backend.database_url.removeprefix("sqlite:///"))) as raw:
            raw.execute("PRAGMA ignore_check_constraints = ON")
            raw.execute("DROP TRIGGER ledger_entries_refuse_update")
            raw.execute(broken)
            raw.commit()
        whole = await verify_all(runtime.database)
        links = await verify_links(runtime.database, Head(start.sequence, start.digest))
    for found in (whole, links):
        assert found.fault is not None
        assert (found.fault.name, found.fault.sequence) == ("edited", 2)


async def test_verifications_asked_for_together_are_one(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass lasts until all five have come in: on a busy machine it would be over before the last one is."""
    passes, arrived, everybody = 0, 0, asyncio.Event()

    async def counted(database: Database) -> Pass:
        nonlocal passes
        passes += 1
        await asyncio.wait_for(everybody.wait(), 30)
        return await verify_all(database)

    monkeypatch.setattr(verify_ledger, "verify_all", counted)
    async with started(past) as (runtime, client):
        flights = runtime.warm.flights
        join = flights.do

        def joined(name: Any, work: Any) -> Any:
            nonlocal arrived
            arrived += name == "verify_ledger"
            if arrived == 5:
                everybody.set()
            return join(name, work)

        monkeypatch.setattr(flights, "do", joined)
        found = await asyncio.gather(*(verification(client, past) for _ in range(5)))
        assert passes == 1
        assert all(answer["ok"] for answer in found)
        await verification(client, past)
    assert passes == 2
