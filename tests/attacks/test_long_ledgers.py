"""A long ledger starts from its checkpoint; what lies before is gone through in the background, and nothing is missed."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import LedgerUntrusted
from app.ledger.head_record import decode_witness, encode_witness
from app.ledger.signed_head import SignedHead, SigningKey
from app.services.ledger.verify_lines import AT_START_MAX
from app.services.ledger.watch_ledger import check_ledger_on_start, go_through, watch_ledger
from app.services.reading.answer_query import answer_query
from app.services.runtime.runtime import Runtime
from app.storage.ledger_heads import read_stored
from tests.attacks import tampering
from tests.attacks.long_ledger import LINES, Long
from tests.attacks.past import behind_its_back, charging, started, verification
from tests.services.world import QUESTION, services

pytestmark = pytest.mark.engine_in_turn

Tampering = Callable[..., Awaitable[None]]
IN_THE_PAST: dict[str, Tampering] = {
    "edited": tampering.edit,
    "deleted": tampering.remove,
    "inserted": tampering.push_aside,
    "reordered": tampering.swap,
}


@contextmanager
def lines_read(runtime: Runtime) -> Iterator[list[int]]:
    """How many lines of the ledger the process asked for at most, counted where statements leave for the database."""
    asked = [0]

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, _many: Any) -> None:
        if "FROM ledger_entries" in statement and "LIMIT" in statement:
            values = parameters.values() if isinstance(parameters, dict) else parameters
            asked[0] += max(int(value) for value in values if int(value) <= 500)

    engine = runtime.database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


def checkpoint_of(long: Long) -> SignedHead:
    body = long.checkpoint.read_bytes()
    found = decode_witness(body, json.loads(body)["ledger"])
    assert found is not None
    return found[0]


@pytest.mark.slow
async def test_a_clean_long_ledger_starts_from_its_checkpoint_and_is_verified_whole_in_the_background(
    long: Long,
) -> None:
    async with services(long.past.settings) as runtime:
        with lines_read(runtime) as at_start:
            await check_ledger_on_start(runtime)
        assert runtime.notary.fault is None
        assert 0 < at_start[0] <= 1_500 < LINES
        assert checkpoint_of(long).head.sequence == long.checked
        stop = asyncio.Event()
        with lines_read(runtime) as in_background:
            watching = asyncio.create_task(watch_ledger(runtime, stop=stop))
            for _ in range(2_000):
                await asyncio.sleep(0.05)
                if checkpoint_of(long).head.sequence > long.checked:
                    break
            stop.set()
            await watching
        assert in_background[0] >= long.head
        assert runtime.notary.fault is None
    assert checkpoint_of(long).head.sequence == long.head


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", IN_THE_PAST)
async def test_tampering_before_the_checkpoint_is_named_by_the_background_and_stops_the_service(
    long: Long, name: str
) -> None:
    at = long.early + 1_000
    await behind_its_back(long.past, partial(IN_THE_PAST[name], at=at))
    async with started(long.past) as (runtime, client):
        assert runtime.notary.fault is None, "a start does not go back so far"
        before = long.checkpoint.read_bytes()
        await go_through(runtime)
        fault = runtime.notary.fault
        assert fault is not None
        assert (fault.name, fault.trusted, fault.sequence) == (name, at - 1, at)
        refused = await charging(client, long.past)
        assert (refused.status_code, refused.json()["fault"]) == (503, name)
        with pytest.raises(LedgerUntrusted):
            await answer_query(runtime, reader=long.past.boss.reader, release_id=long.past.new_release, body=QUESTION)
        assert await answer_query(
            runtime, reader=long.past.boss.reader, release_id=long.past.old_release, body=QUESTION
        )
        assert name in [fault["name"] for fault in (await verification(client, long.past))["faults"]]
        assert long.checkpoint.read_bytes() == before, "a pass that failed vouches for nothing"


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ["edited", "deleted", "reordered"])
async def test_tampering_after_the_checkpoint_is_named_at_the_start(long: Long, name: str) -> None:
    at = long.checked + 20
    await behind_its_back(long.past, partial(IN_THE_PAST[name], at=at))
    async with started(long.past) as (runtime, client):
        fault = runtime.notary.fault
        assert fault is not None
        assert (fault.name, fault.sequence) == (name, at)
        assert (await charging(client, long.past)).status_code == 503


async def _head_for_checkpoint(long: Long) -> SignedHead:
    """The newest head itself, whose signature is genuine: it says nothing about the lines before it."""
    async with services(long.past.settings) as runtime, runtime.database.read() as connection:
        signed = (await read_stored(connection)).signed
    assert signed is not None
    return signed


async def _edited_checkpoint(long: Long) -> SignedHead:
    return replace(checkpoint_of(long), head=(await _head_for_checkpoint(long)).head)


async def _foreign_checkpoint(long: Long) -> SignedHead:
    head = await _head_for_checkpoint(long)
    return SigningKey("the forger's own secret, long enough").sign_checkpoint(head.ledger, head.head, head.at_us)


FORGERIES: dict[str, Callable[[Long], Awaitable[SignedHead]]] = {
    "a head in its place": _head_for_checkpoint,
    "an edited one": _edited_checkpoint,
    "one under another key": _foreign_checkpoint,
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_checkpoint_hides_nothing_from_the_start(long: Long, forgery: str) -> None:
    """It names the very end, so that a start which believed it would look at no line at all."""
    long.checkpoint.write_bytes(encode_witness(await FORGERIES[forgery](long), 0))
    at = long.head - AT_START_MAX + 10
    await behind_its_back(long.past, partial(tampering.edit, at=at))
    async with started(long.past) as (runtime, _):
        assert runtime.notary.fault is not None
        assert (runtime.notary.fault.name, runtime.notary.fault.sequence) == ("edited", at)


async def test_an_older_checkpoint_brought_back_only_makes_the_start_look_further(long: Long) -> None:
    """Lines verified since are looked at again; one of them was changed meanwhile."""
    older = long.checkpoint.read_bytes()
    async with started(long.past) as (runtime, _):
        await go_through(runtime)
    assert checkpoint_of(long).head.sequence == long.head
    long.checkpoint.write_bytes(older)
    await behind_its_back(long.past, partial(tampering.edit, at=long.checked + 1))
    async with started(long.past) as (runtime, _):
        assert runtime.notary.fault is not None
        assert (runtime.notary.fault.name, runtime.notary.fault.sequence) == ("edited", long.checked + 1)


async def test_a_checkpoint_of_a_line_this_chain_lacks_is_not_believed(long: Long) -> None:
    """The line it names was exchanged for another: the start goes on from further back."""

    async def exchange(connection: AsyncConnection) -> None:
        await tampering.swap(connection, at=long.checked)

    await behind_its_back(long.past, exchange)
    async with started(long.past) as (runtime, _):
        assert runtime.notary.fault is not None
        assert (runtime.notary.fault.name, runtime.notary.fault.sequence) == ("reordered", long.checked)


@pytest.mark.cases(2)
@pytest.mark.parametrize("where", ["before it was cut off", "ahead of where it was cut off"])
async def test_a_pass_cut_off_by_a_crash_vouches_for_nothing_and_the_next_one_begins_at_the_first_line(
    long: Long, where: str
) -> None:
    async with services(long.past.settings) as runtime:
        await check_ledger_on_start(runtime)
        with lines_read(runtime) as read:
            passing = asyncio.create_task(go_through(runtime, gentle=True))
            for _ in range(2_000):
                await asyncio.sleep(0.01)
                if read[0] >= 2_000:
                    break
            passing.cancel()
            await asyncio.gather(passing, return_exceptions=True)
        assert 2_000 <= read[0] < long.head
    assert checkpoint_of(long).head.sequence == long.checked
    at = long.early + 100 if where.startswith("before") else long.checked - 100
    await behind_its_back(long.past, partial(tampering.edit, at=at))
    async with services(long.past.settings) as runtime:
        await check_ledger_on_start(runtime)
        assert runtime.notary.fault is None, "a start does not go back so far"
        await go_through(runtime)
        assert runtime.notary.fault is not None
        assert (runtime.notary.fault.name, runtime.notary.fault.sequence) == ("edited", at)
    assert checkpoint_of(long).head.sequence == long.checked
