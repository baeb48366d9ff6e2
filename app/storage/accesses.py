"""Which prefix of a release, or of each of its parts where it is of several models, each analyst has paid for."""

from dataclasses import dataclass

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.engine import insert_or_change
from app.storage.tables import accesses, part_accesses


@dataclass(frozen=True, slots=True)
class Access:
    """The right to the first `samples` samples."""

    analyst_id: str
    release_id: str
    samples: int
    created_us: int
    updated_us: int
    part: str | None = None
    """None: of a release of one model, all of it."""


async def get_access(connection: AsyncConnection, analyst_id: str, release_id: str) -> Access | None:
    statement = select(accesses).where(accesses.c.analyst_id == analyst_id, accesses.c.release_id == release_id)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else Access(**row._mapping)


async def list_accesses(connection: AsyncConnection, analyst_id: str) -> tuple[Access, ...]:
    """All of an analyst's rights, in the order of release ids and parts."""
    whole = select(accesses).where(accesses.c.analyst_id == analyst_id)
    parts = select(part_accesses).where(part_accesses.c.analyst_id == analyst_id)
    found = [Access(**row._mapping) for statement in (whole, parts) for row in await connection.execute(statement)]
    return tuple(sorted(found, key=lambda access: (access.release_id, access.part or "")))


async def get_part_samples(connection: AsyncConnection, analyst_id: str, release_id: str) -> dict[str, int]:
    """By part, of a release of several models: how many samples; parts that were not paid for are not among them."""
    statement = select(part_accesses.c.part, part_accesses.c.samples).where(
        part_accesses.c.analyst_id == analyst_id, part_accesses.c.release_id == release_id
    )
    return {str(part): int(samples) for part, samples in await connection.execute(statement)}


async def raise_access(
    connection: AsyncConnection,
    analyst_id: str,
    release_id: str,
    *,
    samples: int,
    at_us: int,
    part: str | None = None,
) -> bool:
    """Extend the right to `samples`; False if at least that many were paid for already.

    Called with the analyst's account locked, so of two simultaneous upgrades the second sees the first.
    """
    table: Table = accesses if part is None else part_accesses
    named = {} if part is None else {"part": part}
    values = {
        "analyst_id": analyst_id,
        "release_id": release_id,
        "samples": samples,
        "created_us": at_us,
        "updated_us": at_us,
    } | named
    return await insert_or_change(
        connection,
        table,
        values,
        key=("analyst_id", "release_id", *named),
        change={"samples": samples, "updated_us": at_us},
        where=table.c.samples < samples,
    )
