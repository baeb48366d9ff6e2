"""A signed head as JSON: on disk, in the cache, at the end of an export. Whatever does not parse is no head."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from app.ledger.canonical import canonical_json
from app.ledger.entry import Head
from app.ledger.signed_head import SIGNATURE_BYTES, Act, Mark, Seen, SignedHead

DIGEST_BYTES = 32
ACTS_MAX = 2**31
"""More acts than any ledger has: a witness that counts so many is junk."""


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
    """`replaces` only where the act names something, as its signature does."""
    named = {} if act.replaces is None else {"replaces": seen_fields(act.replaces)}
    return named | {
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
            replaces=seen_of_fields(fields["replaces"]) if "replaces" in fields else None,
        )
    except (KeyError, TypeError, ValueError):
        return None


def seen_fields(replaces: Iterable[Seen]) -> list[dict[str, Any]]:
    return [
        {"ledger": seen.ledger, "sequence": seen.head.sequence, "digest": seen.head.digest.hex()} for seen in replaces
    ]


def seen_of_fields(listed: Any) -> tuple[Seen, ...]:
    """Raises KeyError, TypeError or ValueError for anything else than what `seen_fields` gives."""
    if not isinstance(listed, list):
        raise TypeError("not a list")
    return tuple(
        Seen(_text(item["ledger"]), Head(_whole(item["sequence"]), _bytes(item["digest"], DIGEST_BYTES)))
        for item in listed
    )


def encode_witness(signed: SignedHead, acts: int, mark: Mark | None = None) -> bytes:
    """Version 1 with or without a mark: services from before there were marks read past it."""
    marked = {} if mark is None else {"acts_key_id": mark.key_id, "acts_signature": mark.signature.hex()}
    return canonical_json({"version": 1, "acts": acts} | marked | head_fields(signed)).encode()


def decode_witness(body: bytes, ledger: str) -> tuple[SignedHead, int, Mark | None] | None:
    """(head, acts, mark), the mark None in records from before there were any.

    None for whatever is no head of that ledger: the file or key may hold anything, and junk is no alarm.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("version") != 1 or type(fields.get("acts")) is not int:
        return None
    signed, acts = head_of_fields(fields), fields["acts"]
    if signed is None or signed.ledger != ledger or not 0 <= acts < ACTS_MAX:
        return None
    return signed, acts, _mark_of_fields(fields)


def _mark_of_fields(fields: Mapping[str, Any]) -> Mark | None:
    try:
        return Mark(_text(fields["acts_key_id"]), _bytes(fields["acts_signature"], SIGNATURE_BYTES))
    except (KeyError, TypeError, ValueError):
        return None


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
