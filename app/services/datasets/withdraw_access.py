"""Take back what an analyst or a dashboard may read of a dataset. What was paid stays paid: what was learnt stays learnt."""

from app.errors import NotFound
from app.ledger.account import account_id
from app.ledger.posting import cap_posting
from app.services.budgets import budget_view
from app.services.datasets.read_datasets import owned
from app.services.people.visibility import WITHDRAWN_EPSILON, belongs_to
from app.services.principals import Steward
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import announce_rights
from app.services.views import CapView
from app.storage import accounts, datasets
from app.storage.grants import drop_grant
from app.storage.installation import bump_epoch
from app.storage.ledger_book import post
from app.storage.principals import get_principal


async def withdraw_access(runtime: Runtime, *, steward: Steward, dataset_id: str, principal_id: str) -> CapView:
    """One line of the ledger: a cap of ε = 0, which nobody can ask for otherwise, under which nothing is read or bought. Another
    cap gives back what was paid for. Doing it twice writes one line. Raises NotFound."""
    async with runtime.database.write() as connection:
        owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        person = await get_principal(connection, principal_id)
        if person is None or not belongs_to(person, steward):
            raise NotFound("analyst", principal_id)
        if person.role == "dashboard":
            if not await drop_grant(connection, principal_id, dataset_id):
                raise NotFound("analyst", principal_id)
            view = CapView(dataset_id, principal_id, None, 0)
        else:
            number = account_id(dataset_id, principal_id)
            account = (await accounts.lock_accounts(connection, [number])).get(number)
            if account is None:
                raise NotFound("analyst", principal_id)
            if account.epsilon != WITHDRAWN_EPSILON:
                posting = cap_posting(
                    account,
                    epsilon=WITHDRAWN_EPSILON,
                    delta=account.delta,
                    actor=steward.id,
                    reason="access withdrawn",
                    at_us=runtime.clock(),
                )
                await post(connection, posting)
                account = posting.account
            view = CapView(dataset_id, principal_id, budget_view(account), None)
        await bump_epoch(connection)
    await announce_rights(runtime)
    return view
