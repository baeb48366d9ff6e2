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

from app.ledger.signed_head import SignedHead, SigningKey
from app.ledger.trust import Evidence, TrustFault, Witness, acts_in_force, newest_act, objections
from app.services.runtime.runtime import Runtime
from app.storage import ledger_heads
from app.storage.ledger_heads import StoredHead, read_stored
from app.storage.notary import untrusted

log = structlog.get_logger("postern.ledger")


@dataclass(frozen=True, slots=True)
class Look:
    """One look: what was found, what to object to, and how far lines are known to be sound."""

    stored: StoredHead
    evidence: Evidence
    acts_stored: int
    checkpoint: SignedHead | None
    faults: Sequence[TrustFault]

    @property
    def acts(self) -> int:
        """The number of the ledger's last signed act."""
        return newest_act(self.evidence)

    @property
    def accepted(self) -> int:
        """The newest acceptance in force."""
        return max((act.number for act in acts_in_force(self.evidence)), default=0)

    @property
    def fault(self) -> TrustFault | None:
        return self.faults[0] if self.faults else None


async def look(runtime: Runtime) -> Look:
    """Signature, end of chain and witnesses; a handful of small reads, whatever the length of the ledger.

    What this process itself saw is a witness like the others, so that one rule judges them all.
    """
    notary, witnesses = runtime.notary, runtime.witnesses
    own = [] if notary.seen is None else [_own(notary.seen, notary.seen_acts, notary.keys.signing)]
    pinned = await witnesses.pinned() | {witness.signed.ledger for witness in own}
    async with runtime.database.read() as connection:
        before = await read_stored(connection)
    ledgers = pinned | ({before.signed.ledger} if before.signed is not None else set())
    seen = own + [witness for ledger in sorted(ledgers) for witness in await witnesses.seen(ledger)]
    checkpoint = await _checkpoint(runtime, before)
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
        if stored.signed is not None:
            notary.vouches(stored.signed)  # reads the key files again for a key not met before
        acts = await ledger_heads.signed_acts(connection, notary.keys.trusted)
        named = [witness.signed.head.sequence for witness in seen] + [act.head.sequence for act in acts]
        if checkpoint is not None:
            named.append(checkpoint.head.sequence)
        evidence = Evidence(
            head=stored.head,
            signed=stored.signed,
            last=await ledger_heads.last_line(connection),
            witnesses=seen,
            digests=await ledger_heads.digests_at(connection, named),
            pinned=pinned,
            acts=acts,
        )
        acts_stored = await ledger_heads.count_acts(connection)
    if checkpoint is not None and evidence.digests.get(checkpoint.head.sequence) != checkpoint.head.digest:
        checkpoint = None
    verified = 0 if checkpoint is None else checkpoint.head.sequence
    faults = objections(evidence, notary.keys.trusted, checkpoint=verified)
    return Look(stored, evidence, acts_stored, checkpoint, faults)


def _own(seen: SignedHead, acts: int, key: SigningKey) -> Witness:
    return Witness("this process", seen, acts, key.sign_count(seen, acts))


async def _checkpoint(runtime: Runtime, stored: StoredHead) -> SignedHead | None:
    """How far lines were verified before, by this installation's own signature."""
    if stored.signed is None:
        return None
    found = await asyncio.to_thread(runtime.witnesses.disk.checkpoint, stored.signed.ledger)
    return found if found is not None and runtime.notary.keys.trusted.vouches_for_checkpoint(found) else None


def distrust(runtime: Runtime, fault: TrustFault, found: Look) -> None:
    """From here on nothing is charged; what is remembered about rights and releases is looked up again.

    `found`: a look of that time. Only an acceptance it does not know yet can lift the fault.
    """
    if runtime.notary.fault is None:
        log.error("the ledger cannot be trusted", fault=fault.name, detail=fault.detail, trusted=fault.trusted)
    runtime.notary.distrust(fault, acts=found.acts_stored, accepted=found.accepted)
    runtime.rights.forget()
    runtime.warm.clear()


async def witness_head(runtime: Runtime, connection: AsyncConnection) -> None:
    """Before serving what this connection's snapshot shows: its head is on this machine's disk.

    Raises LedgerUntrusted if that head has no valid signature, Unavailable if the disk cannot be written to.
    """
    stored = await read_stored(connection)
    signed, seen = stored.signed, runtime.notary.seen
    if signed is None or signed == seen:
        return
    if not runtime.notary.vouches(signed):
        raise untrusted(TrustFault("replaced", "the head has no valid signature", 0))
    if seen is not None and not await goes_on_from(connection, stored, seen):
        raise untrusted(TrustFault("replaced", f"line {seen.head.sequence} is not the one seen before", 0))
    acts = await ledger_heads.last_act(connection, runtime.notary.keys.trusted, signed.ledger)
    await runtime.witnesses.keep(signed, acts)
    runtime.notary.saw(signed, acts)


async def goes_on_from(connection: AsyncConnection, stored: StoredHead, seen: SignedHead) -> bool:
    """Whether this snapshot has the line seen before, or is too short to tell: a snapshot may be older than what
    another request saw meanwhile, and never of another ledger or history. One look-up by index."""
    if stored.signed is None or stored.signed.ledger != seen.ledger:
        return False
    if seen.head.sequence == 0 or stored.head.sequence < seen.head.sequence:
        return True
    found = await ledger_heads.digests_at(connection, [seen.head.sequence])
    return found.get(seen.head.sequence) == seen.head.digest


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
