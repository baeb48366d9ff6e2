"""A person decides to go on from a head that this service would not go on from by itself."""

from typing import Any

from app.errors import Conflict, InvalidInput
from app.ledger.entry import Head
from app.ledger.head_record import ACTS_MAX
from app.ledger.signed_head import Act, Keyring
from app.ledger.trust import believed, given_up
from app.services.datasets.wipe_uploads import wipe_used_upload
from app.services.ledger.ledger_trust import Look, look
from app.services.ledger.settle_release import lock_reserved, settle_release
from app.services.ledger.verify_lines import sound_or_raise
from app.services.runtime.runtime import Runtime
from app.services.runtime.samples_cache import forget_samples
from app.storage import ledger_heads, releases
from app.storage.ledger_heads import read_stored, sign_stored
from app.storage.notary import new_ledger_id

REASON_LENGTH_MIN, REASON_LENGTH_MAX = 10, 2_000
WITHDRAWN = "waiting when an older head was accepted"


async def accept_head(runtime: Runtime, *, head: str, actor: str, reason: str) -> Act:
    """`head` is `sequence:digest`, the database's own: what is accepted is named, never whatever happens to be there.

    The chain has to verify by its own rules: lines that were edited, deleted or moved cannot be accepted, only
    restored. The act is signed and stored, and names every head seen here that is given up for it: it excuses those,
    once, and nothing else. Running processes notice within a second.

    Releases that wait in the accepted past may have been drawn and served in the lost future, and drawing them again
    would be a second look for one charge. So all of them are withdrawn here, in the same transaction, and their charges
    stand. Raises InvalidInput, Conflict, IntegrityFailure.
    """
    named = parse_head(head)
    if not REASON_LENGTH_MIN <= len(reason.strip()) <= REASON_LENGTH_MAX:
        raise InvalidInput(
            "reason", f"{REASON_LENGTH_MIN} to {REASON_LENGTH_MAX} characters: what happened, who decided"
        )
    await sound_or_raise(runtime)
    found = await look(runtime)
    above = _acts_seen(found, runtime.notary.keys.trusted)
    key = runtime.notary.keys.signing
    async with runtime.database.write() as connection:
        waiting = await releases.withdraw_unfinished(connection, WITHDRAWN)
        await lock_reserved(connection, [release.id for release in waiting])
        stored = await read_stored(connection, lock=True)
        if stored.head != named or stored.signed != found.stored.signed:
            raise Conflict(
                f"the database's head is {stored.head.sequence}:{stored.head.digest.hex()}, not the one named"
            )
        ledger = new_ledger_id() if stored.signed is None else stored.signed.ledger
        signed = key.sign_head(ledger, stored.head, runtime.clock())
        await sign_stored(connection, signed)
        act = await ledger_heads.record_act(
            connection,
            key,
            "accepted",
            signed,
            actor=actor,
            reason=reason.strip(),
            above=above,
            replaces=given_up(found.evidence, runtime.notary.keys.trusted),
        )
        for release in waiting:  # charges become final without samples
            who: dict[str, Any] = {"actor": "accept", "reason": WITHDRAWN}
            await settle_release(connection, release.id, "commit", **who, at_us=signed.at_us, accepted=True)
        newest = (await read_stored(connection)).signed or signed
    await runtime.witnesses.move(newest, act.number)
    for release in waiting:
        await forget_samples(runtime, release.id)
        await wipe_used_upload(runtime, release.dataset_id, release.data_version)
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


def _acts_seen(found: Look, keyring: Keyring) -> int:
    """The largest number an act had, here or where it was counted. Raises Conflict."""
    counted = [(witness.acts, witness.place) for witness in believed(found.evidence, keyring)]
    most, place = max([(found.acts, "the database"), *counted])
    if most + 1 >= ACTS_MAX:
        raise Conflict(f"{place} counts {most} acts, which nobody made: remove what it remembers of this ledger")
    return most
