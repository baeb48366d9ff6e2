"""The secret under which uploaded rows lie on disk, and what is derived from it for each upload.

It is kept apart from the rows: in the setting `POSTERN_DATA_KEY`, else in a file of the data directory outside the folder
of uploads. Every upload has a salt of its own; from secret and salt come, by HKDF-SHA256 with different labels,

  the file's key     AES-256-GCM, never used for another file;
  the choice's key   in front of the hashes that choose which of a person's rows count;
  a check            16 bytes in the file's header: whether this is the secret the file was written under, learnt without
                     looking at a row.
"""

import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SALT_BYTES = 16
CHECK_BYTES = 16
KEY_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class DataKey:
    """`secret` is a text of at least 32 characters. Does not print."""

    secret: str

    def __repr__(self) -> str:
        return "DataKey(private)"

    def file_key(self, salt: bytes) -> bytes:
        return self._derived(salt, b"postern rows: file", KEY_BYTES)

    def choice_key(self, salt: bytes) -> bytes:
        return self._derived(salt, b"postern rows: choice", KEY_BYTES)

    def check(self, salt: bytes) -> bytes:
        return self._derived(salt, b"postern rows: check", CHECK_BYTES)

    def wrote(self, salt: bytes, check: bytes) -> bool:
        return hmac.compare_digest(self.check(salt), check)

    def _derived(self, salt: bytes, label: bytes, length: int) -> bytes:
        return HKDF(SHA256(), length, salt, label).derive(self.secret.encode())
