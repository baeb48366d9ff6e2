"""Ledgers of any length for benchmarks: sealed in memory, inserted in bulk with triggers off, signed once, triggers back."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.privacy import ORDERS, Cost
from app.ledger.account import Account, open_account
from app.ledger.amounts import amounts_of
from app.ledger.canonical import release_event
from app.ledger.entry import Entry, Head
from app.ledger.export import entry_line, head_line, header_line
from app.ledger.hash_chain import GENESIS, seal
from app.ledger.posting import Posting, commit_posting, open_posting, reserve_posting
from app.ledger.signed_head import Keyring, SigningKey
from app.storage.accounts import account_values
from app.storage.engine import Database
from app.storage.ledger_book import _values
from app.storage.ledger_heads import signature_values
from app.storage.migrate import upgrade
from app.storage.notary import OPTION, Notary
from app.storage.signing_keys import Keys
from app.storage.tables import accounts, datasets, ledger_entries, ledger_head, principals

CHARGE = amounts_of(Cost(1e-4, (1e-6,) * len(ORDERS)))
WHO = {"actor": "an_steward", "reason": "benchmark", "at_us": 1_700_000_000_000_000}
COLUMNS = {"cured": {"type": "binary"}}
EVENT = release_event(
    model={"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05},
    mechanism={"kind": "baps", "samples": 100, "temperature": 1.0},
    n=1000,
    unit_rows=1,
    samples=100,
    columns=COLUMNS,
)
KEY = SigningKey("a benchmark's secret, of no value to anyone")
LEDGER = "led_benchmark"
BULK = 5_000


@dataclass(slots=True)
class Filled:
    """A database with a ledger of some length."""

    database: Database
    lines: int
    charged: int = 0
    triggers: list[str] = field(default_factory=list)


def postings(lines: int) -> Iterator[Posting]:
    """Open, then reserve and commit alternately: what a real ledger mostly consists of."""
    opened = open_posting(open_account("ds_a", epsilon=900_000.0, delta=1e-6), **WHO)
    yield opened
    account = opened.account
    for number in range(1, lines):
        release = f"rel_{(number - 1) // 2:08d}"
        if number % 2:
            posting = reserve_posting(account, release, CHARGE, event=EVENT, **WHO)
        else:
            posting = commit_posting(account, release, **WHO)
        account = posting.account
        yield posting


def sealed(lines: int) -> Iterator[tuple[Entry, Account]]:
    head = GENESIS
    for posting in postings(lines):
        entry = seal(posting, head)
        head = Head(entry.sequence, entry.digest)
        yield entry, posting.account


async def prepare(url: str, lines: int) -> Filled:
    """A migrated database with a person, a dataset and, as yet, no line."""
    upgrade(url)
    notary = Notary(lambda: Keys(KEY, Keyring([KEY.public])))
    database = Database.open(url, options={OPTION: notary})
    people = {"id": "an_steward", "role": "steward", "name": "x", "created_by": None, "created_us": 0}
    public = {"id": "ds_a", "owner": "an_steward", "name": "x", "columns": "{}", "unit": "null", "source": "{}"}
    public |= {"n": 1000, "epsilon": 1.0, "delta": 0.0, "created_us": 0, "data_version": 1, "data_state": "ready"}
    async with database.write() as connection:
        await connection.execute(insert(principals).values(people))
        await connection.execute(insert(datasets).values(public))
    return Filled(database, lines)


async def fill(places: list[Filled], lines: int, export: Path | None) -> None:
    """The same lines into every place and into the export; sealed once, inserted in bulk past the ORM."""
    batch: list[tuple[object, ...]] = []
    with (export or Path("/dev/null")).open("wb") as file:
        file.write(header_line(LEDGER, {KEY.id: KEY.public}))
        for entry, account in sealed(lines):
            if entry.sequence == 1:
                for place in places:
                    await _begin(place, account)
            values = _values(entry)
            batch.append(tuple(values[column.name] for column in ledger_entries.columns))
            file.write(entry_line(entry))
            if len(batch) == BULK or entry.sequence == lines:
                await asyncio.gather(*(_load(place.database, batch) for place in places))
                batch.clear()
        signed = KEY.sign_head(LEDGER, Head(entry.sequence, entry.digest), entry.at_us)
        file.write(head_line(signed))
    for place in places:
        async with place.database.write() as connection:
            moved = {"sequence": entry.sequence, "digest": entry.digest} | signature_values(signed)
            await connection.execute(update(ledger_head).values(moved))
            await connection.execute(update(accounts).values(account_values(account)))
            await _arm(connection, place)
        if not place.database.is_sqlite:
            async with place.database.write() as connection:
                await connection.execute(text("ANALYZE ledger_entries"))


async def _begin(place: Filled, account: Account) -> None:
    async with place.database.write() as connection:
        await _disarm(connection, place)
        await connection.execute(insert(accounts).values(account_values(account)))


async def _load(database: Database, batch: list[tuple[object, ...]]) -> None:
    async with database.write() as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        if database.is_sqlite:
            marks = ",".join("?" * len(batch[0]))
            await raw.executemany(f"INSERT INTO ledger_entries VALUES ({marks})", batch)  # noqa: S608
            return
        async with raw.cursor() as cursor, cursor.copy("COPY ledger_entries FROM STDIN") as copy:
            for row in batch:
                await copy.write_row(row)


async def _disarm(connection: AsyncConnection, place: Filled) -> None:
    """Triggers off for the bulk load; kept to be put back, since a charge pays for them too."""
    if connection.dialect.name == "postgresql":
        for table in ("ledger_entries", "ledger_head", "accounts"):
            await connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        return
    rows = await connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    for name, source in rows.all():
        if name.startswith(("ledger_", "accounts_")):
            place.triggers.append(source)
            await connection.execute(text(f"DROP TRIGGER {name}"))


async def _arm(connection: AsyncConnection, place: Filled) -> None:
    if connection.dialect.name == "postgresql":
        for table in ("ledger_entries", "ledger_head", "accounts"):
            await connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
    for source in place.triggers:
        await connection.exec_driver_sql(source)
