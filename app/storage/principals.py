"""People and programs that hold keys."""

from dataclasses import asdict, dataclass

from sqlalchemy import Row, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.paging import Page, newest_first, page_of
from app.storage.tables import principals


@dataclass(frozen=True, slots=True)
class Principal:
    """`created_by` is the steward who created them, None for one made on the command line."""

    id: str
    role: str
    name: str
    created_by: str | None
    created_us: int


async def insert_principal(connection: AsyncConnection, principal: Principal) -> None:
    await connection.execute(insert(principals).values(asdict(principal)))


async def get_principal(connection: AsyncConnection, principal_id: str) -> Principal | None:
    statement = select(principals).where(principals.c.id == principal_id)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else _record(row)


async def page_principals(
    connection: AsyncConnection, *, created_by: str, cursor: str | None = None, limit: int = 50
) -> Page[Principal]:
    """Those a steward created, newest first."""
    statement = select(principals).where(principals.c.created_by == created_by)
    statement = newest_first(statement, principals.c.created_us, principals.c.id, cursor, limit)
    found = [_record(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.created_us, item.id))


def _record(row: Row[tuple[object, ...]]) -> Principal:
    return Principal(**row._mapping)
