"""People and keys: who may ask, what they hold, what they may see."""

from app.services.people.directory import create_principal, list_principals, read_me
from app.services.people.keys import create_key, list_keys, revoke_key
from app.services.people.verify_key import verify_key

__all__ = [
    "create_key",
    "create_principal",
    "list_keys",
    "list_principals",
    "read_me",
    "revoke_key",
    "verify_key",
]
