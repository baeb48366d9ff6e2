"""A pass over the lines, put down half-way: what the verifier knows after a line, so that the next process goes on there.

A long ledger takes many minutes at the background's pace, and a process that is restarted more often than that would
otherwise never see its end. The state is believed only under this installation's own signature, and for a few hours.
"""

import msgspec

from app.ledger.account import Account
from app.ledger.amounts import Amounts
from app.ledger.entry import Head
from app.ledger.verification import Verifier

STATE_VERSION = 1


class _State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    sequence: int
    digest: bytes
    accounts: dict[str, Account]
    revisions: dict[str, int]
    reserved: list[tuple[str, str, Amounts]]
    settled: dict[str, list[str]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


def encode_pass(verifier: Verifier) -> bytes:
    """Of a verifier that found every line so far sound."""
    head, known = verifier.result().head, verifier.known
    settled: dict[str, list[str]] = {}
    for (account, release), amounts in known.reserved.items():
        if amounts is None:
            settled.setdefault(account, []).append(release)
    waiting = [(*key, amounts) for key, amounts in known.reserved.items() if amounts is not None]
    return _encode(_State(STATE_VERSION, head.sequence, head.digest, known.accounts, known.revisions, waiting, settled))


def decode_pass(body: bytes) -> Verifier | None:
    """None for anything else, also for the state of another version."""
    try:
        state = _decode(body)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None
    if state.version != STATE_VERSION:
        return None
    verifier = Verifier(Head(state.sequence, state.digest))
    verifier.known.accounts.update(state.accounts)
    verifier.known.revisions.update(state.revisions)
    for account, release, amounts in state.reserved:
        verifier.known.reserved[account, release] = amounts
    for account, releases in state.settled.items():
        verifier.known.reserved.update(dict.fromkeys((account, release) for release in releases))
    return verifier
