"""The key pair that statistics are sealed to. Its public half is shown to everyone; the private half opens what arrives.

It comes from a secret of its own: the setting `POSTERN_SEALING_KEY`, else a file of the data directory, made when first asked
for. From the secret comes, by HKDF-SHA256, the private half of an X25519 pair. Nothing else is ever done with it.
"""

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PUBLIC_BYTES = 32
KEY_ID_BYTES = 8
_LABEL = b"postern statistics: private key"


@dataclass(frozen=True, slots=True, repr=False)
class SealingKey:
    """`secret` is a text of at least 32 characters. Does not print."""

    secret: str

    def __repr__(self) -> str:
        return "SealingKey(private)"

    @property
    def private(self) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(HKDF(SHA256(), 32, None, _LABEL).derive(self.secret.encode()))

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def key_id(self) -> bytes:
        return key_id_of(self.public)


def key_id_of(public: bytes) -> bytes:
    """What a seal says of the key it is for, so that another service's is told without opening it."""
    return hashlib.sha256(b"postern statistics: key id\n" + public).digest()[:KEY_ID_BYTES]
