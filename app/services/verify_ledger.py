"""Recompute the whole chain and every account's totals from it."""

from app.services.runtime import Runtime
from app.services.views import VerificationView
from app.storage.ledger_book import verify_book


async def verify_ledger(runtime: Runtime) -> VerificationView:
    async with runtime.database.read() as connection:
        found = await verify_book(connection)
    return VerificationView(found.ok, found.count, found.head.digest.hex(), found.first_bad, found.reason)
