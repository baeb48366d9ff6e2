"""Whole numbers sealed to a public key: X25519, HKDF-SHA256, AES-256-GCM.

    header    magic, key id, nonce, expiry, digest of the plan, the sealer's public key made for this seal alone
    numbers   8 bytes each, encrypted, and a tag over header and numbers
    check     of all bytes before it, so that a copy that was cut or damaged on its way is told without opening it

The length follows from how many numbers the plan asks for. The key comes from the agreement of the two keys with the whole
header as context, as in RFC 9180 (base mode); it is used once, so the cipher's own nonce may be fixed. Who sealed is not
proved: whoever brings the seal under a steward's key vouches for it.
"""

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.errors import DataMissing, InvalidInput, InvalidStatistics
from app.sources.vouched.sealing_key import KEY_ID_BYTES, PUBLIC_BYTES, SealingKey, key_id_of

MAGIC = b"PSTNSTA1"
NONCE_BYTES = 16
DIGEST_BYTES = 32
_HEADER = struct.Struct(f">8s{KEY_ID_BYTES}s{NONCE_BYTES}sQ{DIGEST_BYTES}s{PUBLIC_BYTES}s")
_NUMBER_BYTES = 8
_TAG_BYTES = 16
_CHECK_BYTES = 8
_INFO = b"postern statistics: seal\n"
_ONCE = bytes(12)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a seal says of itself, all of it public."""

    key_id: bytes
    nonce: bytes
    expires_us: int
    digest: bytes
    sealer: bytes

    @property
    def header(self) -> bytes:
        return _HEADER.pack(MAGIC, self.key_id, self.nonce, self.expires_us, self.digest, self.sealer)


def sealed_bytes(count: int) -> int:
    """How long a seal of so many numbers is."""
    return _HEADER.size + count * _NUMBER_BYTES + _TAG_BYTES + _CHECK_BYTES


def seal(
    numbers: Sequence[int],
    *,
    public: bytes,
    nonce: bytes,
    expires_us: int,
    digest: bytes,
    random_bytes: Callable[[int], bytes],
) -> bytes:
    """Raises InvalidInput for a number beyond 64 bits, or a key that is none."""
    own = X25519PrivateKey.from_private_bytes(random_bytes(PUBLIC_BYTES))
    sealer = own.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    header = Envelope(key_id_of(public), nonce, expires_us, digest, sealer).header
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(public))
        plain = struct.pack(f">{len(numbers)}q", *numbers)
    except (ValueError, struct.error):
        raise InvalidInput("plan", "a key of a service, and statistics of at most 64 bits") from None
    body = header + AESGCM(_key(shared, header, public)).encrypt(_ONCE, plain, header)
    return body + _check(body)


def read_envelope(sealed: bytes, count: int) -> Envelope:
    """Its form alone; nothing is opened. Raises InvalidStatistics."""
    body, check = sealed[:-_CHECK_BYTES], sealed[-_CHECK_BYTES:]
    if len(sealed) != sealed_bytes(count) or not sealed.startswith(MAGIC) or _check(body) != check:
        raise InvalidStatistics(
            "source.sealed", "what `postern statistics` wrote for this plan, whole: it is damaged, or of another plan"
        )
    _, *found = _HEADER.unpack(sealed[: _HEADER.size])
    return Envelope(*found)


def open_sealed(sealed: bytes, count: int, key: SealingKey) -> list[int]:
    """Raises DataMissing if it does not open with this key; never says more."""
    try:
        envelope = read_envelope(sealed, count)
        shared = key.private.exchange(X25519PublicKey.from_public_bytes(envelope.sealer))
        cipher = AESGCM(_key(shared, envelope.header, key.public))
        plain = cipher.decrypt(_ONCE, sealed[_HEADER.size : -_CHECK_BYTES], envelope.header)
        return list(struct.unpack(f">{count}q", plain))
    except (InvalidStatistics, InvalidTag, ValueError, struct.error):
        raise DataMissing("the sealed statistics cannot be opened") from None


def _key(shared: bytes, header: bytes, public: bytes) -> bytes:
    return HKDF(SHA256(), 32, None, _INFO + header + public).derive(shared)


def _check(body: bytes) -> bytes:
    """Of ciphertext, which is random: it says nothing about what is inside."""
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
