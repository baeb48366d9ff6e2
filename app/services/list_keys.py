"""The keys of a person, without their secrets."""

from app.errors import NotFound
from app.services.create_key import key_view
from app.services.principals import Steward
from app.services.runtime import Runtime
from app.services.views import KeyView
from app.storage import keys
from app.storage.principals import get_principal


async def list_keys(runtime: Runtime, *, steward: Steward, principal_id: str) -> list[KeyView]:
    async with runtime.database.read() as connection:
        owner = await get_principal(connection, principal_id)
        if owner is None or steward.id not in (owner.id, owner.created_by):
            raise NotFound("analyst", principal_id)
        found = await keys.list_keys(connection, principal_id)
    return [key_view(key) for key in found]
