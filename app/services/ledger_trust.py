"""Whether this process believes its ledger: looked at when it starts, every second after, and before samples leave.

Order matters twice. Witnesses are read *before* the database, so a head that another process commits in between can
only make the database newer. And the newest head is on this machine's disk *before* a release, or a longer prefix,
that it covers is first served: a database that later forgets the charge is then caught, however quickly it was
restored. Charges themselves do not wait; nothing has left the building yet, and the next second writes them down.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.signed_head import SignedHead
from app.ledger.trust import Evidence, TrustFault, objections
from app.services.runtime import Runtime
from app.storage import ledger_heads
from app.storage.ledger_heads import StoredHead, read_stored
from app.storage.notary import untrusted

log = structlog.get_logger("postern.ledger")


@dataclass(frozen=True, slots=True)
class Look:
    """One look: what was found, what to object to, and how far lines are known to be sound."""

    stored: StoredHead
    acts: int
    checkpoint: SignedHead | None
    faults: Sequence[TrustFault]

    @property
    def fault(self) -> TrustFault | None:
        return self.faults[0] if self.faults else None


async def look(runtime: Runtime) -> Look:
    """Signature, end of chain and witnesses; a handful of small reads, whatever the length of the ledger."""
    notary, witnesses = runtime.notary, runtime.witnesses
    pinned = await witnesses.pinned()
    async with runtime.database.read() as connection:
        before = await read_stored(connection)
    ledgers = pinned | ({before.signed.ledger} if before.signed is not None else set())
    seen = [witness for ledger in sorted(ledgers) for witness in await witnesses.seen(ledger)]
    checkpoint = await _checkpoint(runtime, before)
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
        named = [witness.signed.head.sequence for witness in seen]
        if checkpoint is not None:
            named.append(checkpoint.head.sequence)
        evidence = Evidence(
            head=stored.head,
            signed=stored.signed,
            last=await ledger_heads.last_line(connection),
            witnesses=seen,
            digests=await ledger_heads.digests_at(connection, named),
            pinned=pinned,
            acts=await ledger_heads.list_acts(connection),
        )
    if stored.signed is not None:
        notary.vouches(stored.signed)
    if checkpoint is not None and evidence.digests.get(checkpoint.head.sequence) != checkpoint.head.digest:
        checkpoint = None
    verified = 0 if checkpoint is None else checkpoint.head.sequence
    faults = objections(evidence, notary.keys.trusted, checkpoint=verified)
    acts = max((act.number for act in evidence.acts), default=0)
    return Look(stored, acts, checkpoint, faults)


async def _checkpoint(runtime: Runtime, stored: StoredHead) -> SignedHead | None:
    """How far lines were verified before, by this installation's own signature."""
    if stored.signed is None:
        return None
    found = await asyncio.to_thread(runtime.witnesses.disk.checkpoint, stored.signed.ledger)
    return found if found is not None and runtime.notary.keys.trusted.vouches(found) else None


def distrust(runtime: Runtime, fault: TrustFault, acts: int) -> None:
    """From here on nothing is charged; what is remembered about rights and releases is looked up again.

    `acts`: the last act when the fault was found. Only a later one can lift it.
    """
    if runtime.notary.fault is None:
        log.error("the ledger cannot be trusted", fault=fault.name, detail=fault.detail, trusted=fault.trusted)
    runtime.notary.distrust(fault, acts)
    runtime.rights.forget()
    runtime.warm.clear()


async def witness_head(runtime: Runtime, connection: AsyncConnection) -> None:
    """Before serving what this connection's snapshot shows: its head is on this machine's disk.

    Raises LedgerUntrusted if that head has no valid signature, Unavailable if the disk cannot be written to.
    """
    stored = await read_stored(connection)
    if stored.signed is None or stored.signed == runtime.notary.seen:
        return
    if not runtime.notary.vouches(stored.signed):
        raise untrusted(TrustFault("replaced", "the head has no valid signature", 0))
    await runtime.witnesses.keep(stored.signed, await ledger_heads.last_act(connection))
    runtime.notary.saw(stored.signed)


async def require_servable(runtime: Runtime, connection: AsyncConnection, release_id: str) -> None:
    """A trusted ledger's newest head is witnessed first; of one that is not, only what lies before the fault is served.

    Raises LedgerUntrusted.
    """
    fault = runtime.notary.fault
    if fault is None:
        await witness_head(runtime, connection)
        return
    committed = await ledger_heads.committed_at(connection, release_id)
    if committed is None or committed > fault.trusted:
        raise untrusted(fault)
