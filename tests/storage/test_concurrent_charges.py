"""Budgets under concurrency: what fits is admitted, nothing more, and every reader sees it so."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError

from app.errors import BudgetExhausted, IntegrityFailure
from app.ledger.account import account_id
from app.ledger.amounts import NANO
from app.ledger.posting import access_posting, commit_posting, reserve_posting, void_posting
from app.services.ledger.verify_lines import verify_all
from app.storage.accounts import get_account, lock_accounts
from app.storage.engine import Database
from app.storage.ledger_book import page_entries, post, reservation
from tests.conftest import Backend
from tests.storage.populated import ONE, WHO, add_account, add_principal, fitting, populate


async def reserve(database: Database, release: str, amounts: object) -> bool:
    try:
        async with database.write() as connection:
            account = (await lock_accounts(connection, ["ds_a"]))["ds_a"]
            await post(connection, reserve_posting(account, release, amounts, event="{}", **WHO))
    except BudgetExhausted:
        return False
    return True


async def test_of_forty_concurrent_charges_exactly_the_seven_that_fit_are_admitted(backend: Backend) -> None:
    """Four pools on one database, as four workers would have."""
    epsilon, amounts = fitting(7)
    workers = [Database.open(backend.database_url) for _ in range(4)]
    await populate(workers[0], epsilon=epsilon, delta=0.0)
    over_budget, done = [], asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            async with workers[3].read() as connection:
                account = await get_account(connection, "ds_a")
            if account is None or account.spent.pure_nano > account.pure_capacity_nano:
                over_budget.append(account)
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    admitted = await asyncio.gather(*(reserve(workers[i % 4], f"rel_{i}", amounts) for i in range(40)))
    done.set()
    await watching
    async with workers[1].read() as connection:
        account = await get_account(connection, "ds_a")
    verdict = await verify_all(workers[1])
    for worker in workers:
        await worker.dispose()
    assert sum(admitted) == 7
    assert over_budget == []
    assert (verdict.fault, verdict.head.sequence) == (None, 8)
    assert account is not None
    assert account.spent.pure_nano == 7 * NANO // 4


async def test_accounts_locked_in_any_order_do_not_deadlock(database: Database) -> None:
    await populate(database, epsilon=100.0)
    async with database.write() as connection:
        await add_principal(connection, "b", "analyst")
        await add_account(connection, analyst="an_b", epsilon=100.0)
    pair = ["ds_a", account_id("ds_a", "an_b")]

    async def both(index: int) -> None:
        ids = pair if index % 2 else pair[::-1]
        async with database.write() as connection:
            locked = await lock_accounts(connection, ids)
            for name in ids:
                await post(connection, access_posting(locked[name], f"rel_{index}", ONE, event="{}", **WHO))

    await asyncio.wait_for(asyncio.gather(*(both(index) for index in range(20))), 30)
    verdict = await verify_all(database)
    assert (verdict.fault, verdict.head.sequence) == (None, 42)


async def test_a_posting_made_from_an_old_account_is_refused_instead_of_losing_a_charge(database: Database) -> None:
    stale = await populate(database)
    assert await reserve(database, "rel_1", ONE)
    with pytest.raises(IntegrityFailure):
        async with database.write() as connection:
            await post(connection, reserve_posting(stale, "rel_2", ONE, event="{}", **WHO))
    verdict = await verify_all(database)
    assert (verdict.fault, verdict.head.sequence) == (None, 2)


async def test_a_reservation_settles_once_whatever_a_service_tries(database: Database) -> None:
    await populate(database)
    await reserve(database, "rel_1", ONE)
    async with database.write() as connection:
        account = (await lock_accounts(connection, ["ds_a"]))["ds_a"]
        held = await reservation(connection, "ds_a", "rel_1")
        assert held is not None
        assert held.amounts == ONE
        await post(connection, void_posting(account, "rel_1", ONE, **WHO))
        assert await reservation(connection, "ds_a", "rel_1") is None
    await reserve(database, "rel_2", ONE)
    for settle in (
        lambda account: void_posting(account, "rel_1", ONE, **WHO),
        lambda account: commit_posting(account, "rel_1", **WHO),
        lambda account: reserve_posting(account, "rel_2", ONE, event="{}", **WHO),
    ):
        async with database.read() as connection:
            current = await get_account(connection, "ds_a")
        assert current is not None
        with pytest.raises(IntegrityError):
            async with database.write() as connection:
                await post(connection, settle(current))
    async with database.read() as connection:
        account = await get_account(connection, "ds_a")
    assert (await verify_all(database)).fault is None
    assert account is not None
    assert account.spent == ONE


async def test_an_account_opens_once(database: Database) -> None:
    await populate(database)
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await add_account(connection)


async def test_pages_of_the_ledger_are_whole_ordered_and_by_account(database: Database) -> None:
    await populate(database, epsilon=100.0)
    async with database.write() as connection:
        await add_principal(connection, "b", "analyst")
        await add_account(connection, analyst="an_b", epsilon=100.0)
    for index in range(5):
        await reserve(database, f"rel_{index}", ONE)
    async with database.read() as connection:
        seen, cursor = [], None
        while True:
            page = await page_entries(connection, dataset="ds_a", cursor=cursor, limit=3)
            seen += [entry.sequence for entry in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        nobody = await page_entries(connection, dataset="ds_b")
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert nobody.items == ()
