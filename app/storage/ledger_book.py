"""The ledger on disk: sealing postings into the chain, reading them back, checking all of it."""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import Row, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IntegrityFailure
from app.ledger.amounts import ZERO, Amounts
from app.ledger.entry import CHARGES, Entry, Head
from app.ledger.hash_chain import GENESIS, seal
from app.ledger.posting import Posting, continues
from app.ledger.trust import TrustFault
from app.ledger.verification import Verifier
from app.storage.accounts import account_values, curve_of, curve_text
from app.storage.engine import is_away
from app.storage.ledger_heads import read_stored, signature_values
from app.storage.migrate import require_current
from app.storage.notary import notary_of, untrusted
from app.storage.paging import Page, decode_cursor, page_of
from app.storage.tables import accounts, ledger_entries, ledger_head

_BATCH = 500
_WHOSE = ("id", "dataset_id", "analyst_id", "population_id")


async def post(connection: AsyncConnection, posting: Posting, *, accepted: bool = False) -> Entry:
    """Save the account as the posting leaves it and append its line, in the caller's transaction.

    The account is written only over the revision the posting was made from, so a posting made without the
    account's lock fails here instead of losing somebody's charge. The head is locked last and held until the
    commit: lines of all accounts form one sequence. With a notary the head is checked before and signed after.
    Raises LedgerUntrusted, also for an account that is not as its last lines leave it; ProgramTooOld.

    `accepted`: a person accepted the head in this very transaction, so it is continued whatever this process saw before.
    """
    await require_current(connection)
    await _save(connection, posting)
    await _check_account(connection, posting)
    before = await read_stored(connection, lock=True)
    notary = notary_of(connection)
    if notary is not None:
        if not accepted:
            notary.check_continues(before)
        if before.signed is None and before.head != GENESIS:
            await _check_unsigned(connection)
    elif before.signed is not None:
        raise IntegrityFailure("a signed ledger can only be continued with its key")
    entry = seal(posting, before.head)
    values: dict[str, Any] = {"sequence": entry.sequence, "digest": entry.digest}
    if notary is not None:
        values |= signature_values(notary.sign(before, Head(entry.sequence, entry.digest), entry.at_us))
    await connection.execute(insert(ledger_entries).values(_values(entry)))
    moved = update(ledger_head).where(ledger_head.c.sequence == before.head.sequence)
    await connection.execute(moved.values(values))
    return entry


async def _check_account(connection: AsyncConnection, posting: Posting) -> None:
    """Two look-ups by index, or three, whatever the length of the ledger. The condition is written out: SQLite uses a partial
    index only for the very words it was made with."""
    lines = ledger_entries.c
    newest = (
        select(ledger_entries).where(lines.account_id == posting.account.id).order_by(lines.sequence.desc()).limit(1)
    )
    last = (await connection.execute(newest)).one_or_none()
    cap = (await connection.execute(newest.where(text("kind IN ('open', 'cap')")))).one_or_none()
    try:
        totals = None if last is None else _entry(last).totals
        charged = last
        if last is not None and totals != ZERO and last.kind not in CHARGES:
            charged = (await connection.execute(newest.where(lines.kind.in_(CHARGES)))).one_or_none()
        sound = continues(
            posting, totals, None if cap is None else cap.event, None if charged is None else charged.event
        )
    except (ValueError, TypeError, KeyError, AttributeError, IntegrityFailure):
        sound = False
    if sound:
        return
    fault = TrustFault("account_differs", f"account {posting.account.id} was changed without a line", 0)
    notary = notary_of(connection)
    if notary is not None:
        notary.suspect(fault)
    raise untrusted(fault)


async def _check_unsigned(connection: AsyncConnection) -> None:
    """Before the first signature under a ledger from an earlier version: all of it has to verify, once.

    The posting at hand has saved its account already, so accounts are not compared here; starts compare them.
    """
    verifier = Verifier()
    async for entry in stream(connection):
        if not verifier.feed(entry):
            break
    found = verifier.result((await read_stored(connection)).head)
    if not found.ok:
        raise untrusted(TrustFault(str(found.reason), f"line {found.first_bad} does not verify", found.count))


async def reservation(connection: AsyncConnection, account_id: str, release_id: str) -> Entry | None:
    """The line that reserved for a release, unless it is settled."""
    found = [line for line in await reservations(connection, release_id) if line.account == account_id]
    return found[0] if found else None


async def reservations(connection: AsyncConnection, release_id: str) -> list[Entry]:
    """The lines that reserved for a release and are not settled, in order: its dataset's, after that of its population if it
    has one."""
    statement = (
        select(ledger_entries)
        .where(ledger_entries.c.release_id == release_id)
        .where(ledger_entries.c.kind.in_(("reserve", "commit", "void")))
        .order_by(ledger_entries.c.sequence)
    )
    lines = [_entry(row) for row in await connection.execute(statement)]
    settled = {line.account for line in lines if line.kind != "reserve"}
    return [line for line in lines if line.kind == "reserve" and line.account not in settled]


