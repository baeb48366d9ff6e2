"""Whether the ledger at hand is the one known from before, judged from a few short facts.

What is compared: the database's head and its signature, the last line actually there, and *witnesses*, heads this
installation saw earlier and keeps outside the database. A witness counts only with a valid signature, so nobody
raises an alarm by writing junk beside the database; the number of acts it was kept with has a signature of its own
(a *mark*, over head and number), without which it is 0: an honest head with a made-up number is just that head. A
witness that is behind proves nothing and is no fault: the database always moves first. Faults by name:

    truncated     lines before the head are gone
    grown         lines beyond the head that no head covers
    replaced      the end of the chain has no valid signature, or this place held another ledger
    rolled_back   a witness is ahead: this database is older than what was seen
    forked        a witness remembers another line at a place both have
    deleted       an act that a witness counted is gone
    unknown_key   a signature by a key that is not trusted here

A *pin* is the id of the ledger this place is known to hold; it objects to every other ledger, whoever signed it.

An *accepted* act (a person said: go on from here) excuses a witness, and the pin behind it, only if all of this holds:

    it is signed, and belongs to the ledger at hand, whose chain contains the very head it accepted;
    it is newer than the witness: its number is above the count of acts the witness was kept with;
    it names the witness: the same head, or a later one of the same ledger that was given up with all before it.

So it serves for one replacement. Whatever is seen afterwards counts that act, hence is not excused by it; a history
that goes back further lacks the accepted head; and a copy of the act in another place names nothing seen there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.ledger.entry import Head
from app.ledger.hash_chain import GENESIS
from app.ledger.signed_head import Act, Keyring, Mark, Seen, SignedHead

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
    """A head seen earlier, where it was kept, and how many acts the ledger had then, if `mark` vouches for that."""

    place: str
    signed: SignedHead
    acts: int
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a look at the database and the witnesses found.

    `head` is the stored head and `signed` its signature, if any; `last` the last line there; `digests` the digest
    of the lines that witnesses and acts name; `pinned` the ledger ids this place was known to hold; `acts` those with a
    valid signature, of whichever ledger.
    """

    head: Head
    signed: SignedHead | None
    last: Head
    witnesses: Sequence[Witness] = ()
    digests: Mapping[int, bytes] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()
    acts: Sequence[Act] = ()

    @property
    def ledger(self) -> str | None:
        return None if self.signed is None else self.signed.ledger


def objections(evidence: Evidence, keyring: Keyring, *, checkpoint: int = 0) -> list[TrustFault]:
    """Every fault, gravest first; none if there is nothing to object to. `checkpoint`: up to where lines were verified."""
    end, signature = _end_of_chain(evidence, checkpoint), _signature(evidence, keyring)
    found = [fault for fault in (end, signature) if fault is not None]
    if evidence.signed is not None and signature is None:
        found.extend(_moved(evidence, evidence.signed, keyring))
        found.extend(_witnessed(evidence, evidence.signed, keyring))
    return found


def newest_act(evidence: Evidence) -> int:
    """The number of this ledger's last act, 0 before the first."""
    return max((act.number for act in evidence.acts if act.ledger == evidence.ledger), default=0)


def acts_in_force(evidence: Evidence) -> list[Act]:
    """Acceptances that name what they replace, of a head this very chain contains."""
    return [
        act
        for act in evidence.acts
        if act.kind == "accepted"
        and act.replaces is not None
        and act.ledger == evidence.ledger
        and _digest_at(evidence, act.head.sequence) == act.head.digest
    ]


def given_up(evidence: Evidence, keyring: Keyring) -> tuple[Seen, ...]:
    """What accepting the head at hand gives up: every head and ledger known here that it does not go on from."""
    found = {
        Seen(witness.signed.ledger, witness.signed.head)
        for witness in believed(evidence, keyring)
        if _conflicts(evidence, witness)
    }
    known = {evidence.ledger, *(seen.ledger for seen in found)}
    found |= {Seen(ledger, GENESIS) for ledger in evidence.pinned if ledger not in known}
    return tuple(sorted(found, key=lambda seen: (seen.ledger, seen.head.sequence, seen.head.digest)))


def believed(evidence: Evidence, keyring: Keyring) -> list[Witness]:
    """Those with a valid signature, as far as they are signed: a number of acts that nobody vouches for is 0."""
    return [
        witness if _counts(witness, keyring) else replace(witness, acts=0)
        for witness in evidence.witnesses
        if keyring.vouches(witness.signed)
    ]


