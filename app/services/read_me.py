"""Who this key is, what it may spend and what it holds."""

from app.ledger.account import Account
from app.services.budgets import budget_view
from app.services.principals import AnyPrincipal
from app.services.runtime import Runtime
from app.services.views import CapView, MeView
from app.storage import accesses, accounts, grants


async def read_me(runtime: Runtime, *, principal: AnyPrincipal) -> MeView:
    async with runtime.database.read() as connection:
        held = await accesses.list_accesses(connection, principal.id)
        own = await accounts.list_accounts(connection, analyst=principal.id)
        granted = await grants.list_grants(connection, principal.id)
    caps = [_cap(account) for account in own]
    caps += [CapView(grant.dataset_id, principal.id, None, grant.samples) for grant in granted]
    return MeView(
        id=principal.id,
        role=principal.role,
        name=principal.name,
        key=principal.key_id,
        caps=caps,
        accesses=[{"release": access.release_id, "samples": access.samples} for access in held],
    )


def _cap(account: Account) -> CapView:
    return CapView(account.dataset, account.analyst or "", budget_view(account), None)
