"""Start and background: is this the ledger known from before, and does somebody outside the database know its head."""

import asyncio
import contextlib
import time

import structlog

from app.errors import Unavailable
from app.ledger.entry import Head
from app.ledger.hash_chain import GENESIS
from app.ledger.signed_head import ActKind, SignedHead
from app.ledger.trust import TrustFault
from app.services.ledger.ledger_trust import Look, distrust, goes_on_from, look
from app.services.ledger.verify_lines import AT_START_MAX, verify_all, verify_links
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.runtime import Runtime
from app.storage import ledger_heads
from app.storage.ledger_heads import read_stored, sign_stored
from app.storage.notary import new_ledger_id

POLL_S = 1.0
LOOK_S = 10.0
LAST_S = 3.0
PASS_S = 6 * 3600.0

log = structlog.get_logger("postern.ledger")


async def check_ledger_on_start(runtime: Runtime) -> None:
    """Find faults by name; without any, sign what is not signed by this key yet and remember the head.

    A fault does not stop the start: the service then refuses to charge (`ledger_untrusted`) and says what to do.
    """
    found = await look(runtime)
    fault = found.fault or await _check_lines(runtime, found)
    if fault is not None:
        distrust(runtime, fault, found)
        return
    signed = found.stored.signed
    if signed is None:
        await sign_again(runtime, "adopted", "first start with a key: the whole chain was verified")
    elif signed.key_id != runtime.notary.keys.signing.id:
        await sign_again(runtime, "rotated", f"signed by {signed.key_id} before")
    await remember_head(runtime, move=True)


async def _check_lines(runtime: Runtime, found: Look) -> TrustFault | None:
    head = found.stored.head
    if found.stored.signed is None or head.sequence <= AT_START_MAX:
        passed = await verify_all(runtime.database)
        if passed.fault is None and found.stored.signed is not None:
            await _keep_checkpoint(runtime, passed.head)
        return passed.fault
    sequence = max(head.sequence - AT_START_MAX, 0 if found.checkpoint is None else found.checkpoint.head.sequence)
    async with runtime.database.read() as connection:
        digests = await ledger_heads.digests_at(connection, [sequence])
    if sequence not in digests:
        return TrustFault("deleted", f"line {sequence} is missing", 0, sequence)
    return (await verify_links(runtime.database, Head(sequence, digests[sequence]))).fault


async def sign_again(runtime: Runtime, kind: ActKind, reason: str) -> None:
    """Under the lock of the head, and only if it is still as it was judged: another process may have been faster."""
    notary = runtime.notary
    own = notary.keys.signing
    async with runtime.database.write() as connection:
        stored = await read_stored(connection, lock=True)
        if stored.signed is not None and (kind == "adopted" or stored.signed.key_id == own.id):
            return
        if stored.signed is not None and not notary.vouches(stored.signed):
            return
        ledger = new_ledger_id() if stored.signed is None else stored.signed.ledger
        signed = own.sign_head(ledger, stored.head, runtime.clock())
        await sign_stored(connection, signed)
        if stored.head != GENESIS:
            above = await ledger_heads.last_act(connection, notary.keys.trusted, ledger)
            await ledger_heads.record_act(connection, own, kind, signed, actor="start", reason=reason, above=above)
    log.info("head signed", kind=kind, sequence=signed.head.sequence, key=own.id)


async def remember_head(runtime: Runtime, *, move: bool = False) -> SignedHead | None:
    """The committed head, if somebody vouches for it, is kept on disk and told to Redis.

    `move`: a look just found it in order, so witnesses follow it also where an accepted head leads back.
    """
    async with runtime.database.read() as connection:
        signed = (await read_stored(connection)).signed
        if signed is None or not runtime.notary.vouches(signed):
            return None
        acts = await ledger_heads.last_act(connection, runtime.notary.keys.trusted, signed.ledger)
    if move:
        await runtime.witnesses.move(signed, acts)
    else:
        await runtime.witnesses.keep(signed, acts)
        await runtime.witnesses.tell_redis(signed, acts)
    runtime.notary.saw(signed, acts)
    return signed


