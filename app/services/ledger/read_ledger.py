"""The ledger as stewards and auditors read it."""

import json

from app.core.privacy import ORDERS
from app.errors import NotFound
from app.ledger.entry import Entry
from app.ledger.signed_head import ALGORITHM
from app.services.people.visibility import may_see_dataset, may_see_population
from app.services.principals import Overseer
from app.services.runtime.runtime import Runtime
from app.services.views import LedgerEntryView, LedgerHeadView
from app.storage import accounts, ledger_book
from app.storage.ledger_heads import read_stored
from app.storage.paging import Page


async def read_ledger(
    runtime: Runtime, *, overseer: Overseer, dataset_id: str, cursor: str | None, limit: int
) -> Page[LedgerEntryView]:
    """Oldest first: the dataset's account and every analyst's account on it. Raises NotFound."""
    async with runtime.database.read() as connection:
        if not await may_see_dataset(connection, overseer, dataset_id):
            raise NotFound("dataset", dataset_id)
        page = await ledger_book.page_entries(connection, dataset=dataset_id, cursor=cursor, limit=limit)
        found = await accounts.list_accounts(connection, dataset=dataset_id)
        orders = {account.id: account.order_in_force for account in found}
    return Page([_view(entry, orders.get(entry.account)) for entry in page.items], page.next_cursor)


async def read_population_ledger(
    runtime: Runtime, *, overseer: Overseer, population_id: str, cursor: str | None, limit: int
) -> Page[LedgerEntryView]:
    """Oldest first: every charge to the account that covers its datasets together. Raises NotFound."""
    async with runtime.database.read() as connection:
        if not await may_see_population(connection, overseer, population_id):
            raise NotFound("population", population_id)
        page = await ledger_book.page_entries(connection, population=population_id, cursor=cursor, limit=limit)
        account = await accounts.get_account(connection, population_id)
    order = None if account is None else account.order_in_force
    return Page([_view(entry, order) for entry in page.items], page.next_cursor)


async def read_head(runtime: Runtime) -> LedgerHeadView:
    """The signed head; `public_key` only where this process trusts the key, whatever the database says."""
    async with runtime.database.read() as connection:
        stored = await read_stored(connection)
    head, signed = stored.head, stored.signed
    if signed is None:
        return LedgerHeadView(head.sequence, head.digest.hex(), None)
    public = runtime.notary.keys.trusted.publics().get(signed.key_id)
    return LedgerHeadView(
        sequence=head.sequence,
        digest=head.digest.hex(),
        at_us=signed.at_us,
        ledger=signed.ledger,
        algorithm=ALGORITHM,
        key_id=signed.key_id,
        public_key=None if public is None else public.hex(),
        signature=signed.signature.hex(),
    )


def _view(entry: Entry, order: float | None) -> LedgerEntryView:
    """`renyi_nano` is the amount at the account's own order, the one its filter counts."""
    return LedgerEntryView(
        sequence=entry.sequence,
        account=entry.account,
        kind=entry.kind,
        release=entry.release,
        epsilon_pure_nano=entry.amounts.finite_pure_nano,
        renyi_nano=0 if order is None else entry.amounts.curve_nano[ORDERS.index(order)],
        actor=entry.actor,
        reason=entry.reason,
        event=json.loads(entry.event),
        at_us=entry.at_us,
        previous=entry.previous.hex(),
        digest=entry.digest.hex(),
    )
