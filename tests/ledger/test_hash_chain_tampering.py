"""Every way of changing history is noticed, and named, from the entries alone."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.privacy import ORDERS, Cost
from app.ledger.account import Account, open_account, recorded_cap
from app.ledger.amounts import ZERO, Amounts, amounts_of
from app.ledger.canonical import canonical_json, release_event
from app.ledger.entry import Entry, Head
from app.ledger.hash_chain import GENESIS, digest_of, preimage, seal
from app.ledger.posting import (
    Posting,
    access_posting,
    cap_event,
    cap_posting,
    commit_posting,
    open_posting,
    reserve_posting,
    void_posting,
)
from app.ledger.verification import Verification, Verifier

COST = amounts_of(Cost(0.5, (0.05,) * len(ORDERS)))
WHO = {"actor": "an_steward", "reason": "test", "at_us": 1_700_000_000_000_000}
EVENT = release_event(model={"family": "bernoulli"}, mechanism={"kind": "baps"}, n=1000, unit_rows=1, samples=10)


class Book:
    """Writes postings the way storage does: account state in one hand, head in the other."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.entries: list[Entry] = []
        self.head = GENESIS

    def post(self, posting: Posting) -> None:
        entry = seal(posting, self.head)
        self.accounts[posting.account.id] = posting.account
        self.head = Head(entry.sequence, entry.digest)
        self.entries.append(entry)


def written_book() -> Book:
    book = Book()
    book.post(open_posting(open_account("ds_a", epsilon=3, delta=1e-6), **WHO))
    book.post(open_posting(open_account("ds_a", "an_b", epsilon=1, delta=1e-6), **WHO))
    book.post(reserve_posting(book.accounts["ds_a"], "rel_1", COST, event=EVENT, **WHO))
    book.post(reserve_posting(book.accounts["ds_a"], "rel_2", COST, event=EVENT, **WHO))
    book.post(commit_posting(book.accounts["ds_a"], "rel_1", **WHO))
    book.post(access_posting(book.accounts["an_b@ds_a"], "rel_1", COST, event=EVENT, **WHO))
    book.post(void_posting(book.accounts["ds_a"], "rel_2", COST, **WHO))
    book.post(cap_posting(book.accounts["an_b@ds_a"], epsilon=0.2, delta=1e-6, **WHO))
    return book


def resealed(entries: list[Entry]) -> list[Entry]:
    """The same lines with sequence, links and digests made consistent: what a thorough forger would write."""
    head, chain = GENESIS, []
    for entry in entries:
        entry = replace(entry, sequence=head.sequence + 1, previous=head.digest)
        entry = replace(entry, digest=digest_of(entry))
        head = Head(entry.sequence, entry.digest)
        chain.append(entry)
    return chain


def verify(entries: list[Entry], expected: Head | None = None) -> Verification:
    verifier = Verifier()
    for entry in entries:
        if not verifier.feed(entry):
            break
    return verifier.result(expected)


def test_an_honest_book_verifies_and_gives_the_accounts_back() -> None:
    book = written_book()
    verdict = verify(book.entries, book.head)
    assert verdict.ok
    assert (verdict.count, verdict.head, verdict.first_bad, verdict.reason) == (8, book.head, None, None)
    verifier = Verifier()
    assert all(verifier.feed(entry) for entry in book.entries)
    assert verifier.accounts() == book.accounts
    assert book.accounts["ds_a"].spent == COST


def test_an_empty_book_ends_in_the_genesis_head() -> None:
    assert verify([], GENESIS).ok