async def page_entries(
    connection: AsyncConnection,
    *,
    dataset: str | None = None,
    population: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[Entry]:
    """Of all accounts on a dataset, or of a population's, oldest first."""
    statement = select(ledger_entries).join(accounts).where(accounts.c.dataset_id == dataset)
    if population is not None:
        statement = select(ledger_entries).join(accounts).where(accounts.c.population_id == population)
    statement = statement.order_by(ledger_entries.c.sequence).limit(limit + 1)
    if cursor is not None:
        statement = statement.where(ledger_entries.c.sequence > decode_cursor(cursor)[0])
    found = [_entry(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.sequence, ""))


async def stream(connection: AsyncConnection) -> AsyncIterator[Entry]:
    """Every line, in order, a batch in memory at a time.

    Batches by sequence rather than a server's cursor, which a reader who stops half-way would leave open.
    """
    after = 0
    while True:
        batch = await read_batch(connection, after=after)
        for entry in batch:
            yield entry
        if len(batch) < _BATCH:
            return
        after = batch[-1].sequence


async def read_batch(connection: AsyncConnection, *, after: int) -> list[Entry]:
    """The next few hundred lines; fewer only at the end, or before a line that the driver itself cannot read."""
    ordered = select(ledger_entries).order_by(ledger_entries.c.sequence).where(ledger_entries.c.sequence > after)
    try:
        return [_suspect(row) for row in await connection.execute(ordered.limit(_BATCH))]
    except DBAPIError as error:
        if is_away(error):
            raise
    found: list[Entry] = []
    try:
        while len(found) < _BATCH:
            row = (await connection.execute(ordered.limit(1).offset(len(found)))).one_or_none()
            if row is None:
                break
            found.append(_suspect(row))
    except DBAPIError as error:
        if is_away(error):
            raise
        found.append(_unreadable(after + len(found) + 1))
    return found


def _suspect(row: Row[Any]) -> Entry:
    """A line that may have been tampered with: what cannot even be read gets a digest that fits nothing."""
    try:
        return _entry(row)
    except Exception:  # whatever is wrong with it, it is the line that is wrong
        return _unreadable(row.sequence, row.previous)


def _unreadable(sequence: int, previous: object = b"") -> Entry:
    link = bytes(previous) if isinstance(previous, bytes | memoryview) else b""
    return Entry(sequence, "", "cap", None, ZERO, ZERO, "{}", "", "", 0, link, b"")


async def _save(connection: AsyncConnection, posting: Posting) -> None:
    values = account_values(posting.account)
    if posting.kind == "open":
        await connection.execute(insert(accounts).values(values))
        return
    # Who an account belongs to never changes. Naming the key in SET would make SQLite look for lines that refer to it:
    # all of the account's, at every charge.
    changed = {name: value for name, value in values.items() if name not in _WHOSE}
    statement = (
        update(accounts)
        .where(accounts.c.id == posting.account.id, accounts.c.revision == posting.account.revision - 1)
        .values(changed)
    )
    if (await connection.execute(statement)).rowcount != 1:
        raise IntegrityFailure("the account changed since it was read; it has to be locked first")


def _values(entry: Entry) -> dict[str, Any]:
    return {
        "sequence": entry.sequence,
        "account_id": entry.account,
        "kind": entry.kind,
        "release_id": entry.release,
        "pure_nano": entry.amounts.pure_nano,
        "slack_atto": entry.amounts.slack_atto,
        "curve_nano": curve_text(entry.amounts.curve_nano),
        "total_pure_nano": entry.totals.pure_nano,
        "total_slack_atto": entry.totals.slack_atto,
        "total_curve_nano": curve_text(entry.totals.curve_nano),
        "event": entry.event,
        "actor": entry.actor,
        "reason": entry.reason,
        "at_us": entry.at_us,
        "previous": entry.previous,
        "digest": entry.digest,
        "version": entry.version,
    }


def _entry(row: Row[Any]) -> Entry:
    return Entry(
        sequence=row.sequence,
        account=row.account_id,
        kind=row.kind,
        release=row.release_id,
        amounts=Amounts(row.pure_nano, curve_of(row.curve_nano), row.slack_atto),
        totals=Amounts(row.total_pure_nano, curve_of(row.total_curve_nano), row.total_slack_atto),
        event=row.event,
        actor=row.actor,
        reason=row.reason,
        at_us=row.at_us,
        previous=bytes(row.previous),
        digest=bytes(row.digest),
        version=row.version,
    )
