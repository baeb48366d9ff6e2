"""The chain that makes a rewritten ledger visible.

digest = SHA-256(preimage). The preimage starts with a domain tag and the version, then every field in a fixed
order as a 4-byte big-endian length and that many bytes. Integers are 8-byte big-endian two's complement, vectors
their components in the order pure, slack, curve; an absent release is an empty field, a present one starts with
byte 1. Two different lines therefore never share a preimage, and nothing depends on the key order of JSON.
"""

import hashlib
import struct

from app.core.privacy import ORDERS
from app.ledger.amounts import Amounts
from app.ledger.entry import VERSION, Entry, Head
from app.ledger.posting import Posting

_DOMAIN = b"postern/ledger/entry"
_INTEGER = struct.Struct(">Iq").pack
_VECTOR = struct.Struct(f">I{2 + len(ORDERS)}q").pack
_VECTOR_BYTES = 8 * (2 + len(ORDERS))
_LENGTH = struct.Struct(">I").pack
_START = _LENGTH(len(_DOMAIN)) + _DOMAIN

GENESIS = Head(0, hashlib.sha256(b"postern/ledger/genesis/1").digest())


def preimage(entry: Entry) -> bytes:
    """Fields and their lengths side by side: a million lines go through here whenever somebody verifies an export."""
    release = b"" if entry.release is None else b"\x01" + entry.release.encode()
    account, kind, event = entry.account.encode(), entry.kind.encode(), entry.event.encode()
    actor, reason, previous = entry.actor.encode(), entry.reason.encode(), entry.previous
    parts = (
        _START,
        _INTEGER(8, entry.version),
        _INTEGER(8, entry.sequence),
        _LENGTH(len(previous)),
        previous,
        _LENGTH(len(account)),
        account,
        _LENGTH(len(kind)),
        kind,
        _LENGTH(len(release)),
        release,
        _vector(entry.amounts),
        _vector(entry.totals),
        _LENGTH(len(event)),
        event,
        _LENGTH(len(actor)),
        actor,
        _LENGTH(len(reason)),
        reason,
        _INTEGER(8, entry.at_us),
    )
    return b"".join(parts)


def digest_of(entry: Entry) -> bytes:
    """The digest the entry should carry; its own `digest` field does not take part."""
    return hashlib.sha256(preimage(entry)).digest()


def seal(posting: Posting, head: Head) -> Entry:
    """The posting as the next line after `head`."""

    def line(digest: bytes) -> Entry:
        return Entry(
            sequence=head.sequence + 1,
            account=posting.account.id,
            kind=posting.kind,
            release=posting.release,
            amounts=posting.amounts,
            totals=posting.account.spent,
            event=posting.event,
            actor=posting.actor,
            reason=posting.reason,
            at_us=posting.at_us,
            previous=head.digest,
            digest=digest,
            version=VERSION,
        )

    return line(digest_of(line(b"")))


def _vector(amounts: Amounts) -> bytes:
    return _VECTOR(_VECTOR_BYTES, amounts.pure_nano, amounts.slack_atto, *amounts.curve_nano)
