"""A counter that says "rights changed": a worker whose copy is of an older epoch reads again."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.tables import epochs
from app.storage.upsert import insert_or_change

RIGHTS = "rights"


async def get_epoch(connection: AsyncConnection) -> int:
    """0 before the first change."""
    value = (await connection.execute(select(epochs.c.value).where(epochs.c.name == RIGHTS))).scalar()
    return 0 if value is None else int(value)


async def bump_epoch(connection: AsyncConnection) -> None:
    """Belongs in the transaction of the change it announces."""
    values = {"name": RIGHTS, "value": 1}
    await insert_or_change(connection, epochs, values, key=("name",), change={"value": epochs.c.value + 1})
