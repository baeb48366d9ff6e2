"""Signatures say one thing about one ledger, and what they say decides what is trusted."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.errors import InvalidInput
from app.ledger.entry import Head
from app.ledger.hash_chain import GENESIS
from app.ledger.head_record import (
    act_fields,
    act_of_fields,
    decode_witness,
    encode_witness,
    head_fields,
    head_of_fields,
)
from app.ledger.signed_head import (
    Act,
    Keyring,
    Seen,
    SignedHead,
    SigningKey,
    act_statement,
    head_statement,
    key_id_of,
    parse_public_key,
)
from app.ledger.trust import Evidence, Witness, objections
from app.storage.disk_witness import DiskWitness

KEY = SigningKey("a secret of the installation under test")
OTHER = SigningKey("a secret of somebody else entirely, too")
RING = Keyring([KEY.public])
HEADS = [Head(number, bytes([number]) * 32) for number in range(12)]
SIGNED = [KEY.sign_head("led_a", head, 1_000 + head.sequence) for head in HEADS]
DIGESTS = {head.sequence: head.digest for head in HEADS}


def test_the_statement_is_what_the_documentation_says() -> None:
    """Built here by hand, with struct and the library's own verifier, as an outsider would."""
    parts = [
        b"postern/ledger/head", struct.pack(">q", 1), b"led_a", struct.pack(">q", 7), bytes([7]) * 32,
        struct.pack(">q", 1_007),
    ]  # fmt: skip
    statement = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    assert head_statement("led_a", HEADS[7], 1_007) == statement
    Ed25519PublicKey.from_public_bytes(KEY.public).verify(SIGNED[7].signature, statement)


def test_a_pinned_secret_always_gives_the_same_key() -> None:
    """Whoever changes how a secret becomes a key locks every installation out of its ledger."""
    assert SigningKey("0123456789abcdef0123456789abcdef").public.hex() == (
        "e6cec6eab745b4d6f6af54152411020aafd2ed4e4e515ed42a723dec70717444"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"ledger": "led_b"},
        {"head": HEADS[6]},
        {"head": Head(7, bytes([6]) * 32)},
        {"at_us": 1},
        {"signature": bytes(64)},
        {"key_id": key_id_of(OTHER.public)},
    ],
)
def test_a_signature_fits_nothing_else(change: dict[str, object]) -> None:
    assert RING.vouches(SIGNED[7])
    assert not RING.vouches(replace(SIGNED[7], **change))


def test_an_act_does_not_pass_for_a_head() -> None:
    act = KEY.sign_act(1, "accepted", "led_a", HEADS[7], actor="ops", reason="because", at_us=1_007)
    assert RING.vouches_for_act(act)
    assert not RING.vouches_for_act(replace(act, reason="another"))
    assert not RING.vouches(SignedHead("led_a", HEADS[7], 1_007, KEY.id, act.signature))


def test_what_an_act_replaces_is_part_of_what_is_signed() -> None:
    """Built by hand for version 2; an act that names nothing yet keeps the statement it always had."""
    parts = [
        b"postern/ledger/act", struct.pack(">q", 2), b"led_a", struct.pack(">q", 4), b"accepted", struct.pack(">q", 7),
        bytes([7]) * 32, b"ops", b"because", struct.pack(">q", 5), b"led_b", struct.pack(">q", 3), bytes([3]) * 32,
    ]  # fmt: skip
    statement = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    replaces = (Seen("led_b", HEADS[3]),)
    assert act_statement(4, "accepted", "led_a", HEADS[7], "ops", "because", 5, replaces) == statement
    act = KEY.sign_act(4, "accepted", "led_a", HEADS[7], actor="ops", reason="because", at_us=5, replaces=replaces)
    assert RING.vouches_for_act(act)
    for changed in (None, (), (Seen("led_b", HEADS[4]),), (*replaces, *replaces)):
        assert not RING.vouches_for_act(replace(act, replaces=changed))


def test_written_forms_come_back_and_damaged_ones_do_not() -> None:
    act = KEY.sign_act(3, "rotated", "led_a", HEADS[2], actor="ops", reason="yearly", at_us=5)
    assert act_of_fields(act_fields(act)) == act
    naming = replace(act, replaces=(Seen("led_b", HEADS[1]), Seen("led_c", HEADS[0])))
    assert act_of_fields(act_fields(naming)) == naming
    assert act_of_fields(act_fields(naming) | {"replaces": {}}) is None
    assert act_of_fields(act_fields(naming) | {"replaces": [1]}) is None
    mark = KEY.sign_count(SIGNED[4], 3)
    assert decode_witness(encode_witness(SIGNED[4], 3, mark), SIGNED[4].ledger) == (SIGNED[4], 3, mark)
    assert decode_witness(encode_witness(SIGNED[4], 3), SIGNED[4].ledger) == (SIGNED[4], 3, None)
    whole = head_fields(SIGNED[4])
    assert head_of_fields(whole) == SIGNED[4]
    for name in whole:
        for damaged in (None, -1, 1.5, "x", True):
            assert head_of_fields(whole | {name: damaged}) is None or name in ("ledger", "key_id")
        assert head_of_fields({key: value for key, value in whole.items() if key != name}) is None


