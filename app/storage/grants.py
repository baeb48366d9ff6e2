"""What a dashboard may read without paying: the releases of a dataset, wholly or a prefix."""

from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.engine import insert_or_change
from app.storage.tables import grants


@dataclass(frozen=True, slots=True)
class Grant:
    """`samples` None means all of each release."""

    principal_id: str
    dataset_id: str
    samples: int | None
    created_us: int


async def put_grant(connection: AsyncConnection, grant: Grant) -> None:
    """Give, widen or narrow; a dashboard has one grant a dataset."""
    values = {
        "principal_id": grant.principal_id,
        "dataset_id": grant.dataset_id,
        "samples": grant.samples,
        "created_us": grant.created_us,
    }
    await insert_or_change(
        connection,
        grants,
        values,
        key=("principal_id", "dataset_id"),
        change={"samples": grant.samples, "created_us": grant.created_us},
    )


async def drop_grant(connection: AsyncConnection, principal_id: str, dataset_id: str) -> bool:
    """True if there was one."""
    statement = delete(grants).where(grants.c.principal_id == principal_id, grants.c.dataset_id == dataset_id)
    return (await connection.execute(statement)).rowcount == 1


async def get_grant(connection: AsyncConnection, principal_id: str, dataset_id: str) -> Grant | None:
    statement = select(grants).where(grants.c.principal_id == principal_id, grants.c.dataset_id == dataset_id)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else Grant(**row._mapping)


async def list_grants(connection: AsyncConnection, principal_id: str) -> tuple[Grant, ...]:
    statement = select(grants).where(grants.c.principal_id == principal_id).order_by(grants.c.dataset_id)
    return tuple(Grant(**row._mapping) for row in await connection.execute(statement))
