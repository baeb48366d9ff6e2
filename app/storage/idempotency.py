"""First writer wins: what a key was used for, with a hash of the input, and the sealed answer.

Claim and answer belong in the transaction of the work itself. A request that fails leaves no claim, and a second one
with the same key waits for the first to commit (on PostgreSQL at the row, on SQLite at the file) before it sees the
answer. Only a digest of the caller's key is stored, and the answer only as ciphertext: see
`app/services/runtime/idempotency.py`.
"""

from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, delete, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IdempotencyConflict, Unavailable
from app.storage.engine import insert_or_change
from app.storage.tables import idempotency_keys

SWEEP_MAX = 500


@dataclass(frozen=True, slots=True)
class StoredReply:
    """What the first request got; `sealed` None where it was answered before answers were kept."""

    principal_id: str
    key_digest: bytes = field(repr=False)
    route: str
    input_hash: bytes = field(repr=False)
    sealed: bytes | None = field(repr=False)
    location: str | None
    created_us: int


async def find_reply(
    connection: AsyncConnection, principal_id: str, key_digest: bytes, *, route: str, input_hash: bytes, expired_us: int
) -> StoredReply | None:
    """The earlier answer to the same request; None if the key is new or was used up to `expired_us`.

    `IdempotencyConflict` if it came with another body or to another route.
    """
    statement = select(idempotency_keys).where(
        _is(principal_id, key_digest), idempotency_keys.c.created_us > expired_us
    )
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        return None
    found = StoredReply(**row._mapping)
    if found.route != route or bytes(found.input_hash) != input_hash:
        raise IdempotencyConflict("this Idempotency-Key was used for another request", location=found.location)
    return found


async def claim_key(
    connection: AsyncConnection,
    principal_id: str,
    key_digest: bytes,
    *,
    route: str,
    input_hash: bytes,
    now_us: int,
    expired_us: int,
) -> StoredReply | None:
    """None if the key is ours now, new or expired; the earlier answer if the same request came before."""
    values = {
        "principal_id": principal_id,
        "key_digest": key_digest,
        "route": route,
        "input_hash": input_hash,
        "sealed": None,
        "location": None,
        "created_us": now_us,
    }
    taken = await insert_or_change(
        connection,
        idempotency_keys,
        values,
        key=("principal_id", "key_digest"),
        change=values,
        where=idempotency_keys.c.created_us <= expired_us,
    )
    if taken:
        return None
    found = await find_reply(
        connection, principal_id, key_digest, route=route, input_hash=input_hash, expired_us=expired_us
    )
    if found is None:
        raise Unavailable("another request with this Idempotency-Key has only just ended; repeat it")
    return found


async def answer_key(
    connection: AsyncConnection, principal_id: str, key_digest: bytes, *, sealed: bytes, location: str | None = None
) -> None:
    statement = update(idempotency_keys).where(_is(principal_id, key_digest))
    await connection.execute(statement.values(sealed=sealed, location=location))


async def forget_keys(connection: AsyncConnection, expired_us: int, limit: int = SWEEP_MAX) -> int:
    """Drop keys used up to `expired_us`, the oldest first and at most `limit`; returns how many.

    Rows another process is dropping, or a request is taking over, are passed by.
    """
    identity = (idempotency_keys.c.principal_id, idempotency_keys.c.key_digest)
    expired = (
        select(*identity)
        .where(idempotency_keys.c.created_us <= expired_us)
        .order_by(idempotency_keys.c.created_us)
        .limit(limit)
        .with_for_update(skip_locked=True)
        # Chosen once: PostgreSQL may run a plain subquery again for every row, and then each time finds `limit` others.
        .cte("expired", nesting=True)
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    statement = delete(idempotency_keys).where(tuple_(*identity).in_(select(expired)))
    return (await connection.execute(statement)).rowcount


def _is(principal_id: str, key_digest: bytes) -> ColumnElement[bool]:
    return (idempotency_keys.c.principal_id == principal_id) & (idempotency_keys.c.key_digest == key_digest)
