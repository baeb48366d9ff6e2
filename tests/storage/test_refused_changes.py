"""What the database itself refuses, and what the verifier finds if somebody gets around it."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.ledger.posting import reserve_posting
from app.services.ledger.verify_lines import verify_all
from app.storage.engine import Database
from app.storage.ledger_book import post
from app.storage.releases import claim_next, publish
from app.storage.sample_sets import insert_samples, record_of
from tests.conftest import Backend
from tests.storage.populated import NOW_US, ONE, WHO, add_release, populate


async def furnish(database: Database) -> None:
    """One published release with samples and two ledger lines."""
    account = await populate(database)
    async with database.write() as connection:
        await post(connection, reserve_posting(account, "rel_1", ONE, event="{}", **WHO))
        await add_release(connection, "rel_1")
        await insert_samples(connection, record_of("rel_1", np.full((2, 1), 0.5)))
        await claim_next(connection, now_us=NOW_US, token="t", lease_us=1000)
        assert await publish(connection, "rel_1", "t", NOW_US)


REFUSED = {
    "changing an entry": "UPDATE ledger_entries SET actor = 'x' WHERE sequence = 1",
    "deleting an entry": "DELETE FROM ledger_entries WHERE sequence = 2",
    "changing samples": "UPDATE sample_sets SET body = body",
    "deleting samples": "DELETE FROM sample_sets",
    "moving the head back": "UPDATE ledger_head SET sequence = 1",
    "jumping the head": "UPDATE ledger_head SET sequence = 9",
    "deleting the head": "DELETE FROM ledger_head",
    "a second head": "INSERT INTO ledger_head (id, sequence, digest) VALUES (2, 0, digest_placeholder)",
    "changing a published release": "UPDATE releases SET model = '{}'",
    "unpublishing a release": "UPDATE releases SET status = 'pending', stage = 'reserved', published_us = NULL",
    "deleting a release": "DELETE FROM releases",
    "an overdrawn account": "UPDATE accounts SET spent_pure_nano = -1",
    "a negative epsilon": "UPDATE datasets SET epsilon = -1",
    "a delta of one": "UPDATE datasets SET delta = 1",
    "an unknown role": "INSERT INTO principals VALUES ('an_x', 'root', 'x', NULL, 0)",
    "an access to nothing": "INSERT INTO accesses VALUES ('an_steward', 'rel_1', 0, 0, 0)",
}


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", REFUSED)
async def test_the_database_refuses(database: Database, name: str) -> None:
    await furnish(database)
    statement = REFUSED[name].replace("digest_placeholder", "'x'" if database.is_sqlite else "'x'::bytea")
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(text(statement))
    assert (await verify_all(database)).fault is None


@pytest.mark.parametrize("fit_check", [None, {"epsilon": 0.1, "delta": None}])
async def test_a_check_of_fit_is_neither_added_nor_taken_away_once_it_was_charged_for(
    database: Database, fit_check: dict[str, float | None] | None
) -> None:
    await populate(database)
    async with database.write() as connection:
        await add_release(connection, "rel_1", fit_check=fit_check)
    changed = "NULL" if fit_check else "'{}'"
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(text(f"UPDATE releases SET fit_check = {changed}"))


async def test_a_second_sample_set_for_a_release_is_refused(database: Database) -> None:
    await furnish(database)
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await insert_samples(connection, record_of("rel_1", np.full((2, 1), 0.6)))


async def test_postgres_refuses_to_empty_what_may_not_be_deleted(postgres_backend: Backend) -> None:
    database = Database.open(postgres_backend.database_url)
    for table in ("ledger_entries", "sample_sets", "ledger_head"):
        with pytest.raises(IntegrityError):
            async with database.write() as connection:
                await connection.execute(text(f"TRUNCATE {table} CASCADE"))
    await database.dispose()


def _drop_trigger(table: str, event: str) -> Callable[[Database], str]:
    return lambda database: f"DROP TRIGGER {table}_refuse_{event}" + ("" if database.is_sqlite else f" ON {table}")


TAMPERED = {
    "an edited line": (
        [_drop_trigger("ledger_entries", "update"), "UPDATE ledger_entries SET actor = 'x' WHERE sequence = 2"],
        "edited",
    ),
    "a lost last line": (
        [_drop_trigger("ledger_entries", "delete"), "DELETE FROM ledger_entries WHERE sequence = 2"],
        "truncated",
    ),
    "a lost first line": (
        [_drop_trigger("ledger_entries", "delete"), "DELETE FROM ledger_entries WHERE sequence = 1"],
        "deleted",
    ),
    "a refund without a line": (
        [_drop_trigger("accounts", "update"), "UPDATE accounts SET spent_pure_nano = 0"],
        "account_differs",
    ),
    "a raised cap without a line": (
        [_drop_trigger("accounts", "update"), "UPDATE accounts SET pure_capacity_nano = 9000000000"],
        "account_differs",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
async def test_tampering_behind_the_triggers_is_named(database: Database, name: str) -> None:
    await furnish(database)
    steps, reason = TAMPERED[name]
    async with database.write() as connection:
        for step in steps:
            await connection.execute(text(step if isinstance(step, str) else step(database)))
    fault = (await verify_all(database)).fault
    assert fault is not None
    assert fault.name == reason


@pytest.mark.slow
async def test_verification_beside_running_charges_sees_a_consistent_book(database: Database) -> None:
    account = await populate(database, epsilon=100.0)

    async def charge() -> None:
        nonlocal account
        for index in range(15):
            async with database.write() as connection:
                posting = reserve_posting(account, f"rel_{index}", ONE, event="{}", **WHO)
                await post(connection, posting)
            account = posting.account

    charging = asyncio.create_task(charge())
    verdicts = []
    while not charging.done():
        verdicts.append(await verify_all(database))
    await charging
    assert all(verdict.fault is None for verdict in verdicts)
