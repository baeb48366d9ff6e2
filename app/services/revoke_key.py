"""Revoke a key: on disk first, then forgotten by every worker within a second."""

from app.errors import NotFound
from app.services.change_rights import announce_rights
from app.services.principals import Steward
from app.services.runtime import Runtime
from app.storage import keys
from app.storage.epochs import bump_epoch
from app.storage.principals import get_principal


async def revoke_key(runtime: Runtime, *, actor: Steward | None, key_id: str) -> None:
    """A steward may revoke their own keys and those of people they created. Doing it twice is fine."""
    async with runtime.database.write() as connection:
        key = await keys.get_key(connection, key_id)
        owner = None if key is None else await get_principal(connection, key.principal_id)
        if key is None or owner is None:
            raise NotFound("key", key_id)
        if actor is not None and actor.id not in (owner.id, owner.created_by):
            raise NotFound("key", key_id)
        await keys.revoke_key(connection, key_id, runtime.clock())
        await bump_epoch(connection)
    await announce_rights(runtime)
