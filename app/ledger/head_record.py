"""A signed head as JSON: on disk, in the cache, at the end of an export. Whatever does not parse is no head."""

import json
from collections.abc import Mapping
from typing import Any

from app.ledger.canonical import canonical_json
from app.ledger.entry import Head
from app.ledger.signed_head import SIGNATURE_BYTES, Act, SignedHead

DIGEST_BYTES = 32


def head_fields(signed: SignedHead) -> dict[str, Any]:
    return {
        "ledger": signed.ledger,
        "sequence": signed.head.sequence,
        "digest": signed.head.digest.hex(),
        "at_us": signed.at_us,
        "key_id": signed.key_id,
        "signature": signed.signature.hex(),
    }


def head_of_fields(fields: Mapping[str, Any]) -> SignedHead | None:
    """None if anything is missing or of another kind."""
    try:
        head = Head(_whole(fields["sequence"]), _bytes(fields["digest"], DIGEST_BYTES))
        at_us, signature = _whole(fields["at_us"]), _bytes(fields["signature"], SIGNATURE_BYTES)
        return SignedHead(_text(fields["ledger"]), head, at_us, _text(fields["key_id"]), signature)
    except (KeyError, TypeError, ValueError):
        return None


def act_fields(act: Act) -> dict[str, Any]:
    return {
        "number": act.number,
        "kind": act.kind,
        "ledger": act.ledger,
        "sequence": act.head.sequence,
        "digest": act.head.digest.hex(),
        "actor": act.actor,
        "reason": act.reason,
        "at_us": act.at_us,
        "key_id": act.key_id,
        "signature": act.signature.hex(),
    }


def act_of_fields(fields: Mapping[str, Any]) -> Act | None:
    try:
        _text(fields["kind"])
        return Act(
            number=_whole(fields["number"]),
            kind=fields["kind"],
            ledger=_text(fields["ledger"]),
            head=Head(_whole(fields["sequence"]), _bytes(fields["digest"], DIGEST_BYTES)),
            actor=_text(fields["actor"]),
            reason=_text(fields["reason"]),
            at_us=_whole(fields["at_us"]),
            key_id=_text(fields["key_id"]),
            signature=_bytes(fields["signature"], SIGNATURE_BYTES),
        )
    except (KeyError, TypeError, ValueError):
        return None


def encode_witness(signed: SignedHead, acts: int) -> bytes:
    return canonical_json({"version": 1, "acts": acts} | head_fields(signed)).encode()


def decode_witness(body: bytes, ledger: str) -> tuple[SignedHead, int] | None:
    """None for whatever is no head of that ledger: the file or key may hold anything, and junk is no alarm."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("version") != 1 or type(fields.get("acts")) is not int:
        return None
    signed = head_of_fields(fields)
    return None if signed is None or signed.ledger != ledger else (signed, fields["acts"])


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("not a whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    value.encode()  # half a surrogate pair is JSON, and no text that could have been signed
    return value


def _bytes(value: Any, length: int) -> bytes:
    found = bytes.fromhex(value)
    if len(found) != length:
        raise ValueError("of another length")
    return found
