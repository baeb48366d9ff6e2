"""Who vouches for the end of the chain.

A chain proves that its middle was not changed, never that its end is the end: whoever drops the last lines, or writes
all of them anew, leaves a chain that verifies. So the head is signed (Ed25519, RFC 8032) with a key the database does
not hold. The signed statement starts with a domain tag and a version, then the ledger's own random id, the sequence,
the digest and the time, each as a 4-byte big-endian length and that many bytes: a signature given to one ledger, or
for one purpose, says nothing about another.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from app.errors import InvalidInput
from app.ledger.entry import Head

ALGORITHM = "ed25519"
STATEMENT_VERSION = 1
NAMING_VERSION = 2
"""Acts that name what they replace; those of version 1 name nothing, and so excuse nothing."""
PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64

_HEAD = b"postern/ledger/head"
_ACT = b"postern/ledger/act"
_CHECKPOINT = b"postern/ledger/checkpoint"
_WITNESS = b"postern/ledger/witness"
_SEED = b"postern/ledger/signing-key/1"
_KEY_ID = b"postern/ledger/key-id/1"
_INTEGER = struct.Struct(">q")
_LENGTH = struct.Struct(">I")

ActKind = Literal["adopted", "rotated", "accepted", "recosted"]
ACT_KINDS: tuple[ActKind, ...] = get_args(ActKind)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """`key_id` says which key to try; only `Keyring.vouches` says whether to believe it."""

    ledger: str
    head: Head
    at_us: int
    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Mark:
    """Under a head and the number of acts there were when it was seen, which the head's own signature does not cover."""

    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Seen:
    """A head that somebody saw in a ledger; line 0 where only the ledger itself was known."""

    ledger: str
    head: Head


@dataclass(frozen=True, slots=True)
class Act:
    """Something a person or a start did: first signature, another key, a head accepted by hand, charges computed anew.

    `replaces`: the heads seen earlier that are given up for this one; None in acts from before they were named.
    """

    number: int
    kind: ActKind
    ledger: str
    head: Head
    actor: str
    reason: str
    at_us: int
    key_id: str
    signature: bytes
    replaces: tuple[Seen, ...] | None = None


def head_statement(ledger: str, head: Head, at_us: int, purpose: bytes = _HEAD) -> bytes:
    return _statement(
        purpose,
        _INTEGER.pack(STATEMENT_VERSION),
        ledger.encode(),
        _INTEGER.pack(head.sequence),
        head.digest,
        _INTEGER.pack(at_us),
    )


def count_statement(signed: SignedHead, acts: int) -> bytes:
    return head_statement(signed.ledger, signed.head, signed.at_us, _WITNESS) + _statement(_INTEGER.pack(acts))


def act_statement(
    number: int,
    kind: str,
    ledger: str,
    head: Head,
    actor: str,
    reason: str,
    at_us: int,
    replaces: tuple[Seen, ...] | None = None,
) -> bytes:
    """Version 2 ends in ledger, sequence and digest of every head replaced; nothing follows, so their number is theirs."""
    version = STATEMENT_VERSION if replaces is None else NAMING_VERSION
    named = [
        part
        for seen in replaces or ()
        for part in (seen.ledger.encode(), _INTEGER.pack(seen.head.sequence), seen.head.digest)
    ]
    return _statement(
        _ACT,
        _INTEGER.pack(version),
        ledger.encode(),
        _INTEGER.pack(number),
        kind.encode(),
        _INTEGER.pack(head.sequence),
        head.digest,
        actor.encode(),
        reason.encode(),
        _INTEGER.pack(at_us),
        *named,
    )


def key_id_of(public: bytes) -> str:
    return hashlib.sha256(_KEY_ID + public).hexdigest()[:16]


class SigningKey:
    """Derived from a secret text, so that one setting fits every process; it does not print."""

    def __init__(self, secret: str) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(_SEED + b"\0" + secret.encode()).digest())
        self.public = self._private.public_key().public_bytes_raw()
        self.id = key_id_of(self.public)

    def sign_head(self, ledger: str, head: Head, at_us: int) -> SignedHead:
        return SignedHead(ledger, head, at_us, self.id, self._private.sign(head_statement(ledger, head, at_us)))

    def sign_checkpoint(self, ledger: str, head: Head, at_us: int) -> SignedHead:
        """That every line up to here was verified, which a head does not say: no head passes for it, nor it for one."""
        statement = head_statement(ledger, head, at_us, _CHECKPOINT)
        return SignedHead(ledger, head, at_us, self.id, self._private.sign(statement))

    def sign_statement(self, statement: bytes) -> bytes:
        """Of another purpose, which the statement's own tag has to name."""
        return self._private.sign(statement)

    def sign_count(self, signed: SignedHead, acts: int) -> Mark:
        return Mark(self.id, self._private.sign(count_statement(signed, acts)))

    def sign_act(
        self,
        number: int,
        kind: ActKind,
        ledger: str,
        head: Head,
        *,
        actor: str,
        reason: str,
        at_us: int,
        replaces: tuple[Seen, ...] | None = None,
    ) -> Act:
        statement = act_statement(number, kind, ledger, head, actor, reason, at_us, replaces)
        return Act(number, kind, ledger, head, actor, reason, at_us, self.id, self._private.sign(statement), replaces)


class Keyring:
    """Public keys believed here. Where they come from is never the database they are used on."""

    def __init__(self, publics: Iterable[bytes]) -> None:
        self._keys = {key_id_of(public): Ed25519PublicKey.from_public_bytes(public) for public in publics}

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._keys

    def publics(self) -> Mapping[str, bytes]:
        return {key_id: key.public_bytes_raw() for key_id, key in self._keys.items()}

    def vouches(self, signed: SignedHead) -> bool:
        statement = head_statement(signed.ledger, signed.head, signed.at_us)
        return self._verifies(signed.key_id, signed.signature, statement)

    def vouches_for_checkpoint(self, signed: SignedHead) -> bool:
        statement = head_statement(signed.ledger, signed.head, signed.at_us, _CHECKPOINT)
        return self._verifies(signed.key_id, signed.signature, statement)

    def vouches_for(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        return self._verifies(key_id, signature, statement)

    def vouches_for_count(self, signed: SignedHead, acts: int, mark: Mark) -> bool:
        return self._verifies(mark.key_id, mark.signature, count_statement(signed, acts))

    def vouches_for_act(self, act: Act) -> bool:
        statement = act_statement(
            act.number, act.kind, act.ledger, act.head, act.actor, act.reason, act.at_us, act.replaces
        )
        return self._verifies(act.key_id, act.signature, statement)

    def _verifies(self, key_id: str, signature: bytes, statement: bytes) -> bool:
        key = self._keys.get(key_id)
        if key is None:
            return False
        try:
            key.verify(signature, statement)
        except InvalidSignature:
            return False
        return True


def parse_public_key(text: str) -> bytes:
    """64 hexadecimal digits, as `postern ledger head` prints them."""
    try:
        public = bytes.fromhex(text.strip())
    except ValueError:
        public = b""
    if len(public) != PUBLIC_KEY_BYTES:
        raise InvalidInput("public_key", f"{2 * PUBLIC_KEY_BYTES} hexadecimal digits")
    return public


def _statement(*fields: bytes) -> bytes:
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)
