"""The head's row, with its signature, and the acts beside the chain."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from sqlalchemy import Row, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.canonical import canonical_json
from app.ledger.entry import Head
from app.ledger.hash_chain import GENESIS
from app.ledger.head_record import act_of_fields, seen_fields
from app.ledger.signed_head import Act, ActKind, Keyring, Seen, SignedHead, SigningKey
from app.storage.tables import ledger_acts, ledger_entries, ledger_head


@dataclass(frozen=True, slots=True)
class StoredHead:
    """`signed` is None until a process with a key has signed for the first time."""

    head: Head
    signed: SignedHead | None


async def read_stored(connection: AsyncConnection, *, lock: bool = False) -> StoredHead:
    statement = select(ledger_head)
    if lock:
        statement = statement.with_for_update(key_share=True)
    row = (await connection.execute(statement)).one()
    head = Head(row.sequence, bytes(row.digest))
    if row.signature is None:
        return StoredHead(head, None)
    return StoredHead(head, SignedHead(row.ledger_id, head, row.signed_us, row.key_id, bytes(row.signature)))


async def sign_stored(connection: AsyncConnection, signed: SignedHead) -> None:
    """Another signature under the head as it is. The database refuses any other change by this way."""
    same = update(ledger_head).where(ledger_head.c.sequence == signed.head.sequence)
    await connection.execute(same.values(signature_values(signed)))


def signature_values(signed: SignedHead) -> dict[str, Any]:
    return {
        "ledger_id": signed.ledger,
        "key_id": signed.key_id,
        "signature": signed.signature,
        "signed_us": signed.at_us,
    }


async def last_line(connection: AsyncConnection) -> Head:
    """The last line actually there, whatever the head says."""
    statement = select(ledger_entries.c.sequence, ledger_entries.c.digest)
    row = (await connection.execute(statement.order_by(ledger_entries.c.sequence.desc()).limit(1))).one_or_none()
    return GENESIS if row is None else Head(row.sequence, bytes(row.digest))


async def digests_at(connection: AsyncConnection, sequences: Iterable[int]) -> dict[int, bytes]:
    statement = select(ledger_entries.c.sequence, ledger_entries.c.digest)
    rows = await connection.execute(statement.where(ledger_entries.c.sequence.in_(sorted(set(sequences)))))
    return {row.sequence: bytes(row.digest) for row in rows}


async def committed_at(connection: AsyncConnection, release_id: str) -> int | None:
    """The sequence number at which a release's charge became final."""
    statement = select(func.min(ledger_entries.c.sequence)).where(
        ledger_entries.c.release_id == release_id, ledger_entries.c.kind == "commit"
    )
    found = (await connection.execute(statement)).scalar_one_or_none()
    return None if found is None else int(found)


async def list_acts(connection: AsyncConnection) -> list[Act]:
    """As stored, whoever signed them; rows that no act could have been read from are nobody's."""
    rows = await connection.execute(select(ledger_acts).order_by(ledger_acts.c.number))
    return [act for act in map(_act, rows) if act is not None]


async def signed_acts(connection: AsyncConnection, keyring: Keyring) -> list[Act]:
    """The acts that count: their numbers move witnesses, so anybody's row in that table must not."""
    return [act for act in await list_acts(connection) if keyring.vouches_for_act(act)]


async def last_act(connection: AsyncConnection, keyring: Keyring, ledger: str) -> int:
    """The number of a ledger's last signed act, 0 before the first."""
    acts = await signed_acts(connection, keyring)
    return max((act.number for act in acts if act.ledger == ledger), default=0)


async def count_acts(connection: AsyncConnection) -> int:
    """Signed or not: a sign that somebody did something, cheap enough for every second."""
    return int((await connection.execute(select(func.count()).select_from(ledger_acts))).scalar_one())


async def record_act(
    connection: AsyncConnection,
    key: SigningKey,
    kind: ActKind,
    signed: SignedHead,
    *,
    actor: str,
    reason: str,
    above: int = 0,
    replaces: tuple[Seen, ...] | None = None,
) -> Act:
    """In the transaction that holds the head's lock, so that numbers only grow.

    `above`: the largest number of a signed act, here or where it was seen: a restored database may have forgotten acts
    of its own. A row that nobody signed only takes the number it stands on.
    """
    taken = set((await connection.execute(select(ledger_acts.c.number).where(ledger_acts.c.number > above))).scalars())
    number = next(free for free in count(above + 1) if free not in taken)
    act = key.sign_act(
        number, kind, signed.ledger, signed.head, actor=actor, reason=reason, at_us=signed.at_us, replaces=replaces
    )
    await connection.execute(
        insert(ledger_acts).values(
            number=act.number,
            kind=act.kind,
            ledger_id=act.ledger,
            sequence=act.head.sequence,
            digest=act.head.digest,
            actor=act.actor,
            reason=act.reason,
            at_us=act.at_us,
            key_id=act.key_id,
            signature=act.signature,
            replaces=None if act.replaces is None else canonical_json(seen_fields(act.replaces)),
        )
    )
    return act


def _act(row: Row[Any]) -> Act | None:
    fields: dict[str, Any] = {**row._mapping, "ledger": row.ledger_id}
    try:
        fields |= {"digest": bytes(row.digest).hex(), "signature": bytes(row.signature).hex()}
        named = fields.pop("replaces")
        return act_of_fields(fields if named is None else fields | {"replaces": json.loads(named)})
    except (TypeError, ValueError, RecursionError):
        return None


async def name_tampering(connection: AsyncConnection, sound: Head) -> str:
    """What was done to a chain: the line after `sound` is not as it should be.

    Every line names the one before by digest, and both columns are unique and indexed, so the true successor of the last
    sound line is found wherever it was moved, in one look-up.

    `truncated` nothing follows · `deleted` it is gone · `reordered` it stands elsewhere, or another genuine line
    stands here · `inserted` a line that nothing refers to stands here · `edited` it is here, and says something else.
    """
    lines = ledger_entries.c
    links = select(lines.previous, lines.digest).where(lines.sequence == sound.sequence + 1)
    here = (await connection.execute(links)).one_or_none()
    heir = (await connection.execute(select(lines.sequence).where(lines.previous == sound.digest))).scalar_one_or_none()
    if here is None:
        if heir is not None:
            return "reordered"
        later = exists().where(lines.sequence > sound.sequence)
        return "deleted" if (await connection.execute(select(later))).scalar_one() else "truncated"
    if here.previous == sound.digest or not isinstance(here.previous, bytes):
        return "edited"
    referred = exists().where(lines.previous == here.digest)
    is_head = exists().where(ledger_head.c.digest == here.digest)
    if (await connection.execute(select(referred | is_head))).scalar_one():
        return "reordered" if heir is not None else "deleted"
    return "inserted" if heir is not None else "edited"
