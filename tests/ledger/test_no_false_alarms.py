"""What an honest life does to heads and their witnesses never looks like tampering."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from app.ledger.head_record import encode_witness
from app.ledger.posting import reserve_posting
from app.ledger.signed_head import SigningKey
from app.main import running
from app.services.ledger.watch_ledger import check_ledger_on_start, remember_head, tick
from app.services.runtime.runtime import Runtime
from app.settings import Settings
from app.storage import ledger_heads
from app.storage.accounts import list_accounts, lock_accounts
from app.storage.disk_witness import place_of
from app.storage.engine import Database
from app.storage.ledger_book import post
from app.storage.signing_keys import KEY_FILE
from tests.services.world import World, new_world, services
from tests.storage.populated import ONE, WHO, populate

pytestmark = pytest.mark.engine_in_turn


@asynccontextmanager
async def started(settings: Settings) -> AsyncIterator[Runtime]:
    async with services(settings) as runtime:
        await check_ledger_on_start(runtime)
        yield runtime


async def trusted(settings: Settings) -> bool:
    async with started(settings) as runtime:
        await tick(runtime, full=True)
        return runtime.notary.fault is None


async def lived(settings: Settings) -> World:
    """A ledger with a release whose head was seen."""
    async with started(settings) as runtime:
        world = await new_world(runtime)
        await world.published(await world.dataset(), samples=3)
        await remember_head(runtime)
    return world


async def test_an_honest_restart_raises_no_alarm(settings: Settings) -> None:
    await lived(settings)
    assert await trusted(settings)


@pytest.mark.slow
async def test_a_process_killed_between_commit_and_witness_raises_no_alarm(settings: Settings) -> None:
    """What a kill leaves: the database is ahead of everything that was written down."""
    world = await lived(settings)
    async with services(settings) as runtime:
        await world.on(runtime).dataset("second")
    assert await trusted(settings)


async def test_a_stop_in_good_order_leaves_the_newest_head_with_its_witnesses(settings: Settings) -> None:
    """A line written a moment before the stop: a database rolled back by that line would not be noticed otherwise."""
    async with running(settings) as runtime:
        world = await new_world(runtime)
        await world.dataset()
    async with services(settings) as runtime:
        async with runtime.database.read() as connection:
            stored = await ledger_heads.read_stored(connection)
        assert stored.signed is not None
        seen = await runtime.witnesses.seen(stored.signed.ledger)
    assert [witness.signed for witness in seen] == [stored.signed] * (1 if settings.redis_url is None else 2)


async def test_a_transaction_that_did_not_commit_raises_no_alarm(settings: Settings) -> None:
    world = await lived(settings)
    async with started(settings) as runtime:
        for name in ("one", "two"):
            with pytest.raises(ZeroDivisionError):
                await _charge_and_fail(runtime, name)
            await tick(runtime, full=True)
        assert runtime.notary.fault is None
        await world.on(runtime).dataset("after")
    assert await trusted(settings)


async def _charge_and_fail(runtime: Runtime, name: str) -> None:
    """Two lines in one transaction, the second on a head that nobody will ever see."""
    async with runtime.database.write() as connection:
        known = await list_accounts(connection)
        account = (await lock_accounts(connection, [known[0].id]))[known[0].id]
        first = reserve_posting(account, f"rel_{name}", ONE, event="{}", **WHO)
        await post(connection, first)
        await post(connection, reserve_posting(first.account, "rel_x", ONE, event="{}", **WHO))
        raise ZeroDivisionError


async def test_a_lost_witness_raises_no_alarm_and_is_told_again(settings: Settings) -> None:
    await lived(settings)
    async with started(settings) as runtime:
        if runtime.witnesses.redis is not None:
            await runtime.witnesses.redis._client.flushdb()
        shutil.rmtree(settings.data_dir / "ledger")
    assert await trusted(settings)
    async with started(settings) as runtime:
        async with runtime.database.read() as connection:
            stored = await ledger_heads.read_stored(connection)
        assert stored.signed is not None
        seen = await runtime.witnesses.seen(stored.signed.ledger)
    assert [witness.signed for witness in seen] == [stored.signed] * (1 if settings.redis_url is None else 2)


async def test_an_older_witness_brought_back_raises_no_alarm(settings: Settings, tmp_path: Path) -> None:
    world = await lived(settings)
    shutil.copytree(settings.data_dir / "ledger", tmp_path / "kept")
    async with started(settings) as runtime:
        await world.on(runtime).dataset("second")
        await remember_head(runtime)
    shutil.rmtree(settings.data_dir / "ledger")
    shutil.copytree(tmp_path / "kept", settings.data_dir / "ledger")
    assert await trusted(settings)


async def test_junk_beside_the_database_raises_no_alarm(settings: Settings) -> None:
    """Unsigned, or signed by somebody else, a witness says nothing, however far ahead it claims to be."""
    await lived(settings)
    forger = SigningKey("somebody else's secret, long enough too")
    async with services(settings) as runtime:
        async with runtime.database.read() as connection:
            signed = (await ledger_heads.read_stored(connection)).signed
        assert signed is not None
        ahead = replace(signed.head, sequence=10**9)
        if runtime.witnesses.redis is not None:
            await runtime.witnesses.redis.advance(forger.sign_head(signed.ledger, ahead, 1), 99)
            await runtime.witnesses.redis.advance(replace(signed, head=ahead), 100)
    path = next((settings.data_dir / "ledger").glob("head-*.json"))
    for junk in (b"", b"{", b"[]", b'{"version": 1}', json.dumps({"version": 1, "acts": 7, "sequence": -1}).encode()):
        path.write_bytes(junk)
        assert await trusted(settings)


async def test_an_honest_head_with_a_made_up_number_of_acts_raises_no_alarm_and_is_replaced(settings: Settings) -> None:
    world = await lived(settings)
    path = next((settings.data_dir / "ledger").glob("head-*.json"))
    async with services(settings) as runtime:
        async with runtime.database.read() as connection:
            signed = (await ledger_heads.read_stored(connection)).signed
        assert signed is not None
        path.write_bytes(encode_witness(signed, 5))
        if runtime.witnesses.redis is not None:
            await runtime.witnesses.redis.advance(signed, 5)
    async with started(settings) as runtime:
        await tick(runtime, full=True)
        assert runtime.notary.fault is None
        await world.on(runtime).dataset("after")
        await remember_head(runtime)
        seen = await runtime.witnesses.seen(signed.ledger)
    assert [witness.acts for witness in seen] == [0] * (1 if settings.redis_url is None else 2)
    assert all(witness.mark is not None for witness in seen)


async def test_processes_that_charge_and_look_at_once_raise_no_alarm(settings: Settings) -> None:
    world = await lived(settings)
    async with started(settings) as one, started(settings) as other:

        async def charge(runtime: Runtime, name: str) -> None:
            for index in range(6):
                await world.on(runtime).dataset(f"{name}-{index}")

        charging = asyncio.gather(charge(one, "one"), charge(other, "other"))
        looks = 0
        while not charging.done():
            await asyncio.gather(tick(one, full=looks % 2 == 0), tick(other, full=True))
            looks += 1
        await charging
        assert looks > 3
        assert (one.notary.fault, other.notary.fault) == (None, None)
    assert await trusted(settings)


async def test_a_ledger_from_before_signatures_is_adopted_once(settings: Settings) -> None:
    database = Database.open(settings.database_url)
    await populate(database)
    await database.dispose()
    assert await trusted(settings)
    assert await trusted(settings)
    async with started(settings) as runtime, runtime.database.read() as connection:
        stored, acts = await ledger_heads.read_stored(connection), await ledger_heads.list_acts(connection)
    assert stored.signed is not None
    assert (stored.signed.head.sequence, [act.kind for act in acts]) == (1, ["adopted"])


async def test_a_new_key_that_lists_the_old_one_goes_on_and_a_stranger_does_not(settings: Settings) -> None:
    await lived(settings)
    async with services(settings) as runtime:
        old = runtime.notary.keys.signing.public.hex()
    (settings.data_dir / KEY_FILE).unlink()
    stranger = settings.model_copy(update={"signing_key": SecretStr("a new secret that nobody was told about")})
    async with started(stranger) as runtime:
        assert runtime.notary.fault is not None
        assert runtime.notary.fault.name == "unknown_key"
    heir = stranger.model_copy(update={"verifying_keys": (old,)})
    async with started(heir) as runtime:
        assert runtime.notary.fault is None
        async with runtime.database.read() as connection:
            stored, acts = await ledger_heads.read_stored(connection), await ledger_heads.list_acts(connection)
        assert stored.signed is not None
        assert stored.signed.key_id == runtime.notary.keys.signing.id
        assert [act.kind for act in acts] == ["rotated"]
    assert await trusted(heir)


def test_a_changed_password_is_not_another_place() -> None:
    one, other = make_url("postgresql://a:b@db/postern"), make_url("postgresql://c:d@db/postern")
    assert place_of(one) == place_of(other)
    assert place_of(one) != place_of(make_url("postgresql://a:b@db/other"))


async def test_a_head_seen_by_a_request_in_the_middle_of_a_look_raises_no_alarm(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look's snapshot is older than what a request then witnesses: no way back, only an older look."""
    runtime = world.runtime
    await check_ledger_on_start(runtime)
    await world.published(await world.dataset(), samples=3)
    await tick(runtime)
    reading, listing = ledger_heads.count_acts, ledger_heads.list_acts

    async def charged_meanwhile(name: str) -> None:
        await world.dataset(name)
        async with runtime.database.read() as connection:
            stored = await ledger_heads.read_stored(connection)
        assert stored.signed is not None
        runtime.notary.saw(stored.signed, 0)

    async def slow_list(connection: Any) -> Any:
        monkeypatch.setattr(ledger_heads, "list_acts", listing)
        found = await listing(connection)
        await charged_meanwhile("during the look")
        return found

    async def slow_count(connection: Any) -> int:
        monkeypatch.setattr(ledger_heads, "count_acts", reading)
        found = await reading(connection)
        await charged_meanwhile("during the tick")
        return found

    monkeypatch.setattr(ledger_heads, "list_acts", slow_list)
    await tick(runtime, full=True)
    assert runtime.notary.fault is None
    monkeypatch.setattr(ledger_heads, "count_acts", slow_count)
    assert not await tick(runtime), "nothing went back, so nothing calls for a whole look"
    assert runtime.notary.fault is None


async def test_secrets_that_change_one_process_at_a_time_never_make_the_others_distrust(settings: Settings) -> None:
    """Old and new process charge in turns, in either order of restarts, with both public keys listed before."""
    secrets = ["a" * 40, "b" * 40]
    listed = tuple(SigningKey(secret).public.hex() for secret in secrets)
    old, new = (
        settings.model_copy(update={"signing_key": SecretStr(secret), "verifying_keys": listed}) for secret in secrets
    )
    async with started(old) as first:
        world = await new_world(first)
        async with started(new) as second:
            for number, runtime in enumerate([first, second, second, first, second, first]):
                await world.on(runtime).dataset(f"d{number}")
                for each in (first, second):
                    await tick(each, full=True)
                    assert each.notary.fault is None
    assert await trusted(old)
    assert await trusted(new)
