"""From a bearer token to a person in a role. Asks nobody when warm."""

import hashlib
import hmac
import re

from app.errors import KeyExpired, KeyRevoked, Unauthenticated
from app.services.principals import Analyst, AnyPrincipal, Auditor, Dashboard, Steward
from app.services.runtime.runtime import Runtime, VerifiedKey
from app.storage import keys, principals

TOKEN = re.compile(r"pstn_([a-z2-7]{16})_([A-Za-z0-9_-]{43})")
_KINDS: dict[str, type[Steward] | type[Analyst] | type[Dashboard] | type[Auditor]] = {
    "steward": Steward,
    "analyst": Analyst,
    "dashboard": Dashboard,
    "auditor": Auditor,
}


async def verify_key(runtime: Runtime, *, token: str | None) -> AnyPrincipal:
    """Raises Unauthenticated; KeyRevoked or KeyExpired only to someone who knows the whole secret."""
    parts = None if token is None else TOKEN.fullmatch(token)
    if parts is None:
        raise Unauthenticated("send a key as `Authorization: Bearer pstn_<id>_<secret>`")
    key_id, secret = parts.groups()
    known = runtime.keys.get(key_id)
    warm = known is not None
    if known is None:
        known = await _load(runtime, key_id)
    offered = hash_secret(secret)
    if known is None or not hmac.compare_digest(offered, known.secret_hash):
        raise Unauthenticated("this key is not known here")
    now_us = runtime.clock()
    _require_usable(known, now_us)
    if token is not None and not warm:
        runtime.limits.prove(token)
    runtime.rights.used_us[key_id] = now_us
    return known.principal


async def require_still_valid(runtime: Runtime, principal: AnyPrincipal) -> None:
    """For work that goes on after its key was verified. Raises KeyRevoked, KeyExpired; asks nobody when warm."""
    known = runtime.keys.get(principal.key_id) or await _load(runtime, principal.key_id)
    if known is None:
        raise Unauthenticated("this key is not known here")
    _require_usable(known, runtime.clock())


def _require_usable(known: VerifiedKey, now_us: int) -> None:
    if known.revoked_us is not None:
        raise KeyRevoked("this key was revoked")
    if known.expires_us is not None and now_us >= known.expires_us:
        raise KeyExpired("this key has expired")


def hash_secret(secret: str) -> bytes:
    """SHA-256: the secret carries 256 random bits, so a slow password hash would protect nothing."""
    return hashlib.sha256(secret.encode("ascii")).digest()


async def _load(runtime: Runtime, key_id: str) -> VerifiedKey | None:
    generation = runtime.rights.generation
    async with runtime.database.read() as connection:
        key = await keys.get_key(connection, key_id)
        owner = None if key is None else await principals.get_principal(connection, key.principal_id)
    if key is None or owner is None:
        return None
    principal = _KINDS[key.role](id=owner.id, name=owner.name, key_id=key.id)
    known = VerifiedKey(key.secret_hash, principal, key.expires_us, key.revoked_us)
    runtime.keys.put(key_id, known, generation)
    return known
