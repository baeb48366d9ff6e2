"""What belongs to this database as a whole: secrets made once, and counters that say that something changed."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IntegrityFailure
from app.storage.tables import epochs, installation_secrets
from app.storage.upsert import insert_or_change

CACHE = "cache"
"""Seals what is put in the shared cache: all processes of this database share it, the cache server never sees it."""


async def get_secret(connection: AsyncConnection, name: str) -> bytes:
    statement = select(installation_secrets.c.secret).where(installation_secrets.c.name == name)
    found = (await connection.execute(statement)).scalar_one_or_none()
    if found is None:
        raise IntegrityFailure(f"the installation has no {name} secret")
    return bytes(found)


RIGHTS = "rights"


async def get_epoch(connection: AsyncConnection) -> int:
    """0 before the first change."""
    value = (await connection.execute(select(epochs.c.value).where(epochs.c.name == RIGHTS))).scalar()
    return 0 if value is None else int(value)


async def bump_epoch(connection: AsyncConnection) -> None:
    """Belongs in the transaction of the change it announces."""
    values = {"name": RIGHTS, "value": 1}
    await insert_or_change(connection, epochs, values, key=("name",), change={"value": epochs.c.value + 1})
