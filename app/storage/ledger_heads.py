"""The head's row, with its signature, and the acts beside the chain."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.entry import Head
from app.ledger.hash_chain import GENESIS
from app.ledger.signed_head import Act, ActKind, SignedHead, SigningKey
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
    rows = await connection.execute(select(ledger_acts).order_by(ledger_acts.c.number))
    return [_act(row) for row in rows]


async def last_act(connection: AsyncConnection) -> int:
    """The number of the last act, 0 before the first."""
    return int((await connection.execute(select(func.coalesce(func.max(ledger_acts.c.number), 0)))).scalar_one())


async def record_act(
    connection: AsyncConnection,
    key: SigningKey,
    kind: ActKind,
    signed: SignedHead,
    *,
    actor: str,
    reason: str,
    above: int = 0,
) -> Act:
    """In the transaction that holds the head's lock, so that numbers only grow.

    `above`: the largest number known from elsewhere. A restored database may have forgotten acts of its own.
    """
    number = max(await last_act(connection), above) + 1
    act = key.sign_act(number, kind, signed.ledger, signed.head, actor=actor, reason=reason, at_us=signed.at_us)
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
        )
    )
    return act


def _act(row: Row[Any]) -> Act:
    head = Head(row.sequence, bytes(row.digest))
    signature = bytes(row.signature)
    return Act(row.number, row.kind, row.ledger_id, head, row.actor, row.reason, row.at_us, row.key_id, signature)
