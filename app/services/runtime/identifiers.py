"""Names of things: random, unguessable, short enough to paste."""

import base64
import secrets

REHEARSAL = "rehearsal"
"""Part of the ids of datasets with made-up rows, and of their releases: whatever names one says what it is."""
_ID_BYTES = 10
_SECRET_BYTES = 32


def new_id(prefix: str) -> str:
    """`ds_…`, `rel_…`, `an_…`: 80 random bits after the prefix."""
    return f"{prefix}_{_base32()}"


def is_rehearsal(identifier: str) -> bool:
    """Whether an id says that it is of a dataset with made-up rows, or of a release of one."""
    return identifier.startswith((f"ds_{REHEARSAL}_", f"rel_{REHEARSAL}_"))


def new_token() -> tuple[str, str, str]:
    """(key id, secret, the whole `pstn_<id>_<secret>`): 80 bits to find it by, 256 to prove it with."""
    key_id = _base32()
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return key_id, secret, f"pstn_{key_id}_{secret}"


def _base32() -> str:
    return base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode("ascii").lower()
