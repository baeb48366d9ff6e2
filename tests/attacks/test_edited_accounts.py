"""A balance or a cap edited under a running service buys nothing: every charge continues the account's last lines."""

from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import IntegrityError

from app.errors import LedgerUntrusted
from app.ledger.amounts import ZERO
from app.services.ledger.watch_ledger import check_ledger_on_start, tick
from app.services.releases.run_release import run_next_release
from app.storage.accounts import curve_text
from app.storage.tables import accounts
from tests.attacks.tampering import tampered
from tests.conftest import POSTGRES_DEEP
from tests.services.world import World

pytestmark = pytest.mark.engine_in_turn

NOTHING = curve_text(ZERO.curve_nano)
EDITS: dict[str, dict[str, Any]] = {
    "the pure sum": {"spent_pure_nano": 0},
    "the whole balance": {"spent_pure_nano": 0, "spent_curve_nano": NOTHING},
    "the balance, as a posting would": {"spent_curve_nano": NOTHING, "revision": accounts.c.revision + 1},
    "the pure capacity": {"pure_capacity_nano": 9 * 10**12},
    "the capacity": {"capacity_nano": 9 * 10**12},
    "epsilon, with what follows from it": {"epsilon": 9000.0, "pure_capacity_nano": 9 * 10**12},
    "delta": {"delta": 0.1},
    "the part of delta kept": {"slack_delta": 1e-7},
    "the order": {"renyi_order": 2.0},
    "the order, as a first charge would have fixed it": {"regime": "2.0"},
}


@pytest.mark.cases(4)
@POSTGRES_DEEP
@pytest.mark.parametrize("name", EDITS)
async def test_an_edited_account_is_not_charged_and_stops_the_service(world: World, name: str) -> None:
    runtime = world.runtime
    await check_ledger_on_start(runtime)
    dataset = await world.dataset()
    await world.request(dataset, samples=5)
    lines = len(await world.entries(dataset))

    async def edit(connection: Any) -> None:
        await connection.execute(update(accounts).values(EDITS[name]))

    await tampered(runtime.database, edit)
    with pytest.raises(LedgerUntrusted):
        await world.request(dataset, samples=1)
    with pytest.raises(LedgerUntrusted) as refused:
        await run_next_release(runtime)
    assert refused.value.facts["fault"] == "account_differs"
    assert len(await world.entries(dataset)) == lines
    await tick(runtime)
    assert runtime.notary.fault is not None
    assert runtime.notary.fault.name == "account_differs"


async def test_an_account_left_alone_is_charged_beside_an_edited_one_until_the_watch_looks(world: World) -> None:
    """The comparison is by account, so an honest one raises no alarm."""
    edited, honest = await world.dataset("edited"), await world.dataset("honest")

    async def edit(connection: Any) -> None:
        await connection.execute(update(accounts).where(accounts.c.id == edited).values(pure_capacity_nano=1))

    await tampered(world.runtime.database, edit)
    await world.request(honest, samples=2)
    assert world.runtime.notary.suspicion is None


async def test_a_changed_cap_is_continued_by_the_next_charge(world: World) -> None:
    dataset = await world.dataset()
    release = await world.published(dataset, samples=5)
    buyer = await world.buyer(dataset, release, 1)
    await world.cap(dataset, buyer, epsilon=12.0)
    await world.cap(dataset, buyer, epsilon=15.0, delta=1e-7)
    again = await world.published(dataset, samples=3)
    await world.buyer(dataset, again, 2, "bob")
    assert await world.verified()


REFUSED = {
    "a new balance": "UPDATE accounts SET spent_pure_nano = 0",
    "a revision that jumps": "UPDATE accounts SET revision = revision + 2",
    "another owner": "UPDATE accounts SET analyst_id = created_by, revision = revision + 1 FROM principals",
    "a deleted account": "DELETE FROM accounts",
}


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", REFUSED)
async def test_the_database_refuses(world: World, name: str) -> None:
    dataset = await world.dataset()
    await world.request(dataset, samples=2)
    statement = REFUSED[name].replace("created_by", "principals.id")
    with pytest.raises(IntegrityError):
        async with world.runtime.database.write() as connection:
            await connection.execute(text(statement))
    assert await world.verified()


async def test_the_database_refuses_to_replace_an_account(world: World) -> None:
    await world.dataset()
    replaced = "INSERT OR REPLACE INTO accounts SELECT * FROM accounts"
    if not world.runtime.database.is_sqlite:
        replaced = "INSERT INTO accounts SELECT * FROM accounts ON CONFLICT (id) DO UPDATE SET spent_pure_nano = 0"
    with pytest.raises(IntegrityError):
        async with world.runtime.database.write() as connection:
            await connection.execute(text(replaced))
    assert await world.verified()
