"""First writer wins: what a key was used for, with a hash of the input, and what was answered.

Claim and answer belong in the transaction of the work itself. A request that fails leaves no claim, and on
PostgreSQL a second one with the same key waits for the first to commit before it sees the answer.
"""

from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IdempotencyConflict
from app.storage.tables import idempotency_keys
from app.storage.upsert import insert_new


@dataclass(frozen=True, slots=True)
class IdempotentAnswer:
    """What the first request got; `status` None where it claimed the key and committed without an answer."""

    principal_id: str
    key: str
    route: str
    body_hash: bytes = field(repr=False)
    status: int | None
    body: bytes | None = field(repr=False)
    location: str | None
    created_us: int


async def claim_key(
    connection: AsyncConnection, principal_id: str, key: str, *, route: str, body_hash: bytes, now_us: int
) -> IdempotentAnswer | None:
    """None if the key is ours now; the earlier answer if the same request came before.

    `IdempotencyConflict` if it came with another body or to another route.
    """
    values = {
        "principal_id": principal_id,
        "key": key,
        "route": route,
        "body_hash": body_hash,
        "created_us": now_us,
    }
    if await insert_new(connection, idempotency_keys, values):
        return None
    statement = select(idempotency_keys).where(_is(principal_id, key))
    found = IdempotentAnswer(**(await connection.execute(statement)).one()._mapping)
    if found.route != route or bytes(found.body_hash) != body_hash:
        raise IdempotencyConflict("this Idempotency-Key was used for another request")
    return found


async def answer_key(
    connection: AsyncConnection,
    principal_id: str,
    key: str,
    *,
    status: int,
    body: bytes,
    location: str | None = None,
) -> None:
    statement = update(idempotency_keys).where(_is(principal_id, key))
    await connection.execute(statement.values(status=status, body=body, location=location))


async def forget_keys(connection: AsyncConnection, before_us: int) -> int:
    """Drop keys older than their lifetime; returns how many."""
    statement = delete(idempotency_keys).where(idempotency_keys.c.created_us < before_us)
    return (await connection.execute(statement)).rowcount


def _is(principal_id: str, key: str) -> ColumnElement[bool]:
    return (idempotency_keys.c.principal_id == principal_id) & (idempotency_keys.c.key == key)
