"""Checking an export: only its bytes and public keys, no database, no settings, no clock."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app.ledger.entry import Entry
from app.ledger.export import Malformed, read_header, read_lines
from app.ledger.head_record import seen_fields
from app.ledger.signed_head import Act, Keyring, SignedHead, parse_public_key
from app.ledger.verification import Verifier


@dataclass(frozen=True, slots=True)
class OfflineVerdict:
    """`reason` names the fault; `key_given` is False where the export's own keys had to be believed."""

    ok: bool
    entries: int
    head: str
    ledger: str | None
    key_id: str | None
    key_given: bool
    first_bad_sequence: int | None = None
    reason: str | None = None
    detail: str | None = None
    acts: list[dict[str, object]] = field(default_factory=list)


class _Broken(Exception):
    """(reason, detail) of what is wrong beside the lines themselves."""


def verify_export(lines: Iterable[bytes], public_keys: Sequence[bytes] = ()) -> OfflineVerdict:
    """Every digest, link, sum and rule, then the head's signature.

    Beside the faults of `verification`: `malformed`, `replaced` (a signature that does not fit), `unknown_key`
    (not among the keys given) and `other_ledger` (parts of two exports).
    """
    rest = iter(lines)
    verifier, acts = Verifier(), list[Act]()
    ledger, signed, broken = None, None, None
    keyring = Keyring(public_keys)
    try:
        header = read_header(next(rest, b""))
        ledger = header.ledger
        if not public_keys:
            keyring = Keyring(parse_public_key(text) for text in header.keys.values())
        signed = _read(rest, verifier, acts)
        if signed is not None:
            _check_signatures(signed, acts, keyring, ledger)
    except Malformed as malformed:
        broken = ("malformed", str(malformed))
    except _Broken as fault:
        broken = fault.args
    result = verifier.result(None if signed is None else signed.head)
    if result.reason is not None:
        broken = (result.reason, f"line {result.first_bad} does not verify")
    return OfflineVerdict(
        ok=broken is None,
        entries=result.count,
        head=result.head.digest.hex(),
        ledger=ledger,
        key_id=None if signed is None else signed.key_id,
        key_given=bool(public_keys),
        first_bad_sequence=result.first_bad,
        reason=None if broken is None else broken[0],
        detail=None if broken is None else broken[1],
        acts=[_shown(act, keyring) for act in acts],
    )


def _read(lines: Iterator[bytes], verifier: Verifier, acts: list[Act]) -> SignedHead | None:
    """The head, None if a line before it does not verify."""
    for item in read_lines(lines):
        if isinstance(item, Entry):
            if not verifier.feed(item):
                return None
        elif isinstance(item, Act):
            acts.append(item)
        else:
            return item
    return None


def _shown(act: Act, keyring: Keyring) -> dict[str, object]:
    """An act under a key that is not given, a retired one perhaps, is shown for what it is: somebody's claim."""
    told: dict[str, object] = {"number": act.number, "kind": act.kind, "actor": act.actor, "reason": act.reason}
    if act.replaces:
        told["replaces"] = seen_fields(act.replaces)
    return told | {"verified": keyring.vouches_for_act(act)}


def _check_signatures(signed: SignedHead, acts: Sequence[Act], keyring: Keyring, ledger: str | None) -> None:
    if signed.ledger != ledger or any(act.ledger != ledger for act in acts):
        raise _Broken("other_ledger", "header, acts and head do not name the same ledger")
    if signed.key_id not in keyring:
        raise _Broken("unknown_key", f"the head is signed by key {signed.key_id}, which is not among those given")
    if not keyring.vouches(signed):
        raise _Broken("replaced", "the signature does not fit the head")
    for act in acts:
        if act.key_id in keyring and not keyring.vouches_for_act(act):
            raise _Broken("replaced", f"the signature does not fit act {act.number}")
