"""Bytes that follow from a seed, the same on every machine: SHAKE-256 of tag, seed, role and block, each with its length."""

import hashlib
import struct

TAG = b"postern/audit/bytes/1"
SEED_TAG = b"postern/audit/seed/1"
SEED_BYTES = 32
_LENGTH = struct.Struct(">I")
_BLOCK = struct.Struct(">Q")


class SeededBytes:
    """Takes the place of the operating system's randomness in an audit; every call is a block of its own."""

    def __init__(self, seed: bytes, role: str) -> None:
        self._prefix = framed(TAG, seed, role.encode())
        self._block = 0

    def __call__(self, count: int) -> bytes:
        found = hashlib.shake_256(self._prefix + _BLOCK.pack(self._block)).digest(count)
        self._block += 1
        return found


def seed_of(nonce: bytes, code: str, design: str) -> bytes:
    """Fixed by what is audited, by which code, and a nonce: recorded before the first draw, so that none can be chosen."""
    return hashlib.sha256(framed(SEED_TAG, nonce, code.encode(), design.encode())).digest()


def framed(*parts: bytes) -> bytes:
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)
