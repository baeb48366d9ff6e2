"""Who vouches for an audit: a seed that was fixed before the first draw, and a report that nobody changed afterwards.

Both are signed like the heads of the chain (Ed25519, length-prefixed fields behind a tag of their own). The seed's signature
names the audit's number, and the ledger as it stood: numbers have no gaps, so that an audit that came out badly cannot be left
out, nor a seed be tried first.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

from app.ledger.canonical import canonical_json
from app.ledger.entry import Head
from app.ledger.signed_head import Keyring, SigningKey

REPORT_VERSION = 1
NO_LEDGER = "none"
"""The ledger's id while it has no line."""
_COMMITMENT = b"postern/audit/commitment"
_REPORT = b"postern/audit/report"
_INTEGER = struct.Struct(">q")
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Signature:
    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Commitment:
    """What was fixed before anything was drawn."""

    number: int
    id: str
    ledger: str
    head: Head
    code: str
    design: str
    nonce: bytes
    seed: bytes
    at_us: int

    def statement(self) -> bytes:
        return _framed(
            _COMMITMENT,
            _INTEGER.pack(REPORT_VERSION),
            self.ledger.encode(),
            _INTEGER.pack(self.head.sequence),
            self.head.digest,
            _INTEGER.pack(self.number),
            self.id.encode(),
            self.code.encode(),
            self.design.encode(),
            self.nonce,
            self.seed,
            _INTEGER.pack(self.at_us),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "id": self.id,
            "ledger": self.ledger,
            "sequence": self.head.sequence,
            "digest": self.head.digest.hex(),
            "code": self.code,
            "design": self.design,
            "nonce": self.nonce.hex(),
            "seed": self.seed.hex(),
            "at_us": self.at_us,
        }


def commitment_from(fields: dict[str, Any]) -> Commitment:
    """Raises KeyError, TypeError or ValueError for what is none."""
    return Commitment(
        number=int(fields["number"]),
        id=str(fields["id"]),
        ledger=str(fields["ledger"]),
        head=Head(int(fields["sequence"]), bytes.fromhex(fields["digest"])),
        code=str(fields["code"]),
        design=str(fields["design"]),
        nonce=bytes.fromhex(fields["nonce"]),
        seed=bytes.fromhex(fields["seed"]),
        at_us=int(fields["at_us"]),
    )


def report_statement(ledger: str, at_us: int, body: str) -> bytes:
    return _framed(
        _REPORT,
        _INTEGER.pack(REPORT_VERSION),
        ledger.encode(),
        _INTEGER.pack(at_us),
        hashlib.sha256(body.encode()).digest(),
    )


def sign_commitment(key: SigningKey, commitment: Commitment) -> Signature:
    return Signature(key.id, key.sign_statement(commitment.statement()))


def sign_report(key: SigningKey, ledger: str, at_us: int, body: str) -> Signature:
    """`body` is canonical JSON."""
    return Signature(key.id, key.sign_statement(report_statement(ledger, at_us, body)))


def faults_of(report: dict[str, Any], keyring: Keyring) -> str | None:
    """Why nobody should believe this report; None if both signatures hold under one of the keys."""
    try:
        body, signed, commitment = report["body"], report["signature"], commitment_from(report["body"]["commitment"])
        text = canonical_json(body)
        at_us, key_id = int(signed["at_us"]), str(signed["key_id"])
        value, first = bytes.fromhex(signed["value"]), bytes.fromhex(signed["commitment"])
        first_key = str(signed["commitment_key_id"])
    except (KeyError, TypeError, ValueError):
        return "malformed"
    if key_id not in keyring or first_key not in keyring:
        return "unknown_key"
    if not keyring.vouches_for(key_id, value, report_statement(commitment.ledger, at_us, text)):
        return "report_changed"
    if not keyring.vouches_for(first_key, first, commitment.statement()):
        return "commitment_changed"
    return None


def _framed(*fields: bytes) -> bytes:
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)
