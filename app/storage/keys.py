"""API keys: only the SHA-256 of a 256-bit random secret is ever stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from sqlalchemy import BindParameter, Row, bindparam, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.tables import api_keys, principals


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`role` is the owner's, or `dashboard` for an analyst's read-only key; the database holds the two together."""

    id: str
    principal_id: str
    role: str
    secret_hash: bytes = field(repr=False)
    created_us: int
    expires_us: int | None = None
    revoked_us: int | None = None
    last_used_us: int | None = None
    label: str = ""


async def insert_key(connection: AsyncConnection, key: ApiKey) -> None:
    owner_role = select(principals.c.role).where(principals.c.id == key.principal_id).scalar_subquery()
    await connection.execute(insert(api_keys).values(**asdict(key), owner_role=owner_role))


async def get_key(connection: AsyncConnection, key_id: str) -> ApiKey | None:
    row = (await connection.execute(select(api_keys).where(api_keys.c.id == key_id))).one_or_none()
    return None if row is None else _record(row)


async def list_keys(connection: AsyncConnection, principal_id: str) -> tuple[ApiKey, ...]:
    """Oldest first, revoked ones included."""
    statement = (
        select(api_keys).where(api_keys.c.principal_id == principal_id).order_by(api_keys.c.created_us, api_keys.c.id)
    )
    return tuple(_record(row) for row in await connection.execute(statement))


async def revoke_key(connection: AsyncConnection, key_id: str, at_us: int) -> bool:
    """True if this call revoked it; the time of the first revocation stays."""
    statement = (
        update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_us.is_(None)).values(revoked_us=at_us)
    )
    return (await connection.execute(statement)).rowcount == 1


async def touch_keys(connection: AsyncConnection, used_us: Mapping[str, int]) -> None:
    """Write last-used times gathered over a while; a time never moves back.

    In the order of ids, so that two workers flushing at once wait for each other instead of deadlocking.
    """
    if not used_us:
        return
    moment: BindParameter[int] = bindparam("moment")
    statement = (
        update(api_keys)
        .where(
            api_keys.c.id == bindparam("key_id"),
            or_(api_keys.c.last_used_us.is_(None), api_keys.c.last_used_us < moment),
        )
        .values(last_used_us=moment)
    )
    parameters = [{"key_id": key_id, "moment": at_us} for key_id, at_us in sorted(used_us.items())]
    await connection.execute(statement, parameters)


def _record(row: Row[tuple[object, ...]]) -> ApiKey:
    return ApiKey(**{name: value for name, value in row._mapping.items() if name != "owner_role"})
