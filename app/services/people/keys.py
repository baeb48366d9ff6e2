"""Keys of people: shown once when made, listed without secrets; revoked ones are forgotten by every worker within a second."""

from app.errors import Forbidden, InvalidInput, NotFound
from app.services.people.verify_key import hash_secret
from app.services.principals import Steward
from app.services.runtime import idempotency
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import new_token
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import announce_rights
from app.services.views import KeyView
from app.storage import keys
from app.storage.installation import bump_epoch
from app.storage.keys import ApiKey, insert_key
from app.storage.principals import get_principal

LABEL_LENGTH_MAX = 200
_DAY_US = 86_400_000_000


async def create_key(
    runtime: Runtime,
    *,
    actor: Steward | None,
    principal_id: str,
    label: str,
    expires_us: int | None,
    role: str | None = None,
    once: Once[KeyView] | None = None,
) -> KeyView:
    """Only the steward who created a person may make keys for them: a key reads whatever its owner paid for.

    `role` may narrow an analyst's key to `dashboard`, which reads what the analyst holds and buys nothing.
    """
    if len(label) > LABEL_LENGTH_MAX or not label.isprintable():
        raise InvalidInput("label", f"at most {LABEL_LENGTH_MAX} printable characters")
    now_us = runtime.clock()
    expires_us = _expiry(runtime, now_us, expires_us)
    key_id, secret, token = new_token()
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        owner = await get_principal(connection, principal_id)
        if owner is None or (actor is not None and owner.created_by != actor.id):
            raise NotFound("analyst", principal_id)
        if role not in (None, owner.role) and (owner.role, role) != ("analyst", "dashboard"):
            raise Forbidden("a key acts in its owner's role, or as a dashboard of an analyst")
        key = ApiKey(
            id=key_id,
            principal_id=owner.id,
            role=owner.role if role is None else role,
            secret_hash=hash_secret(secret),
            created_us=now_us,
            expires_us=expires_us,
            label=label,
        )
        await insert_key(connection, key)
        await bump_epoch(connection)
        view = key_view(key, token)
        await idempotency.answer(runtime, connection, once, view)
    await announce_rights(runtime)
    return view


def _expiry(runtime: Runtime, now_us: int, asked_us: int | None) -> int:
    """Every key ends: where nobody said when, after the usual time."""
    settings = runtime.settings
    if asked_us is None:
        return now_us + int(min(settings.key_days, settings.key_days_max) * _DAY_US)
    if not now_us < asked_us <= now_us + settings.key_days_max * _DAY_US:
        raise InvalidInput("expires_at", f"a time in the future, at most {settings.key_days_max:g} days from now")
    return asked_us


def key_view(key: ApiKey, token: str | None = None) -> KeyView:
    return KeyView(
        id=key.id,
        principal=key.principal_id,
        role=key.role,
        label=key.label,
        created_us=key.created_us,
        expires_us=key.expires_us,
        revoked_us=key.revoked_us,
        last_used_us=key.last_used_us,
        token=token,
    )


async def list_keys(runtime: Runtime, *, steward: Steward, principal_id: str) -> list[KeyView]:
    async with runtime.database.read() as connection:
        owner = await get_principal(connection, principal_id)
        if owner is None or steward.id not in (owner.id, owner.created_by):
            raise NotFound("analyst", principal_id)
        found = await keys.list_keys(connection, principal_id)
    return [key_view(key) for key in found]


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
