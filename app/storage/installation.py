"""What belongs to this database as a whole: secrets made once, counters that say that something changed, measurements."""

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import IntegrityFailure
from app.storage.engine import insert_or_change
from app.storage.tables import epochs, installation_secrets, measurements

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


PACE = "pace"
"""How many times slower than the machine of reference this installation reads and draws."""


async def get_measurement(connection: AsyncConnection, name: str) -> float | None:
    value = (await connection.execute(select(measurements.c.value).where(measurements.c.name == name))).scalar()
    return None if value is None else float(value)


async def keep_measurement(
    connection: AsyncConnection, name: str, value: float, at_us: int, *, believed_us: int
) -> float:
    """The smallest of what was measured goes for everybody, until it is older than `believed_us`. Returns what goes now."""
    values = {"name": name, "value": value, "measured_us": at_us}
    change = {"value": value, "measured_us": at_us}
    gives_way = or_(measurements.c.value > value, measurements.c.measured_us < at_us - believed_us)
    await insert_or_change(connection, measurements, values, key=("name",), change=change, where=gives_way)
    found = await get_measurement(connection, name)
    if found is None:
        raise IntegrityFailure(f"the measurement of {name} was not kept")
    return found