@pytest.mark.parametrize("text", ["", "00", "x" * 64, "0" * 63])
def test_text_that_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_public_key(text)


def evidence(at: int = 9, **changes: object) -> Evidence:
    found = Evidence(HEADS[at], SIGNED[at], HEADS[at], digests=DIGESTS, pinned=frozenset({"led_a"}))
    return replace(found, **changes)


def names(found: Evidence) -> list[str]:
    return [fault.name for fault in objections(found, RING)]


def saw(at: int, acts: int = 0, signed: SignedHead | None = None) -> Witness:
    seen = signed or SIGNED[at]
    return Witness("disk", seen, acts, KEY.sign_count(seen, acts))


FOREIGN = OTHER.sign_head("led_a", HEADS[9], 1)
REWRITTEN = Head(9, b"z" * 32)
FORKED = KEY.sign_head("led_a", Head(5, b"y" * 32), 1)
MOVED = KEY.sign_head("led_b", HEADS[9], 1)


def accepted(*replaces: Seen, number: int = 4, ledger: str = "led_a", head: Head = HEADS[9]) -> Act:
    return KEY.sign_act(
        number, "accepted", ledger, head, actor="ops", reason="decided", at_us=1, replaces=tuple(replaces)
    )


def moved(*acts: Act, **changes: object) -> Evidence:
    """Ledger led_b stands where led_a was seen at line 11."""
    return evidence(signed=MOVED, **({"witnesses": [saw(11)], "acts": acts} | changes))