async def watch_ledger(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """Until `stop`: keep the head within a second, look at everything every ten, go through all lines a few times a day."""
    through = asyncio.create_task(_go_through(runtime))
    looked_at = time.monotonic()
    try:
        while not stop.is_set():
            if through.done():
                through.result()
            try:
                due = time.monotonic() - looked_at >= LOOK_S
                if await tick(runtime, full=due) or due:
                    looked_at = time.monotonic()
            except Unavailable:
                log.warning("the ledger could not be looked at")
            await wait_for_any(POLL_S, stop)
    finally:
        through.cancel()
        await asyncio.gather(through, return_exceptions=True)


async def tick(runtime: Runtime, *, full: bool = False) -> bool:
    """One cheap comparison; True if it led to a whole look. Heads that moved are kept.

    What was seen is taken down before the database is read: a request may see a newer head in between.
    """
    notary, seen = runtime.notary, runtime.notary.seen
    async with runtime.database.read() as connection:
        stored, stored_acts = await read_stored(connection), await ledger_heads.count_acts(connection)
        signed = stored.signed
        unvouched = signed is not None and not notary.vouches(signed)
        moved = signed is not None and signed != seen
        strange = seen is not None and moved and not await goes_on_from(connection, stored, seen)
        acts = 0
        if moved and signed is not None:
            acts = await ledger_heads.last_act(connection, notary.keys.trusted, signed.ledger)
    if notary.fault is None and notary.suspicion is not None:
        distrust(runtime, notary.suspicion, await look(runtime))
        return True
    if notary.fault is not None:
        if stored_acts == notary.fault_acts:
            return False
        await _look_again(runtime)
        return True
    moved_back = seen is not None and (signed is None or signed.head.sequence < seen.head.sequence)
    if full or moved_back or unvouched or strange:
        await _look_again(runtime)
        return True
    if moved and signed is not None:
        await runtime.witnesses.keep(signed, acts)
        await runtime.witnesses.tell_redis(signed, acts)
        notary.saw(signed, acts)
    return False


async def keep_last_head(runtime: Runtime) -> None:
    """In a stop: lines written since the last look become known to the witnesses too. Nothing here can hold up the stop."""
    try:
        async with asyncio.timeout(LAST_S):
            await tick(runtime)
    except (Unavailable, TimeoutError):
        log.warning("the last head could not be kept: the next look will")


async def _look_again(runtime: Runtime) -> None:
    """A fault stays until a person accepted a head after it was found, or the process starts anew."""
    notary = runtime.notary
    found = await look(runtime)
    if notary.fault is None:
        if found.fault is not None:
            distrust(runtime, found.fault, found)
    else:
        notary.fault_acts = found.acts_stored  # what lifts nothing now is not tried again: the next act is waited for
        if found.accepted > notary.fault_accepted:
            passed = await verify_all(runtime.database)
            if found.fault is None and passed.fault is None:
                log.warning("trusting the ledger again after a head was accepted", sequence=passed.head.sequence)
                notary.trust_again()
                runtime.rights.forget()
    if notary.fault is None:
        await remember_head(runtime, move=True)


async def _go_through(runtime: Runtime) -> None:
    while True:
        await asyncio.sleep(POLL_S)
        try:
            if runtime.notary.fault is None:
                await go_through(runtime, gentle=True)
        except Unavailable:
            continue
        await asyncio.sleep(PASS_S)


async def go_through(runtime: Runtime, *, gentle: bool = False) -> None:
    """One pass over all lines; its end is remembered as the place from which the next start goes on."""
    passed = await verify_all(runtime.database, gentle=gentle)
    if passed.fault is not None:
        distrust(runtime, passed.fault, await look(runtime))
    else:
        await _keep_checkpoint(runtime, passed.head)


async def _keep_checkpoint(runtime: Runtime, head: Head) -> None:
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
    if stored.signed is None or head.sequence == 0:
        return
    signed = runtime.notary.keys.signing.sign_checkpoint(stored.signed.ledger, head, runtime.clock())
    with contextlib.suppress(OSError):  # the next start goes through more lines, no more than that
        await asyncio.to_thread(runtime.witnesses.disk.keep_checkpoint, signed)
