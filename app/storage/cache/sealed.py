"""Values that are worth nothing to whoever reads or writes the cache server.

AES-256-GCM under a secret of the installation (`app/storage/installation.py`), bound to the key it is stored under: a
value that was changed, cut short, moved to another key or written by someone else does not open, and one that was
copied away cannot be read. The first byte is the version of this form.
"""

import os

_VERSION = b"\x01"
_NONCE_BYTES = 12


def seal(secret: bytes, key: str, value: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # loaded only where it is used

    nonce = os.urandom(_NONCE_BYTES)
    return _VERSION + nonce + AESGCM(secret).encrypt(nonce, value, _bound_to(key))


def unseal(secret: bytes, key: str, sealed: bytes) -> bytes | None:
    """None for anything this installation did not seal for this key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, ciphertext = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if sealed[:1] != _VERSION or len(nonce) < _NONCE_BYTES:
        return None
    try:
        return AESGCM(secret).decrypt(nonce, ciphertext, _bound_to(key))
    except InvalidTag:
        return None


def _bound_to(key: str) -> bytes:
    return b"postern/cache/1\n" + key.encode()
