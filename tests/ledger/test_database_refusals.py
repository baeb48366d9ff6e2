"""What the database itself refuses, also by the ways that go around an ordinary trigger."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.errors import IntegrityFailure
from app.ledger.entry import Head
from app.ledger.posting import reserve_posting
from app.ledger.signed_head import Keyring, SigningKey
from app.services.ledger.verify_lines import verify_all
from app.storage.accounts import list_accounts
from app.storage.engine import Database
from app.storage.ledger_book import post
from app.storage.ledger_heads import read_stored, record_act, sign_stored
from app.storage.notary import OPTION, Notary
from app.storage.signing_keys import Keys
from tests.conftest import Backend
from tests.storage.populated import ONE, WHO
from tests.storage.test_refused_changes import furnish

KEY = SigningKey("a secret for the tests of the database")
COPY = (
    "SELECT {sequence}, account_id, kind, {release}, pure_nano, slack_atto, curve_nano, total_pure_nano,"
    " total_slack_atto, total_curve_nano, event, 'an_mallory', reason, at_us, {previous}, {digest}, version"
    " FROM ledger_entries WHERE sequence = {of}"
)
FORGED = "substr(digest, 2, 31) || substr(digest, 1, 1)"


def copy(of: int, sequence: str = "sequence", previous: str = "previous", digest: str = "digest") -> str:
    return COPY.format(of=of, sequence=sequence, previous=previous, digest=digest, release="release_id")


REFUSED = {
    "a line that does not continue the head": f"INSERT INTO ledger_entries {copy(2, '7', FORGED, FORGED)}",
    "a line in the right place after another digest": f"INSERT INTO ledger_entries {copy(2, '3', FORGED, FORGED)}",
    "the head onto a line that is not there": f"UPDATE ledger_head SET sequence = sequence + 1, digest = {FORGED}",
    "another digest under the same number": f"UPDATE ledger_head SET digest = {FORGED}",
    "the signature taken off": "UPDATE ledger_head SET ledger_id = NULL, key_id = NULL, signature = NULL, signed_us = NULL",
    "another ledger's id": "UPDATE ledger_head SET ledger_id = 'led_other'",
    "half a signature": "UPDATE ledger_head SET key_id = NULL",
    "a changed act": "UPDATE ledger_acts SET reason = 'x'",
    "a deleted act": "DELETE FROM ledger_acts",
}
REPLACED = {
    "a line": f"INSERT OR REPLACE INTO ledger_entries {copy(2)}",
    "a line, by its digest": f"INSERT OR REPLACE INTO ledger_entries {copy(2, '3')}",
    "a line, by its account": f"INSERT OR REPLACE INTO ledger_entries {copy(1, '3', 'digest', FORGED)}",
    "the head": "INSERT OR REPLACE INTO ledger_head SELECT * FROM ledger_head",
    "samples": "INSERT OR REPLACE INTO sample_sets SELECT * FROM sample_sets",
    "a release": "INSERT OR REPLACE INTO releases SELECT * FROM releases",
    "an act": "INSERT OR REPLACE INTO ledger_acts SELECT * FROM ledger_acts",
    "a line, by an update": "UPDATE OR REPLACE ledger_entries SET sequence = 1 WHERE sequence = 2",
}


async def signed(database: Database) -> None:
    """Two lines, a published release, a signed head and an act."""
    await furnish(database)
    async with database.write() as connection:
        stored = await read_stored(connection, lock=True)
        head = KEY.sign_head("led_a", stored.head, 1)
        await sign_stored(connection, head)
        await record_act(connection, KEY, "adopted", head, actor="start", reason="first")


async def unchanged(database: Database) -> bool:
    async with database.read() as connection:
        signed = (await read_stored(connection)).signed
    return signed is not None and (await verify_all(database)).fault is None


@pytest.mark.cases(10)
@pytest.mark.parametrize("name", REFUSED)
async def test_the_database_refuses(database: Database, name: str) -> None:
    await signed(database)
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(text(REFUSED[name]))
    assert await unchanged(database)


@pytest.mark.parametrize("name", REPLACED)
async def test_sqlite_refuses_to_replace(sqlite_backend: Backend, name: str) -> None:
    database = Database.open(sqlite_backend.database_url)
    await signed(database)
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(text(REPLACED[name]))
    assert await unchanged(database)
    await database.dispose()


async def test_a_version_that_does_not_sign_cannot_continue_a_signed_ledger(database: Database) -> None:
    """By the trigger, as an earlier version would meet it, and by this version without its key."""
    await signed(database)
    async with database.read() as connection:
        account = (await list_accounts(connection))[0]
    with pytest.raises(IntegrityFailure):
        async with database.write() as connection:
            await post(connection, reserve_posting(account, "rel_9", ONE, event="{}", **WHO))
    moved = "UPDATE ledger_head SET sequence = sequence + 1"
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(text(moved))


async def test_a_posting_with_a_notary_leaves_a_head_that_verifies(backend: Backend) -> None:
    ring = Keyring([KEY.public])
    database = Database.open(backend.database_url, options={OPTION: Notary(lambda: Keys(KEY, ring))})
    await furnish(database)
    async with database.read() as connection:
        stored = await read_stored(connection)
        account = (await list_accounts(connection))[0]
    assert stored.signed is not None
    assert ring.vouches(stored.signed)
    async with database.write() as connection:
        entry = await post(connection, reserve_posting(account, "rel_9", ONE, event="{}", **WHO))
    async with database.read() as connection:
        after = (await read_stored(connection)).signed
    assert after is not None
    assert ring.vouches(after)
    assert (after.head, after.ledger) == (Head(entry.sequence, entry.digest), stored.signed.ledger)
    await database.dispose()
