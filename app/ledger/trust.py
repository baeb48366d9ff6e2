"""Whether the ledger at hand is the one known from before, judged from a few short facts.

What is compared: the database's head and its signature, the last line actually there, and *witnesses*, heads this
installation saw earlier and keeps outside the database. A witness counts only with a valid signature, so nobody
raises an alarm by writing junk beside the database. A witness that is behind proves nothing and is no fault: the
database always moves first. Faults by name:

    truncated     lines before the head are gone
    grown         lines beyond the head that no head covers
    replaced      the end of the chain has no valid signature, or this place held another ledger
    rolled_back   a witness is ahead: this database is older than what was seen
    forked        a witness remembers another line at a place both have
    unknown_key   a signature by a key that is not trusted here

An *accepted* act (a person said: go on from here) overrides witnesses older than itself, and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.ledger.entry import Head
from app.ledger.signed_head import Act, Keyring, SignedHead

ADVICE: Mapping[str, str] = {
    "truncated": "lines are missing: restore the newest backup that verifies",
    "grown": "lines were written past the service: restore the newest backup that verifies",
    "replaced": "the chain was written anew by someone without the key: restore the newest backup that verifies",
    "rolled_back": (
        "the database is older than the last head seen: restore a newer one; if there is none, lower the budgets by"
        " what was spent since and run `postern ledger accept`"
    ),
    "forked": "another history was served from here before: find out which is true, then `postern ledger accept`",
    "unknown_key": (
        "give every process the same POSTERN_SIGNING_KEY, and list earlier public keys in POSTERN_VERIFYING_KEYS"
    ),
}
ADVICE_OTHERWISE = "history was changed in the database: restore the newest backup that verifies"


@dataclass(frozen=True, slots=True)
class TrustFault:
    """`trusted` is the last sequence number still believed: releases published up to it may be served."""

    name: str
    detail: str
    trusted: int
    sequence: int | None = None

    @property
    def advice(self) -> str:
        return ADVICE.get(self.name, ADVICE_OTHERWISE)


@dataclass(frozen=True, slots=True)
class Witness:
    """A head seen earlier, where it was kept, and how many acts the ledger had then."""

    place: str
    signed: SignedHead
    acts: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a look at the database and the witnesses found.

    `head` is the stored head and `signed` its signature, if any; `last` the last line there; `digests` the digest
    of the lines the witnesses name; `pinned` the ledger ids this place was known to hold.
    """

    head: Head
    signed: SignedHead | None
    last: Head
    witnesses: Sequence[Witness] = ()
    digests: Mapping[int, bytes] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()
    acts: Sequence[Act] = ()


def objections(evidence: Evidence, keyring: Keyring, *, checkpoint: int = 0) -> list[TrustFault]:
    """Every fault, gravest first; none if there is nothing to object to. `checkpoint`: up to where lines were verified."""
    end, signature = _end_of_chain(evidence, checkpoint), _signature(evidence, keyring)
    found = [fault for fault in (end, signature) if fault is not None]
    if evidence.signed is not None and signature is None:
        found.extend(_witnessed(evidence, evidence.signed, keyring))
    return found


def _signature(evidence: Evidence, keyring: Keyring) -> TrustFault | None:
    signed = evidence.signed
    if signed is None:
        if evidence.pinned:
            return TrustFault("replaced", "the head is not signed, and this place held a signed ledger", 0)
        return None
    if not keyring.vouches(signed):
        return _not_vouched(evidence, signed, keyring)
    if evidence.pinned and signed.ledger not in evidence.pinned and not _accepted_after(evidence, keyring, -1):
        return TrustFault("replaced", f"this place held ledger {min(evidence.pinned)}, not {signed.ledger}", 0)
    return None


def _end_of_chain(evidence: Evidence, checkpoint: int) -> TrustFault | None:
    head, last = evidence.head, evidence.last
    if last.sequence < head.sequence:
        detail = f"the head is line {head.sequence}, the last line there is {last.sequence}"
        return TrustFault("truncated", detail, min(checkpoint, last.sequence), last.sequence + 1)
    if last.sequence > head.sequence:
        detail = f"the head is line {head.sequence}, but lines go on to {last.sequence}"
        return TrustFault("grown", detail, min(checkpoint, head.sequence), head.sequence + 1)
    if last.digest != head.digest:
        return TrustFault("replaced", f"line {last.sequence} is not the one the head names", 0, last.sequence)
    return None


def _not_vouched(evidence: Evidence, signed: SignedHead, keyring: Keyring) -> TrustFault:
    if signed.key_id in keyring:
        return TrustFault("replaced", "the signature does not fit the head", 0)
    contradicted = any(_contradicts(evidence, witness) for witness in _valid(evidence, keyring))
    if contradicted or (evidence.pinned and signed.ledger not in evidence.pinned):
        return TrustFault("replaced", "the head is signed by a key that is not trusted, over another history", 0)
    return TrustFault("unknown_key", f"the head is signed by key {signed.key_id}, which is not trusted here", 0)


def _witnessed(evidence: Evidence, signed: SignedHead, keyring: Keyring) -> Iterator[TrustFault]:
    for witness in _valid(evidence, keyring):
        if witness.signed.ledger != signed.ledger or _accepted_after(evidence, keyring, witness.acts):
            continue
        seen = witness.signed.head
        if seen.sequence > signed.head.sequence:
            detail = f"the database ends at line {signed.head.sequence}, {witness.place} saw line {seen.sequence}"
            yield TrustFault("rolled_back", detail, signed.head.sequence, signed.head.sequence + 1)
        elif _contradicts(evidence, witness):
            yield TrustFault("forked", f"line {seen.sequence} is not the one {witness.place} saw", 0, seen.sequence)


def _contradicts(evidence: Evidence, witness: Witness) -> bool:
    seen = witness.signed.head
    found = evidence.digests.get(seen.sequence)
    return seen.sequence > 0 and found is not None and found != seen.digest


def _valid(evidence: Evidence, keyring: Keyring) -> list[Witness]:
    return [witness for witness in evidence.witnesses if keyring.vouches(witness.signed)]


def _accepted_after(evidence: Evidence, keyring: Keyring, acts: int) -> bool:
    ledger = None if evidence.signed is None else evidence.signed.ledger
    later = (act for act in evidence.acts if act.kind == "accepted" and act.number > acts and act.ledger == ledger)
    return any(keyring.vouches_for_act(act) for act in later)