CHANGES: dict[str, Callable[[Entry], object]] = {
    "account": lambda entry: entry.account + "x",
    "kind": lambda entry: "access" if entry.kind == "reserve" else "reserve",
    "release": lambda entry: "rel_9" if entry.release else "",
    "amounts": lambda entry: entry.amounts.plus(Amounts(1, ZERO.curve_nano)),
    "totals": lambda entry: entry.totals.plus(Amounts(0, (*ZERO.curve_nano[:-1], 1))),
    "event": lambda entry: entry.event + " ",
    "actor": lambda entry: entry.actor + "x",
    "reason": lambda entry: "",
    "at_us": lambda entry: entry.at_us + 1,
    "digest": lambda entry: hashlib.sha256(entry.digest).digest(),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("place", range(8))
def test_any_edited_field_of_any_line_is_noticed_there(name: str, place: int) -> None:
    entries = written_book().entries
    entries[place] = replace(entries[place], **{name: CHANGES[name](entries[place])})
    verdict = verify(entries)
    assert (verdict.ok, verdict.first_bad, verdict.count, verdict.reason) == (False, place + 1, place, "edited")


@pytest.mark.parametrize("place", range(8))
def test_rewriting_a_line_with_its_digest_breaks_the_next_link_or_the_known_head(place: int) -> None:
    book = written_book()
    forged = replace(book.entries[place], actor="an_mallory")
    book.entries[place] = replace(forged, digest=digest_of(forged))
    verdict = verify(book.entries, book.head)
    assert verdict.reason == ("broken_link" if place < 7 else "replaced")
    assert verdict.first_bad == min(place + 2, 8)


def test_deleting_inserting_and_reordering_lines_are_noticed() -> None:
    book = written_book()
    missing = verify([*book.entries[:3], *book.entries[4:]], book.head)
    repeated = verify([*book.entries[:4], *book.entries[3:]], book.head)
    swapped = verify([*book.entries[:3], book.entries[4], book.entries[3], *book.entries[5:]], book.head)
    assert (missing.first_bad, missing.reason) == (4, "out_of_sequence")
    assert (repeated.first_bad, repeated.reason) == (5, "out_of_sequence")
    assert (swapped.first_bad, swapped.reason) == (4, "out_of_sequence")


def test_truncation_growth_and_replacement_are_told_from_a_known_head() -> None:
    book = written_book()
    assert verify(book.entries[:5]).ok
    assert verify(book.entries[:5], book.head).reason == "truncated"
    assert verify(book.entries, Head(5, book.entries[4].digest)).reason == "grown"
    other = resealed([replace(entry, actor="an_mallory") for entry in book.entries])
    assert verify(other).ok
    assert verify(other, book.head).reason == "replaced"


def _without(index: int) -> Callable[[list[Entry]], list[Entry]]:
    return lambda lines: [*lines[:index], *lines[index + 1 :]]


def _changed(index: int, **values: object) -> Callable[[list[Entry]], list[Entry]]:
    return lambda lines: [*lines[:index], replace(lines[index], **values), *lines[index + 1 :]]


def _again(index: int) -> Callable[[list[Entry]], list[Entry]]:
    return lambda lines: [*lines, lines[index]]


HUGE = amounts_of(Cost(4.0, (4.0,) * len(ORDERS)))
CAP = {"epsilon": 9.0, "delta": 1e-6, "order": 10.0, "capacity_nano": 10**10}
FORGERIES: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "a total that does not add up": (_changed(3, totals=COST), "wrong_totals"),
    "a charge beyond the budget": (_changed(2, amounts=HUGE, totals=HUGE), "overdrawn"),
    "a negative charge": (_changed(2, amounts=COST.negated(), totals=COST.negated()), "wrong_amounts"),
    "a void of more than was reserved": (_changed(6, amounts=HUGE.negated()), "wrong_amounts"),
    "a commit that moves an amount": (_changed(4, amounts=COST), "wrong_amounts"),
    "a second void": (_again(6), "settled_twice"),
    "a commit after a void": (_changed(4, release="rel_2"), "settled_twice"),
    "a commit without its reservation": (_without(2), "wrong_totals"),
    "a commit for an unknown release": (_changed(4, release="rel_7"), "settled_without_reserve"),
    "a second reservation of one release": (_changed(3, release="rel_1"), "reserved_twice"),
    "a charge before the account was opened": (_without(1), "unknown_account"),
    "an account opened twice": (_again(0), "opened_twice"),
    "a capacity larger than the formula's": (_changed(7, event=canonical_json(CAP)), "wrong_capacity"),
    "an event that is no JSON": (_changed(0, event="{"), "malformed_event"),
    "an event of another account": (_changed(1, event=canonical_json(CAP)), "malformed_event"),
    "a version nobody wrote": (_changed(0, version=2), "unknown_version"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_consistently_resealed_forgery_still_breaks_a_rule(name: str) -> None:
    forge, reason = FORGERIES[name]
    verdict = verify(resealed(forge(written_book().entries)))
    assert (verdict.ok, verdict.reason) == (False, reason)


def test_changing_the_fixed_order_later_is_a_forgery() -> None:
    book = written_book()
    line = book.entries[7]
    event = line.event.replace(f'"order":{book.accounts["an_b@ds_a"].order}', '"order":2')
    assert event != line.event
    verdict = verify(resealed([*book.entries[:7], replace(line, event=event)]))
    assert (verdict.reason, verdict.first_bad) == ("wrong_capacity", 8)


texts = st.text(max_size=6)


@given(st.tuples(texts, texts, texts, texts), st.tuples(texts, texts, texts, texts))
def test_different_lines_never_share_a_preimage(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    line = written_book().entries[2]

    def of(parts: tuple[str, str, str, str]) -> bytes:
        return preimage(replace(line, account=parts[0], event=parts[1], actor=parts[2], reason=parts[3]))

    assert (of(one) == of(other)) == (one == other)


def test_no_release_and_an_empty_release_differ() -> None:
    line = written_book().entries[0]
    assert preimage(replace(line, release=None)) != preimage(replace(line, release=""))


def test_the_written_form_of_version_one_never_changes() -> None:
    """A pinned digest: whoever changes the preimage must write a new version beside it."""
    assert GENESIS.digest.hex() == "9ccc384e9c281bacf20391365c1fe6ec25734dc35574f336d3ed9fa5f4e6032f"
    line = Entry(1, "ds_a", "open", None, ZERO, ZERO, "{}", "a", "r", 0, GENESIS.digest, b"")
    assert digest_of(line).hex() == "bd911c2b60cad1a1e6307ed2c1504c78d4fd85f8ac7b8717e56f5c9adfb11a47"


def test_a_cap_line_of_the_version_that_let_the_kept_part_fall_still_verifies() -> None:
    book = Book()
    book.post(open_posting(open_account("ds_a", epsilon=3, delta=1e-6, slack_delta=9e-7), **WHO))
    before = book.accounts["ds_a"]
    after = replace(recorded_cap(before, epsilon=3, delta=1e-9), revision=before.revision + 1)
    assert after.slack_delta == 1e-9
    book.post(Posting(after, "cap", None, ZERO, cap_event(after), **WHO))
    verifier = Verifier()
    assert all(verifier.feed(entry) for entry in book.entries)
    assert verifier.accounts() == book.accounts


@pytest.mark.parametrize(
    "change", [{"reason": b"\xff"}, {"reason": "\ud800"}, {"at_us": "x"}, {"kind": None}, {"amounts": None}], ids=str
)
def test_a_line_with_fields_of_another_type_is_an_edited_line(change: dict[str, Any]) -> None:
    entries = written_book().entries
    entries[2] = replace(entries[2], **change)
    verdict = verify(entries)
    assert (verdict.ok, verdict.first_bad, verdict.reason) == (False, 3, "edited")