def _signature(evidence: Evidence, keyring: Keyring) -> TrustFault | None:
    signed = evidence.signed
    if signed is None:
        if evidence.pinned:
            return TrustFault("replaced", "the head is not signed, and this place held a signed ledger", 0)
        return None
    return None if keyring.vouches(signed) else _not_vouched(evidence, signed, keyring)


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
    contradicted = any(_contradicts(evidence, witness) for witness in believed(evidence, keyring))
    if contradicted or (evidence.pinned and signed.ledger not in evidence.pinned):
        return TrustFault("replaced", "the head is signed by a key that is not trusted, over another history", 0)
    return TrustFault("unknown_key", f"the head is signed by key {signed.key_id}, which is not trusted here", 0)


def _moved(evidence: Evidence, signed: SignedHead, keyring: Keyring) -> Iterator[TrustFault]:
    """Another ledger was here. A pin that no witness backs, as anyone may write, yields to one that fits."""
    valid = believed(evidence, keyring)
    for ledger in sorted(evidence.pinned - {signed.ledger}):
        backing = [witness for witness in valid if witness.signed.ledger == ledger]
        if backing:
            excused = all(_excused(evidence, witness) for witness in backing)
        else:
            named = {seen.ledger for act in acts_in_force(evidence) for seen in act.replaces or ()}
            excused = signed.ledger in evidence.pinned or ledger in named
        if not excused:
            hint = _nameless(evidence, max((witness.acts for witness in backing), default=0))
            yield TrustFault("replaced", f"this place held ledger {ledger}, not {signed.ledger}{hint}", 0)


def _witnessed(evidence: Evidence, signed: SignedHead, keyring: Keyring) -> Iterator[TrustFault]:
    acts = newest_act(evidence)
    for witness in believed(evidence, keyring):
        if witness.signed.ledger != signed.ledger or _excused(evidence, witness):
            continue
        seen, hint = witness.signed.head, _nameless(evidence, witness.acts)
        if seen.sequence > signed.head.sequence:
            detail = f"the database ends at line {signed.head.sequence}, {witness.place} saw line {seen.sequence}{hint}"
            yield TrustFault("rolled_back", detail, signed.head.sequence, signed.head.sequence + 1)
        elif _contradicts(evidence, witness):
            detail = f"line {seen.sequence} is not the one {witness.place} saw{hint}"
            yield TrustFault("forked", detail, 0, seen.sequence)
        elif witness.acts > acts:
            yield TrustFault("deleted", f"act {witness.acts}, which {witness.place} counted, is gone", seen.sequence)


def _conflicts(evidence: Evidence, witness: Witness) -> bool:
    if witness.signed.ledger != evidence.ledger:
        return witness.signed.ledger in evidence.pinned
    return witness.signed.head.sequence > evidence.head.sequence or _contradicts(evidence, witness)


def _contradicts(evidence: Evidence, witness: Witness) -> bool:
    seen = witness.signed.head
    found = evidence.digests.get(seen.sequence)
    return seen.sequence > 0 and found is not None and found != seen.digest


def _digest_at(evidence: Evidence, sequence: int) -> bytes | None:
    return GENESIS.digest if sequence == 0 else evidence.digests.get(sequence)


def _counts(witness: Witness, keyring: Keyring) -> bool:
    return witness.mark is not None and keyring.vouches_for_count(witness.signed, witness.acts, witness.mark)


def _excused(evidence: Evidence, witness: Witness) -> bool:
    later = (act for act in acts_in_force(evidence) if act.number > witness.acts)
    return any(_names(seen, witness.signed) for act in later for seen in act.replaces or ())


def _names(seen: Seen, signed: SignedHead) -> bool:
    """Behind a head that was given up lies only what was given up with it; beside it, at the same line, a stranger."""
    return seen.ledger == signed.ledger and (seen.head == signed.head or signed.head.sequence < seen.head.sequence)


def _nameless(evidence: Evidence, acts: int) -> str:
    """What to say about an acceptance from before acts named what they replace: it would have been meant for this."""
    numbers = [
        act.number
        for act in evidence.acts
        if act.kind == "accepted" and act.replaces is None and act.ledger == evidence.ledger and act.number > acts
    ]
    if not numbers:
        return ""
    return f"; act {max(numbers)} accepted a head without naming what it replaces and counts no more: accept it again"
