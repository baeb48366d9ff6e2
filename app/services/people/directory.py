"""People: new ones (stewards only through the command line), those a steward created, and who this key is and holds."""

from app.errors import Forbidden, InvalidInput
from app.ledger.account import Account
from app.services.budgets import budget_view
from app.services.principals import ROLES, AnyPrincipal, Role, Steward
from app.services.runtime import idempotency
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import new_id
from app.services.runtime.runtime import Runtime
from app.services.views import CapView, MeView, PrincipalView
from app.storage import accesses, accounts, grants
from app.storage.paging import Page
from app.storage.principals import Principal, insert_principal, page_principals

NAME_LENGTH_MAX = 200


async def create_principal(
    runtime: Runtime, *, role: str, name: str, created_by: Steward | None, once: Once[PrincipalView] | None = None
) -> PrincipalView:
    """`created_by` None is the operator at the command line. A steward cannot make another steward."""
    if role not in ROLES:
        raise InvalidInput("role", "one of " + ", ".join(ROLES))
    if not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise InvalidInput("name", f"1 to {NAME_LENGTH_MAX} printable characters")
    if created_by is not None and role == "steward":
        raise Forbidden("stewards are created at the command line, not by other stewards")
    principal = Principal(
        id=new_id("an"),
        role=_role(role),
        name=name,
        created_by=None if created_by is None else created_by.id,
        created_us=runtime.clock(),
    )
    view = PrincipalView(principal.id, principal.role, principal.name, principal.created_us)
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        await insert_principal(connection, principal)
        await idempotency.answer(runtime, connection, once, view)
    return view


def _role(text: str) -> Role:
    return next(role for role in ROLES if role == text)


async def list_principals(runtime: Runtime, *, steward: Steward, cursor: str | None, limit: int) -> Page[PrincipalView]:
    async with runtime.database.read() as connection:
        page = await page_principals(connection, created_by=steward.id, cursor=cursor, limit=limit)
    items = [PrincipalView(person.id, person.role, person.name, person.created_us) for person in page.items]
    return Page(items, page.next_cursor)


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
        accesses=[
            {"release": access.release_id, "samples": access.samples}
            | ({} if access.part is None else {"part": access.part})
            for access in held
        ],
    )


def _cap(account: Account) -> CapView:
    return CapView(account.dataset or "", account.analyst or "", budget_view(account), None)
