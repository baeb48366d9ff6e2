"""The whole ledger as text that verifies anywhere: one JSON object a line.

    {"format": "postern-ledger", "version": 2, "ledger": …, "algorithm": "ed25519", "keys": {id: public key}}
    {"sequence": 1, …}        one line an entry: every field of its preimage, and its digest
    {"act": {…}}              what people did to the head without a line, each signed
    {"head": {…}}             last: the signed head; an export without it was cut short

Amounts are lists in the order of the preimage: pure, slack, then one value an order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from app.errors import IntegrityFailure, PosternError
from app.ledger.amounts import Amounts
from app.ledger.entry import Entry, EntryKind
from app.ledger.head_record import act_fields, act_of_fields, head_fields, head_of_fields
from app.ledger.signed_head import ALGORITHM, Act, SignedHead

FORMAT, EXPORT_VERSION = "postern-ledger", 2
KNOWN_VERSIONS = (1, EXPORT_VERSION)
"""Acts of version 2 may name what they replace."""


class Malformed(IntegrityFailure):
    """A line that is not what an export has there; the message says which and why."""


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    ledger: str
    algorithm: str
    keys: dict[str, str]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Exactly one of: an entry (sequence is there), an act, the head."""

    sequence: int | None = None
    version: int = 0
    previous: str = ""
    account: str = ""
    kind: EntryKind = "open"
    release: str | None = None
    amounts: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    event: str = ""
    actor: str = ""
    reason: str = ""
    at_us: int = 0
    digest: str = ""
    act: dict[str, Any] | None = None
    head: dict[str, Any] | None = None


_encode = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(Header).decode
_decode_line = msgspec.json.Decoder(_Line).decode


def header_line(ledger: str, keys: Mapping[str, bytes]) -> bytes:
    listed = {key_id: public.hex() for key_id, public in sorted(keys.items())}
    return _encode(Header(FORMAT, EXPORT_VERSION, ledger, ALGORITHM, listed)) + b"\n"


def entry_line(entry: Entry) -> bytes:
    fields = {
        "sequence": entry.sequence,
        "version": entry.version,
        "previous": entry.previous.hex(),
        "account": entry.account,
        "kind": entry.kind,
        "release": entry.release,
        "amounts": _vector(entry.amounts),
        "totals": _vector(entry.totals),
        "event": entry.event,
        "actor": entry.actor,
        "reason": entry.reason,
        "at_us": entry.at_us,
        "digest": entry.digest.hex(),
    }
    return _encode(fields) + b"\n"


def act_line(act: Act) -> bytes:
    return _encode({"act": act_fields(act)}) + b"\n"


def head_line(signed: SignedHead) -> bytes:
    return _encode({"head": head_fields(signed)}) + b"\n"


def read_header(line: bytes) -> Header:
    try:
        header = _decode_header(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Malformed("line 1 is not the header of a ledger's export") from None
    if (header.format, header.algorithm) != (FORMAT, ALGORITHM) or header.version not in KNOWN_VERSIONS:
        raise Malformed("line 1 names a format or version that is not known here")
    return header


def read_lines(lines: Iterator[bytes]) -> Iterator[Entry | Act | SignedHead]:
    """What each line after the header holds, in order. Raises Malformed, also if the head is missing or not last."""
    number = 1
    for number, line in enumerate(lines, 2):
        try:
            found = _decode_line(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise Malformed(f"line {number} does not parse") from None
        if found.sequence is not None:
            yield _entry(found, found.sequence, number)
        elif found.act is not None:
            act = act_of_fields(found.act)
            if act is None:
                raise Malformed(f"line {number} is not an act")
            yield act
        else:
            if next(lines, None) is not None:
                raise Malformed(f"line {number + 1} comes after the head")
            yield _head(found, number)
            return
    raise Malformed(f"the export ends after line {number} without a head")


def _head(found: _Line, number: int) -> SignedHead:
    signed = None if found.head is None else head_of_fields(found.head)
    if signed is None:
        raise Malformed(f"line {number} is not a signed head")
    return signed


def _entry(line: _Line, sequence: int, number: int) -> Entry:
    try:
        return Entry(
            sequence=sequence,
            account=line.account,
            kind=line.kind,
            release=line.release,
            amounts=Amounts(line.amounts[0], line.amounts[2:], line.amounts[1]),
            totals=Amounts(line.totals[0], line.totals[2:], line.totals[1]),
            event=line.event,
            actor=line.actor,
            reason=line.reason,
            at_us=line.at_us,
            previous=bytes.fromhex(line.previous),
            digest=bytes.fromhex(line.digest),
            version=line.version,
        )
    except (ValueError, IndexError, PosternError):
        raise Malformed(f"line {number} has a field that does not fit") from None


def _vector(amounts: Amounts) -> tuple[int, ...]:
    return (amounts.pure_nano, amounts.slack_atto, *amounts.curve_nano)
