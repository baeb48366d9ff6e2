"""Which plans were given out to seal statistics by, which release each was used for, and where what was sealed lies meanwhile.

The seal itself is a private file beside the uploads, never a row: a backup of the database holds none. A plan that was used stays
used (a trigger keeps it); one that was not is forgotten once it has expired.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.tables import releases, sealing_plans


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """`sealed_name` is the private file, while there is one."""

    nonce: bytes
    dataset_id: str
    created_us: int
    expires_us: int
    release_id: str | None = None
    sealed_name: str | None = None


async def insert_plan(connection: AsyncConnection, plan: StoredPlan) -> None:
    await connection.execute(
        insert(sealing_plans).values({name: getattr(plan, name) for name in StoredPlan.__dataclass_fields__})
    )


async def get_plan(connection: AsyncConnection, nonce: bytes) -> StoredPlan | None:
    row = (await connection.execute(select(sealing_plans).where(sealing_plans.c.nonce == nonce))).one_or_none()
    return None if row is None else _record(row._mapping)


async def plan_of_release(connection: AsyncConnection, release_id: str) -> StoredPlan | None:
    statement = select(sealing_plans).where(sealing_plans.c.release_id == release_id)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else _record(row._mapping)


async def use_plan(
    connection: AsyncConnection, nonce: bytes, *, release_id: str, sealed_name: str, dataset_id: str
) -> bool:
    """False if it was used before, or is not one of this dataset's: whoever comes second finds the row changed."""
    statement = (
        update(sealing_plans)
        .where(
            sealing_plans.c.nonce == nonce,
            sealing_plans.c.dataset_id == dataset_id,
            sealing_plans.c.release_id.is_(None),
        )
        .values(release_id=release_id, sealed_name=sealed_name)
    )
    return (await connection.execute(statement)).rowcount == 1


async def forget_sealed(connection: AsyncConnection, nonce: bytes, sealed_name: str) -> None:
    """The file of that name is about to go."""
    own = sealing_plans.c.nonce == nonce, sealing_plans.c.sealed_name == sealed_name
    await connection.execute(update(sealing_plans).where(*own).values(sealed_name=None))


async def list_sealed(connection: AsyncConnection) -> tuple[tuple[StoredPlan, str], ...]:
    """Those whose file should exist, with the status of their release."""
    statement = (
        select(*sealing_plans.c, releases.c.status)
        .join(releases, releases.c.id == sealing_plans.c.release_id)
        .where(sealing_plans.c.sealed_name.is_not(None))
        .order_by(sealing_plans.c.nonce)
    )
    found = (await connection.execute(statement)).mappings()
    return tuple((_record({**row}), str(row["status"])) for row in found)


async def count_open(connection: AsyncConnection, dataset_id: str) -> int:
    """Given out, and neither used nor forgotten."""
    own = sealing_plans.c.dataset_id == dataset_id, sealing_plans.c.release_id.is_(None)
    return int((await connection.execute(select(func.count()).select_from(sealing_plans).where(*own))).scalar_one())


async def forget_expired(connection: AsyncConnection, dataset_id: str, expired_us: int) -> None:
    own = sealing_plans.c.dataset_id == dataset_id, sealing_plans.c.release_id.is_(None)
    await connection.execute(delete(sealing_plans).where(*own, sealing_plans.c.expires_us <= expired_us))


def _record(row: Mapping[Any, Any]) -> StoredPlan:
    values = {name: value for name, value in row.items() if name in StoredPlan.__dataclass_fields__}
    return StoredPlan(**values | {"nonce": bytes(values["nonce"])})
