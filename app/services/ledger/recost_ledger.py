"""What charges on record would cost now, and the signed act that lowers them to it (ADR 27)."""

import asyncio
from dataclasses import dataclass

from app.errors import Conflict, InvalidInput, NotFound
from app.ledger.amounts import ZERO, Amounts
from app.ledger.canonical import canonical_json
from app.ledger.entry import Head
from app.ledger.law_costs import lenient
from app.ledger.paid_releases import BOUNDS, Paid, PaidReleases
from app.ledger.posting import recost_posting
from app.ledger.recost import Recost, Recoster
from app.ledger.signed_head import Act
from app.services.ledger.accept_head import REASON_LENGTH_MAX, REASON_LENGTH_MIN
from app.services.ledger.verify_lines import sound_or_raise
from app.services.ledger.watch_ledger import remember_head
from app.services.runtime.runtime import Runtime
from app.storage import accounts, ledger_heads
from app.storage.ledger_book import post, stream
from app.storage.ledger_heads import read_stored


@dataclass(frozen=True, slots=True)
class Lowering:
    """What an account's books fall by for one release."""

    paid: Paid
    by: Amounts


async def recost_ledger(runtime: Runtime) -> tuple[Recoster, list[Recost]]:
    """Every charge computed again, each with what it would be now. Changes nothing."""
    recoster = Recoster()
    async with runtime.database.read() as connection:
        found = [recoster.feed(entry) async for entry in stream(connection)]
    return recoster, recoster.finished(found)


async def apply_recost(runtime: Runtime, *, account: str, actor: str, reason: str) -> tuple[Act | None, list[Lowering]]:
    """Lower what one account has on its books to what the same samples cost by their own law under today's bounds.

    One line a release, none rewritten; then an act signed over the head they end in. Only charges that are final: a
    pending one may still be voided, whole. What would cost more now, or cannot be computed, stays as it is. Nothing to lower
    writes nothing. Raises InvalidInput, NotFound, IntegrityFailure, LedgerUntrusted, and Conflict where a line was added
    meanwhile: costs are computed before the account is locked.
    """
    if not REASON_LENGTH_MIN <= len(reason.strip()) <= REASON_LENGTH_MAX:
        raise InvalidInput("reason", f"{REASON_LENGTH_MIN} to {REASON_LENGTH_MAX} characters: which bound, who decided")
    runtime.notary.require_trust()
    head = await sound_or_raise(runtime)
    found = await _lowerings(runtime, account)
    if not found:
        return None, []
    act = await _post(runtime, account, found, head, actor, reason.strip())
    await remember_head(runtime)
    return act, found


async def _lowerings(runtime: Runtime, account: str) -> list[Lowering]:
    recoster = PaidReleases()
    known = False
    async with runtime.database.read() as connection:
        async for entry in stream(connection):
            known = known or entry.account == account
            recoster.replay(entry)
    if not known:
        raise NotFound("account", account)
    return await asyncio.to_thread(_computed, recoster, account)


def _computed(paid_releases: PaidReleases, account: str) -> list[Lowering]:
    found = []
    for paid in paid_releases.all_paid():
        if paid.account != account:
            continue
        owed = paid_releases.owed(paid)
        if isinstance(owed, str) or not lenient(paid.amounts).covers(owed):
            continue
        by = paid.amounts.minus(paid.amounts.least(owed))
        if by != ZERO:
            found.append(Lowering(paid, by))
    return found


async def _post(runtime: Runtime, account: str, found: list[Lowering], head: Head, actor: str, reason: str) -> Act:
    async with runtime.database.write() as connection:
        current = (await accounts.lock_accounts(connection, [account]))[account]
        if (await read_stored(connection, lock=True)).head != head:
            raise Conflict("the ledger moved while costs were computed; run it again")
        now_us = runtime.clock()
        for each in found:
            part = {} if each.paid.part is None else {"part": each.paid.part}
            event = canonical_json(
                {"bounds": BOUNDS, "law": each.paid.event.get("law", 1), "samples": each.paid.samples} | part
            )
            posting = recost_posting(
                current, each.paid.release, each.by, event=event, actor=actor, reason=reason, at_us=now_us
            )
            await post(connection, posting)
            current = posting.account
        signed = (await read_stored(connection)).signed
        if signed is None:
            raise Conflict("the head is not signed")
        above = await ledger_heads.last_act(connection, runtime.notary.keys.trusted, signed.ledger)
        return await ledger_heads.record_act(
            connection, runtime.notary.keys.signing, "recosted", signed, actor=actor, reason=reason, above=above
        )
