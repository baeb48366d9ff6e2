"""Audits: asked for and committed to, then finished, once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.audit_report import Commitment, Signature, commitment_from
from app.ledger.canonical import canonical_json
from app.storage.audits.table import audits
from app.storage.paging import Page, decode_cursor, page_of


@dataclass(frozen=True, slots=True)
class Audit:
    """`asked` is what was sent, until it was looked at; `shown` is of it what is kept. `body` is canonical JSON."""

    commitment: Commitment
    commitment_signature: Signature
    created_by: str
    shown: Mapping[str, Any]
    asked: Mapping[str, Any] | None
    status: str = "pending"
    finished_us: int | None = None
    verdict: str | None = None
    body: str | None = None
    signature: Signature | None = None


async def next_number(connection: AsyncConnection) -> int:
    """Inside the transaction that inserts it; two at once collide on the key, and the later is refused as unavailable."""
    found = (await connection.execute(select(func.max(audits.c.number)))).scalar_one_or_none()
    return 1 if found is None else int(found) + 1


async def insert_audit(connection: AsyncConnection, audit: Audit, *, lease_until_us: int | None = None) -> None:
    """Nobody else takes it before `lease_until_us`."""
    commitment = audit.commitment
    await connection.execute(
        insert(audits).values(
            number=commitment.number,
            id=commitment.id,
            created_by=audit.created_by,
            created_us=commitment.at_us,
            shown=canonical_json(audit.shown),
            asked=None if audit.asked is None else canonical_json(audit.asked),
            commitment=canonical_json(commitment.as_json()),
            commitment_key=audit.commitment_signature.key_id,
            commitment_signature=audit.commitment_signature.value,
            status="pending",
            lease_until_us=lease_until_us,
        )
    )


async def get_audit(connection: AsyncConnection, audit_id: str) -> Audit | None:
    row = (await connection.execute(select(audits).where(audits.c.id == audit_id))).one_or_none()
    return None if row is None else _audit(row)


async def page_audits(
    connection: AsyncConnection, *, created_by: str | None, cursor: str | None, limit: int
) -> Page[Audit]:
    """Newest first; of everybody if None."""
    statement = select(audits).order_by(audits.c.number.desc()).limit(limit + 1)
    if created_by is not None:
        statement = statement.where(audits.c.created_by == created_by)
    if cursor is not None:
        statement = statement.where(audits.c.number < decode_cursor(cursor)[0])
    found = [_audit(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.commitment.number, item.commitment.id))


async def is_any_pending(connection: AsyncConnection) -> bool:
    """Without taking one, so that looking costs no write."""
    statement = select(audits.c.number).where(audits.c.status == "pending").limit(1)
    return (await connection.execute(statement)).first() is not None


async def claim_pending(connection: AsyncConnection, *, now_us: int, lease_us: int) -> Audit | None:
    """The oldest that nobody works on. Worked on twice it comes out the same: what it draws was fixed before."""
    free = or_(audits.c.lease_until_us.is_(None), audits.c.lease_until_us <= now_us)
    chosen = (
        select(audits.c.number)
        .where(audits.c.status == "pending", free)
        .order_by(audits.c.number)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    number = (await connection.execute(chosen)).scalar_one_or_none()
    if number is None:
        return None
    statement = update(audits).where(audits.c.number == number).values(lease_until_us=now_us + lease_us)
    return _audit((await connection.execute(statement.returning(*audits.c))).one())


async def finish_audit(
    connection: AsyncConnection, audit_id: str, *, verdict: str, body: str, signature: Signature, at_us: int
) -> bool:
    """False if another worker was first."""
    values = {
        "status": "done",
        "asked": None,
        "verdict": verdict,
        "body": body,
        "key_id": signature.key_id,
        "signature": signature.value,
        "finished_us": at_us,
        "lease_until_us": None,
    }
    statement = update(audits).where(audits.c.id == audit_id, audits.c.status == "pending").values(values)
    return (await connection.execute(statement)).rowcount == 1


def _audit(row: Row[Any]) -> Audit:
    return Audit(
        commitment=commitment_from(msgspec.json.decode(row.commitment)),
        commitment_signature=Signature(row.commitment_key, bytes(row.commitment_signature)),
        created_by=row.created_by,
        shown=msgspec.json.decode(row.shown),
        asked=None if row.asked is None else msgspec.json.decode(row.asked),
        status=row.status,
        finished_us=row.finished_us,
        verdict=row.verdict,
        body=row.body,
        signature=None if row.signature is None else Signature(row.key_id, bytes(row.signature)),
    )
