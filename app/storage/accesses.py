"""Which prefix of a release each analyst has paid for."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.engine import insert_or_change
from app.storage.tables import accesses


@dataclass(frozen=True, slots=True)
class Access:
    """The right to the first `samples` samples."""

    analyst_id: str
    release_id: str
    samples: int
    created_us: int
    updated_us: int


async def get_access(connection: AsyncConnection, analyst_id: str, release_id: str) -> Access | None:
    statement = select(accesses).where(accesses.c.analyst_id == analyst_id, accesses.c.release_id == release_id)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else Access(**row._mapping)


async def list_accesses(connection: AsyncConnection, analyst_id: str) -> tuple[Access, ...]:
    """All of an analyst's rights, in the order of release ids."""
    statement = select(accesses).where(accesses.c.analyst_id == analyst_id).order_by(accesses.c.release_id)
    return tuple(Access(**row._mapping) for row in await connection.execute(statement))


async def raise_access(
    connection: AsyncConnection, analyst_id: str, release_id: str, *, samples: int, at_us: int
) -> bool:
    """Extend the right to `samples`; False if at least that many were paid for already.

    Called with the analyst's account locked, so of two simultaneous upgrades the second sees the first.
    """
    values = {
        "analyst_id": analyst_id,
        "release_id": release_id,
        "samples": samples,
        "created_us": at_us,
        "updated_us": at_us,
    }
    return await insert_or_change(
        connection,
        accesses,
        values,
        key=("analyst_id", "release_id"),
        change={"samples": samples, "updated_us": at_us},
        where=accesses.c.samples < samples,
    )
