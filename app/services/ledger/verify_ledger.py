"""Everything there is to check about the ledger, every fault by name."""

from app.ledger.trust import TrustFault
from app.services.ledger.ledger_trust import look
from app.services.ledger.verify_lines import verify_all
from app.services.runtime.runtime import Runtime
from app.services.views import LedgerFaultView, VerificationView


async def verify_ledger(runtime: Runtime) -> VerificationView:
    """The chain line by line, the accounts against it, the head's signature, and the heads seen earlier.

    Changes nothing, and clears nothing: a service that refuses to charge goes on refusing. One pass at a time in a
    process: whoever asks meanwhile waits for it and gets the same.
    """
    return await runtime.warm.flights.do("verify_ledger", lambda: _verify(runtime))


async def _verify(runtime: Runtime) -> VerificationView:
    found = await look(runtime)
    passed = await verify_all(runtime.database)
    faults = {fault.name: fault for fault in reversed([*_standing(runtime), *found.faults, *_listed(passed.fault)])}
    ordered = sorted(faults.values(), key=lambda fault: (fault.sequence is None, fault.sequence or 0))
    first = ordered[0] if ordered else None
    signed = found.stored.signed
    vouched = signed is not None and runtime.notary.keys.trusted.vouches(signed)
    return VerificationView(
        ok=first is None,
        entries=passed.head.sequence,
        head=passed.head.digest.hex(),
        first_bad_sequence=None if first is None else first.sequence,
        reason=None if first is None else first.name,
        signature="none" if signed is None else "valid" if vouched else "invalid",
        key_id=None if signed is None else signed.key_id,
        faults=[LedgerFaultView(f.name, f.sequence, f.detail, f.advice) for f in ordered],
    )


def _standing(runtime: Runtime) -> list[TrustFault]:
    """What this process refuses to go on from, which may no longer be visible in the database."""
    return _listed(runtime.notary.fault)


def _listed(fault: TrustFault | None) -> list[TrustFault]:
    return [] if fault is None else [fault]
