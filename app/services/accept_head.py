"""A person decides to go on from a head that this service would not go on from by itself."""

from app.errors import Conflict, InvalidInput
from app.ledger.entry import Head
from app.ledger.signed_head import Act
from app.services.runtime import Runtime
from app.services.verify_lines import sound_or_raise
from app.storage import ledger_heads
from app.storage.ledger_heads import read_stored, sign_stored
from app.storage.notary import new_ledger_id

REASON_LENGTH_MIN, REASON_LENGTH_MAX = 10, 2_000


async def accept_head(runtime: Runtime, *, head: str, actor: str, reason: str) -> Act:
    """`head` is `sequence:digest`, the database's own: what is accepted is named, never whatever happens to be there.

    The chain has to verify by its own rules: lines that were edited, deleted or moved cannot be accepted, only
    restored. The act is signed, stored, and makes every witness forget what it saw before. Running processes notice
    within a second. Raises InvalidInput, Conflict, IntegrityFailure.
    """
    named = parse_head(head)
    if not REASON_LENGTH_MIN <= len(reason.strip()) <= REASON_LENGTH_MAX:
        raise InvalidInput(
            "reason", f"{REASON_LENGTH_MIN} to {REASON_LENGTH_MAX} characters: what happened, who decided"
        )
    await sound_or_raise(runtime)
    above = await _acts_seen(runtime)
    key = runtime.notary.keys.signing
    async with runtime.database.write() as connection:
        stored = await read_stored(connection, lock=True)
        if stored.head != named:
            raise Conflict(
                f"the database's head is {stored.head.sequence}:{stored.head.digest.hex()}, not the one named"
            )
        ledger = new_ledger_id() if stored.signed is None else stored.signed.ledger
        signed = key.sign_head(ledger, stored.head, runtime.clock())
        await sign_stored(connection, signed)
        act = await ledger_heads.record_act(
            connection, key, "accepted", signed, actor=actor, reason=reason.strip(), above=above
        )
    await runtime.witnesses.move(signed, act.number)
    return act


def parse_head(text: str) -> Head:
    sequence, _, digest = text.partition(":")
    try:
        head = Head(int(sequence), bytes.fromhex(digest))
    except ValueError:
        head = Head(-1, b"")
    if head.sequence < 0 or len(head.digest) != 32:
        raise InvalidInput("head", "sequence:digest, as `postern ledger head` prints them")
    return head


async def _acts_seen(runtime: Runtime) -> int:
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
    ledgers = set(await runtime.witnesses.pinned())
    if stored.signed is not None:
        ledgers.add(stored.signed.ledger)
    seen = [witness.acts for ledger in sorted(ledgers) for witness in await runtime.witnesses.seen(ledger)]
    return max(seen, default=0)
