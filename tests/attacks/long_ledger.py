"""A ledger too long to be replayed at a start: a release, thousands of lines, a checkpoint, another release."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from app.core.privacy import ORDERS, Cost
from app.ledger.account import Account
from app.ledger.amounts import amounts_of
from app.ledger.entry import Head
from app.ledger.hash_chain import seal
from app.ledger.posting import Posting, commit_posting, reserve_posting
from app.services.ledger.verify_lines import AT_START_MAX
from app.services.ledger.watch_ledger import check_ledger_on_start, go_through, remember_head
from app.services.runtime.runtime import Runtime
from app.settings import Settings
from app.storage.accounts import account_values, lock_accounts
from app.storage.ledger_book import _values
from app.storage.ledger_heads import read_stored, signature_values
from app.storage.tables import accounts, ledger_entries, ledger_head
from tests.attacks import tampering
from tests.attacks.kept_installations import ENGINES, KeptInstallations
from tests.attacks.past import Past
from tests.services.world import new_world, services

LINES = AT_START_MAX + 400
SINCE = 60
TINY = amounts_of(Cost(1e-9, (1e-9,) * len(ORDERS)))
WHO: dict[str, Any] = {"actor": "an_filler", "reason": "one of many", "at_us": 1_700_000_000_000_000}


@dataclass(frozen=True, slots=True)
class Long:
    """`checked` lines were verified once, and lines after them were written since; the first release ends at `early`."""

    past: Past
    early: int
    checked: int
    head: int

    @property
    def checkpoint(self) -> Path:
        return next((self.past.settings.data_dir / "ledger").glob("checkpoint-*.json"))


def _fillers(account: Account, lines: int, name: str) -> Iterator[Posting]:
    for number in range(lines):
        release = f"rel_{name}_{number // 2:06d}"
        if number % 2:
            posting = commit_posting(account, release, **WHO)
        else:
            posting = reserve_posting(account, release, TINY, event="{}", **WHO)
        account = posting.account
        yield posting


async def lengthen(runtime: Runtime, account_id: str, lines: int, name: str = "filler") -> None:
    """Sealed in memory, inserted in bulk past the triggers, signed once: what as many charges would have left."""
    rows: list[dict[str, Any]] = []
    async with runtime.database.write() as connection:
        await tampering.disarm(connection)
        account = (await lock_accounts(connection, [account_id]))[account_id]
        stored = await read_stored(connection, lock=True)
        assert stored.signed is not None
        head = stored.head
        for posting in _fillers(account, lines, name):
            entry = seal(posting, head)
            head, account = Head(entry.sequence, entry.digest), posting.account
            rows.append(_values(entry))
        await connection.execute(insert(ledger_entries), rows)
        signed = runtime.notary.keys.signing.sign_head(stored.signed.ledger, head, WHO["at_us"])
        moved = {"sequence": head.sequence, "digest": head.digest} | signature_values(signed)
        await connection.execute(update(ledger_head).values(moved))
        await connection.execute(update(accounts).where(accounts.c.id == account_id).values(account_values(account)))


async def make_long(settings: Settings) -> Long:
    async with services(settings) as runtime:
        await check_ledger_on_start(runtime)
        world = await new_world(runtime)
        dataset = await world.dataset()
        old = await world.published(dataset, samples=3)
        async with runtime.database.read() as connection:
            early = (await read_stored(connection)).head.sequence
        await lengthen(runtime, dataset, LINES)
        await go_through(runtime)
        assert runtime.notary.fault is None
        await lengthen(runtime, dataset, SINCE, "since")
        new = await world.published(dataset, samples=2)
        signed = await remember_head(runtime)
        assert signed is not None
        past = Past(settings, world.boss, world.boss, dataset, old, new, {}, {})
    return Long(past, early, early + LINES, signed.head.sequence)


@pytest.fixture(params=ENGINES)
def long(request: pytest.FixtureRequest, kept_installations: KeptInstallations) -> Long:
    return kept_installations.put_back(request, make_long)
