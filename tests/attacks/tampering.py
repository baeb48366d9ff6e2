"""What someone with full rights on the database, and no signing key, can do to a ledger."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.entry import Entry, Head
from app.ledger.hash_chain import GENESIS, digest_of
from app.ledger.signed_head import SigningKey
from app.storage.engine import Database
from app.storage.ledger_book import _values, stream
from app.storage.ledger_heads import signature_values
from app.storage.tables import ledger_entries, ledger_head, metadata

Rows = dict[str, list[dict[str, Any]]]
FAR = 1_000_000


async def disarm(connection: AsyncConnection) -> None:
    """No trigger objects any more."""
    if connection.dialect.name == "sqlite":
        names = await connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))
        for (name,) in names.all():
            await connection.execute(text(f"DROP TRIGGER {name}"))
        return
    for table in ("ledger_entries", "ledger_head", "ledger_acts", "sample_sets", "releases", "accounts", "datasets"):
        await connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))


async def edit(connection: AsyncConnection, at: int = 3) -> None:
    await connection.execute(update(ledger_entries).where(ledger_entries.c.sequence == at).values(actor="an_mallory"))


async def cheapen(connection: AsyncConnection) -> None:
    """The charge itself, with the total beside it."""
    cheaper = {"pure_nano": 1, "total_pure_nano": 1}
    await connection.execute(update(ledger_entries).where(ledger_entries.c.kind == "reserve").values(cheaper))


async def garble(connection: AsyncConnection) -> None:
    await connection.execute(update(ledger_entries).where(ledger_entries.c.sequence == 2).values(curve_nano="x"))


async def remove(connection: AsyncConnection, at: int = 3) -> None:
    await connection.execute(delete(ledger_entries).where(ledger_entries.c.sequence == at))


async def remove_and_close_up(connection: AsyncConnection) -> None:
    await remove(connection)
    await _shift(connection, 4, -1)
    await connection.execute(update(ledger_head).values(sequence=ledger_head.c.sequence - 1))


async def squeeze_in(connection: AsyncConnection) -> None:
    rows = (await connection.execute(select(ledger_entries).where(ledger_entries.c.sequence == 3))).mappings().one()
    await _shift(connection, 3, 1)
    forged = dict(rows) | {"release_id": "rel_forged", "previous": os.urandom(32), "digest": os.urandom(32)}
    forged |= {"kind": "access", "pure_nano": 0, "slack_atto": 0}
    await connection.execute(insert(ledger_entries).values(forged))
    await connection.execute(update(ledger_head).values(sequence=ledger_head.c.sequence + 1))


async def push_aside(connection: AsyncConnection, at: int) -> None:
    """A forged line, hidden by dropping another further on: the lines behind them keep their numbers."""
    end = at + 20
    await remove(connection, end)
    row = (await connection.execute(select(ledger_entries).where(ledger_entries.c.sequence == at))).mappings().one()
    for low, move in ((at, FAR), (at + FAR, 1 - FAR)):
        lines = update(ledger_entries).where(ledger_entries.c.sequence.between(low, low + end - at))
        await connection.execute(lines.values(sequence=ledger_entries.c.sequence + move))
    forged = dict(row) | {"release_id": "rel_forged", "previous": os.urandom(32), "digest": os.urandom(32)}
    await connection.execute(insert(ledger_entries).values(forged | {"kind": "access"}))


async def swap(connection: AsyncConnection, at: int = 2) -> None:
    for before, after in ((at, FAR), (at + 1, at), (FAR, at + 1)):
        lines = update(ledger_entries).where(ledger_entries.c.sequence == before)
        await connection.execute(lines.values(sequence=after))


async def cut_off(connection: AsyncConnection) -> None:
    last = select(ledger_head.c.sequence).scalar_subquery()
    await connection.execute(delete(ledger_entries).where(ledger_entries.c.sequence == last))


async def write_beyond(connection: AsyncConnection) -> None:
    entries = await lines_of(connection)
    extra = replace(entries[-1], sequence=len(entries) + 1, release="rel_forged", previous=entries[-1].digest)
    extra = replace(extra, kind="access", digest=digest_of(extra))
    await connection.execute(insert(ledger_entries).values(_values(extra)))


async def replace_all(connection: AsyncConnection) -> None:
    """Another history that keeps every rule, under the old signature: the forger has no key."""
    await rewrite(connection, lambda entry: replace(entry, actor="an_mallory"))


async def replace_all_and_sign(connection: AsyncConnection) -> None:
    """The same under the forger's own key."""
    head = await rewrite(connection, lambda entry: replace(entry, actor="an_mallory"))
    ledger = (await connection.execute(select(ledger_head.c.ledger_id))).scalar_one()
    signed = SigningKey("the forger's own secret, long enough").sign_head(ledger, head, 1)
    await connection.execute(update(ledger_head).values(signature_values(signed)))


async def replace_all_unsigned(connection: AsyncConnection) -> None:
    """The same, dressed up as a ledger from before heads were signed."""
    await rewrite(connection, lambda entry: replace(entry, actor="an_mallory"))
    await connection.execute(update(ledger_head).values(ledger_id=None, key_id=None, signature=None, signed_us=None))


async def refund(connection: AsyncConnection) -> None:
    await connection.execute(text("UPDATE accounts SET spent_pure_nano = 0"))


async def rewrite(connection: AsyncConnection, forge: Callable[[Entry], Entry]) -> Head:
    head, chain = GENESIS, []
    for entry in map(forge, await lines_of(connection)):
        entry = replace(entry, sequence=head.sequence + 1, previous=head.digest)
        entry = replace(entry, digest=digest_of(entry))
        head = Head(entry.sequence, entry.digest)
        chain.append(_values(entry))
    await connection.execute(delete(ledger_entries))
    await connection.execute(insert(ledger_entries), chain)
    await connection.execute(update(ledger_head).values(sequence=head.sequence, digest=head.digest))
    return head


async def lines_of(connection: AsyncConnection) -> list[Entry]:
    return [entry async for entry in stream(connection)]


async def _shift(connection: AsyncConnection, first: int, by: int) -> None:
    for sequence, move in ((first, FAR), (FAR, by - FAR)):
        lines = update(ledger_entries).where(ledger_entries.c.sequence >= sequence)
        await connection.execute(lines.values(sequence=ledger_entries.c.sequence + move))


async def tampered(database: Database, *steps: Callable[[AsyncConnection], Awaitable[Any]]) -> None:
    async with database.write() as connection:
        await disarm(connection)
        for step in steps:
            await step(connection)


async def backup(database: Database) -> Rows:
    """Every row of every table, as a backup tool would keep them."""
    async with database.read() as connection:
        return {
            table.name: [dict(row) for row in (await connection.execute(select(table))).mappings()]
            for table in metadata.sorted_tables
        }


async def restore(database: Database, rows: Rows) -> None:
    async with database.write() as connection:
        await disarm(connection)
        for table in reversed(metadata.sorted_tables):
            await connection.execute(delete(table))
        for table in metadata.sorted_tables:
            if rows[table.name]:
                await connection.execute(insert(table), rows[table.name])
