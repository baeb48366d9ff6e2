"""A new person: analyst, dashboard or auditor through the API, anyone (stewards too) through the command line."""

from app.errors import Forbidden, InvalidInput
from app.services import idempotency
from app.services.idempotency import Once
from app.services.identifiers import new_id
from app.services.principals import ROLES, Role, Steward
from app.services.runtime import Runtime
from app.services.views import PrincipalView
from app.storage.principals import Principal, insert_principal

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
