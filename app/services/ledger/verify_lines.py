"""Going through the lines: all of them at a start while they are few, from the last checkpoint and then in the
background once they are many.
"""

import asyncio
import time
from dataclasses import dataclass

from app.errors import IntegrityFailure
from app.ledger.entry import Entry, Head
from app.ledger.hash_chain import digest_of
from app.ledger.trust import TrustFault
from app.ledger.verification import Verifier
from app.services.runtime.runtime import Runtime
from app.storage.accounts import list_accounts
from app.storage.engine import Database
from app.storage.ledger_book import read_batch
from app.storage.ledger_heads import name_tampering, read_stored

AT_START_MAX = 5_000
"""More lines than these are not replayed while a start waits: a few hundredths of a millisecond each, with reading."""
BACKGROUND_SHARE = 0.2
"""Part of one core the background pass takes at most."""


@dataclass(frozen=True, slots=True)
class Pass:
    """`head` is the end of the sound lines."""

    head: Head
    fault: TrustFault | None


async def verify_all(database: Database, *, gentle: bool = False) -> Pass:
    """Every line from the first, by the rules, up to the head of the moment the pass began, then every account.

    In batches, each its own short read; lines are only ever appended. `gentle` pauses in between.
    """
    async with database.read() as connection:
        target = (await read_stored(connection)).head
    verifier = Verifier()
    head = verifier.result().head
    while head.sequence < target.sequence:
        began = time.monotonic()
        async with database.read() as connection:
            batch = await read_batch(connection, after=head.sequence)
        sound = await asyncio.to_thread(_feed, verifier, batch, target.sequence)
        head = verifier.result().head
        if not sound or not batch:
            return Pass(head, await _named(database, verifier, head, target))
        if gentle:
            await asyncio.sleep((time.monotonic() - began) * (1 / BACKGROUND_SHARE - 1))
    result = verifier.result(target)
    if not result.ok:
        return Pass(
            head, TrustFault(str(result.reason), "the last line is not the one the head names", 0, head.sequence)
        )
    return Pass(head, await _compare_accounts(database, verifier, target))


async def verify_links(database: Database, start: Head) -> Pass:
    """Only digests and links, after a line known to be sound; what is written meanwhile is for the background."""
    head = start
    while head.sequence < start.sequence + AT_START_MAX:
        async with database.read() as connection:
            batch = await read_batch(connection, after=head.sequence)
        if not batch:
            break
        for entry in batch:
            if not _follows(entry, head):
                async with database.read() as connection:
                    name = await name_tampering(connection, head)
                detail = f"line {head.sequence + 1} does not verify"
                return Pass(head, TrustFault(name, detail, head.sequence, head.sequence + 1))
            head = Head(entry.sequence, entry.digest)
    return Pass(head, None)


def _follows(entry: Entry, head: Head) -> bool:
    try:
        linked = entry.sequence == head.sequence + 1 and entry.previous == head.digest
        return linked and entry.digest == digest_of(entry)
    except Exception:  # fields of other types than any line has
        return False


def _feed(verifier: Verifier, batch: list[Entry], last: int) -> bool:
    return all(verifier.feed(entry) for entry in batch if entry.sequence <= last)


async def _named(database: Database, verifier: Verifier, head: Head, target: Head) -> TrustFault:
    result = verifier.result(target)
    reason = str(result.reason)
    if reason in ("out_of_sequence", "broken_link", "edited"):
        async with database.read() as connection:
            reason = await name_tampering(connection, head)
    bad = result.first_bad
    return TrustFault(reason, f"line {bad} does not verify", head.sequence, bad)


async def _compare_accounts(database: Database, verifier: Verifier, target: Head) -> TrustFault | None:
    """In one snapshot with the lines written meanwhile, so that accounts and lines are of one moment."""
    async with database.read() as connection:
        after = target.sequence
        while batch := await read_batch(connection, after=after):
            if not _feed(verifier, batch, batch[-1].sequence):
                return TrustFault(str(verifier.result().reason), f"line {after + 1} does not verify", after, after + 1)
            after = batch[-1].sequence
        try:
            stored = {account.id: account for account in await list_accounts(connection)}
        except (ValueError, TypeError, AttributeError, IntegrityFailure):
            return TrustFault("account_differs", "an account cannot be read", 0)
    replayed = verifier.accounts()
    differing = sorted(name for name in stored.keys() | replayed.keys() if stored.get(name) != replayed.get(name))
    if not differing:
        return None
    return TrustFault("account_differs", f"account {differing[0]} was changed without a line", 0)


async def sound_or_raise(runtime: Runtime) -> Head:
    """The head of a ledger that verifies whole. Raises IntegrityFailure."""
    found = await verify_all(runtime.database)
    if found.fault is not None:
        raise IntegrityFailure(f"the chain itself does not verify ({found.fault.name}): {found.fault.detail}")
    return found.head