GIVEN_UP = Seen("led_a", HEADS[11])
ACCEPTED = accepted(GIVEN_UP)
NAMELESS = KEY.sign_act(4, "accepted", "led_a", HEADS[9], actor="ops", reason="decided", at_us=1)
OVER = accepted(GIVEN_UP, ledger="led_b")
SITUATIONS: dict[str, tuple[Evidence, list[str]]] = {
    "nothing known yet": (evidence(pinned=frozenset()), []),
    "the witness agrees": (evidence(witnesses=[saw(9)]), []),
    "the witness is behind": (evidence(witnesses=[saw(3)]), []),
    "the witness is ahead": (evidence(witnesses=[saw(11)]), ["rolled_back"]),
    "one of two witnesses is ahead": (evidence(witnesses=[saw(3), saw(10)]), ["rolled_back"]),
    "a witness without a valid signature is ahead": (
        evidence(witnesses=[saw(11, signed=replace(SIGNED[11], at_us=0))]),
        [],
    ),
    "a witness of another ledger is ahead": (
        evidence(witnesses=[saw(11, signed=KEY.sign_head("led_b", HEADS[11], 1))]),
        [],
    ),
    "the witness saw another line": (evidence(witnesses=[saw(5, signed=FORKED)]), ["forked"]),
    "lines are missing": (evidence(last=HEADS[7]), ["truncated"]),
    "lines go on": (evidence(last=HEADS[11]), ["grown"]),
    "the last line is another": (evidence(last=REWRITTEN), ["replaced"]),
    "the signature does not fit": (
        evidence(head=REWRITTEN, last=REWRITTEN, signed=replace(SIGNED[9], head=REWRITTEN)),
        ["replaced"],
    ),
    "another key, same history": (evidence(signed=FOREIGN), ["unknown_key"]),
    "another key, another history": (evidence(signed=FOREIGN, witnesses=[saw(5, signed=FORKED)]), ["replaced"]),
    "unsigned where a signed ledger was": (evidence(signed=None), ["replaced"]),
    "unsigned in a new place": (evidence(signed=None, pinned=frozenset()), []),
    "another ledger in this place": (
        evidence(signed=KEY.sign_head("led_b", HEADS[9], 1)),
        ["replaced"],
    ),
    "accepted after the witness": (evidence(witnesses=[saw(11, acts=3)], acts=[ACCEPTED]), []),
    "accepted before the witness": (evidence(witnesses=[saw(11, acts=4)], acts=[ACCEPTED]), ["rolled_back"]),
    "accepted, naming a later line than this witness saw": (evidence(witnesses=[saw(10)], acts=[ACCEPTED]), []),
    "accepted, naming an earlier line than this witness saw": (
        evidence(witnesses=[saw(11)], acts=[accepted(Seen("led_a", HEADS[10]))]),
        ["rolled_back"],
    ),
    "accepted, naming another line at the same place": (
        evidence(witnesses=[saw(11)], acts=[accepted(Seen("led_a", Head(11, b"y" * 32)))]),
        ["rolled_back"],
    ),
    "accepted, naming a line of another ledger": (
        evidence(witnesses=[saw(11)], acts=[accepted(Seen("led_b", HEADS[11]))]),
        ["rolled_back"],
    ),
    "accepted without naming anything": (evidence(witnesses=[saw(11)], acts=[accepted()]), ["rolled_back"]),
    "accepted before acts named anything": (evidence(witnesses=[saw(11)], acts=[NAMELESS]), ["rolled_back"]),
    "accepted, of a head this chain lacks": (
        evidence(witnesses=[saw(11)], acts=[accepted(GIVEN_UP, head=Head(8, b"y" * 32))]),
        ["rolled_back"],
    ),
    "rolled back behind the accepted head": (
        evidence(5, witnesses=[saw(11)], acts=[ACCEPTED], digests={5: HEADS[5].digest}),
        ["rolled_back"],
    ),
    "an acceptance of another ledger": (evidence(witnesses=[saw(11)], acts=[OVER]), ["rolled_back"]),
    "an accepted fork": (
        evidence(witnesses=[saw(5, signed=FORKED)], acts=[accepted(Seen("led_a", FORKED.head))]),
        [],
    ),
    "a witness counted more acts": (evidence(witnesses=[saw(9, acts=5)], acts=[ACCEPTED]), ["deleted"]),
    "a count that nobody signed": (evidence(witnesses=[Witness("disk", SIGNED[9], 5)]), []),
    "a count signed by a stranger": (
        evidence(witnesses=[replace(saw(9, acts=5), mark=OTHER.sign_count(SIGNED[9], 5))]),
        [],
    ),
    "a count signed over another head": (evidence(witnesses=[replace(saw(9), mark=saw(8, acts=5).mark, acts=5)]), []),
    "a head given up, shown again with a count that nobody signed": (
        evidence(witnesses=[replace(saw(11, acts=3), acts=4)], acts=[ACCEPTED]),
        [],
    ),
    "moved, accepted": (moved(OVER), []),
    "moved, accepted before the witness": (moved(OVER, witnesses=[saw(11, acts=4)]), ["replaced"]),
    "moved, accepted over less than was seen": (
        moved(accepted(Seen("led_a", HEADS[10]), ledger="led_b")),
        ["replaced"],
    ),
    "moved, accepted for another reason": (moved(accepted(ledger="led_b")), ["replaced"]),
    "moved, accepted by the ledger that was left": (moved(ACCEPTED), ["replaced"]),
    "moved, and another place agrees": (moved(pinned=frozenset({"led_a", "led_b"})), ["replaced"]),
    "moved where nothing was seen, accepted": (
        moved(accepted(Seen("led_a", GENESIS), ledger="led_b"), witnesses=[]),
        [],
    ),
    "a pin that nobody signed beside the true one": (evidence(pinned=frozenset({"led_a", "led_junk"})), []),
    "cut short and rolled back": (evidence(last=HEADS[7], witnesses=[saw(11)]), ["truncated", "rolled_back"]),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_gets_its_name(name: str) -> None:
    found, expected = SITUATIONS[name]
    assert names(found) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b"\xff",
        b"null",
        encode_witness(SIGNED[4], 3).replace(b'"led_a"', b'"\\ud800"'),
        encode_witness(SIGNED[4], 3).replace(b'"led_a"', b'"led_b"'),
    ],
    ids=["nested", "no text", "nothing", "half a surrogate pair", "another ledger"],
)
def test_junk_in_the_place_of_a_witness_is_no_witness(body: bytes) -> None:
    assert decode_witness(body, "led_a") is None


@pytest.mark.parametrize(
    "body", [b"[" * 200_000, b'{"ledger": "\\ud800"}', b"7"], ids=["nested", "surrogate", "number"]
)
def test_junk_in_the_place_of_a_pin_pins_nothing(tmp_path: Path, body: bytes) -> None:
    witness = DiskWitness(tmp_path)
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "place-here.json").write_bytes(body)
    assert witness.pinned("here") is None


def test_a_count_from_before_marks_is_read_as_none_and_replaced_by_a_signed_one(tmp_path: Path) -> None:
    witness, mark = DiskWitness(tmp_path), KEY.sign_count(SIGNED[4], 2)
    witness.advance(SIGNED[4], 7)
    assert witness.newest("led_a") == (SIGNED[4], 7, None)
    witness.advance(SIGNED[4], 2, mark)
    assert witness.newest("led_a") == (SIGNED[4], 2, mark)
    witness.advance(SIGNED[4], 1, KEY.sign_count(SIGNED[4], 1))
    assert witness.newest("led_a") == (SIGNED[4], 2, mark)
