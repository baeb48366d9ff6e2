"""The work of a charge does not grow with the ledger. Counted in SQLite's own steps, not in seconds."""

from typing import Any

import pytest

from app.ledger.posting import reserve_posting
from app.storage.accounts import lock_accounts
from app.storage.engine import Database
from app.storage.ledger_book import post
from tests.conftest import Backend
from tests.storage.populated import ONE, WHO, populate

pytestmark = pytest.mark.slow

STEP = 100
"""The handler runs once per so many instructions of SQLite's virtual machine."""


async def charge(database: Database, name: str) -> int:
    """Hundreds of virtual-machine instructions that one charge takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    async with database.write() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        await driver.set_progress_handler(count, STEP)
        account = (await lock_accounts(connection, ["ds_a"]))["ds_a"]
        await post(connection, reserve_posting(account, name, ONE, event="{}", **WHO))
        await driver.set_progress_handler(None, STEP)
    return steps


@pytest.mark.deep
async def test_the_fortieth_and_the_four_hundredth_charge_take_the_same_work(sqlite_backend: Backend) -> None:
    """Were anything in a charge linear in the lines of an account, the later one would take ten times the steps."""
    database = Database.open(sqlite_backend.database_url, pool_size=1)
    await populate(database, epsilon=1000.0)
    steps = [await charge(database, f"rel_{index}") for index in range(400)]
    await database.dispose()
    early, late = sum(steps[20:40]), sum(steps[380:400])
    assert early > 0
    assert late <= 1.1 * early
