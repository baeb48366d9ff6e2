"""Secrets that belong to this database and to whoever may read it; made once, by the migration that needed them."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IntegrityFailure
from app.storage.tables import installation_secrets

CACHE = "cache"
"""Seals what is put in the shared cache: all processes of this database share it, the cache server never sees it."""


async def get_secret(connection: AsyncConnection, name: str) -> bytes:
    statement = select(installation_secrets.c.secret).where(installation_secrets.c.name == name)
    found = (await connection.execute(statement)).scalar_one_or_none()
    if found is None:
        raise IntegrityFailure(f"the installation has no {name} secret")
    return bytes(found)
