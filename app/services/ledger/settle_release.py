"""The end of a reservation, on every account that was charged for the release: its dataset's, and its population's if it has one.

Which accounts those are the ledger says, not the dataset's row. They are locked in the order of their ids, like everywhere. The
dataset's line comes first: a population's reservation is voided only after it (`app/ledger/shared_charges.py`).
"""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.account import Account
from app.ledger.posting import commit_posting, void_posting
from app.storage import accounts, ledger_book


async def lock_reserved(connection: AsyncConnection, release_ids: Iterable[str]) -> dict[str, Account]:
    """The accounts with unsettled reservations for these releases, held until the transaction ends."""
    found = {line.account for release in release_ids for line in await ledger_book.reservations(connection, release)}
    return await accounts.lock_accounts(connection, found)


async def settle_release(
    connection: AsyncConnection,
    release_id: str,
    kind: Literal["commit", "void"],
    *,
    actor: str,
    reason: str,
    at_us: int,
    accepted: bool = False,
) -> bool:
    """False if nothing was reserved, or all of it is settled: then there is nothing to write. `accepted`: as in `post`."""
    held = await lock_reserved(connection, [release_id])
    lines = await ledger_book.reservations(connection, release_id)
    for line in reversed(lines):
        account = held[line.account]
        if kind == "commit":
            posting = commit_posting(account, release_id, actor=actor, reason=reason, at_us=at_us)
        else:
            posting = void_posting(account, release_id, line.amounts, actor=actor, reason=reason, at_us=at_us)
        await ledger_book.post(connection, posting, accepted=accepted)
    return bool(lines)
