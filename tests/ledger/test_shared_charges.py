"""A dataset's charge and its population's stand or fall together, judged from the lines alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.errors import IntegrityFailure
from app.ledger.account import open_account
from app.ledger.canonical import release_event
from app.ledger.entry import Entry
from app.ledger.posting import commit_posting, open_posting, reserve_posting, void_posting
from tests.ledger.test_hash_chain_tampering import COST, WHO, Book, resealed, verify

FACTS = {"model": {"family": "bernoulli"}, "mechanism": {"kind": "baps"}, "n": 1000, "unit_rows": 1, "samples": 10}
DATASETS_LINE = release_event(**FACTS, population="pop_a")
POPULATIONS_LINE = release_event(**FACTS, dataset="ds_a")
LONE_LINE = release_event(**FACTS)


def reserve(book: Book, release: str) -> None:
    book.post(reserve_posting(book.accounts["pop_a"], release, COST, event=POPULATIONS_LINE, **WHO))
    book.post(reserve_posting(book.accounts["ds_a"], release, COST, event=DATASETS_LINE, **WHO))


def shared_book() -> Book:
    """Opened (1, 2), one release committed (3 to 6), one voided (7 to 10)."""
    book = Book()
    book.post(open_posting(open_account(None, population="pop_a", epsilon=3, delta=1e-6), **WHO))
    book.post(open_posting(open_account("ds_a", epsilon=5, delta=1e-5), **WHO))
    reserve(book, "rel_1")
    for account in ("ds_a", "pop_a"):
        book.post(commit_posting(book.accounts[account], "rel_1", **WHO))
    reserve(book, "rel_2")
    for account in ("ds_a", "pop_a"):
        book.post(void_posting(book.accounts[account], "rel_2", COST, **WHO))
    return book


def test_a_book_with_shared_charges_verifies_and_both_accounts_hold_the_same() -> None:
    book = shared_book()
    found = verify(book.entries)
    assert (found.ok, found.count) == (True, 10)
    assert book.accounts["pop_a"].spent == book.accounts["ds_a"].spent == COST


def without(*places: int) -> Callable[[list[Entry]], list[Entry]]:
    return lambda lines: [line for place, line in enumerate(lines, 1) if place not in places]


def moved(first: int, second: int) -> Callable[[list[Entry]], list[Entry]]:
    def swap(lines: list[Entry]) -> list[Entry]:
        lines = list(lines)
        lines[first - 1], lines[second - 1] = lines[second - 1], lines[first - 1]
        return lines

    return swap


def event_at(place: int, event: str) -> Callable[[list[Entry]], list[Entry]]:
    def change(lines: list[Entry]) -> list[Entry]:
        return [replace(line, event=event) if at == place else line for at, line in enumerate(lines, 1)]

    return change


@pytest.mark.parametrize(
    "forge",
    [
        without(3, 6),  # the population was never charged for the first release
        event_at(8, LONE_LINE),  # the second charge left the population
        event_at(3, LONE_LINE),  # the population's line names no dataset
        event_at(3, release_event(**FACTS, dataset="ds_b")),  # or another one
        without(9),  # the population is given back what its dataset still stands charged with
        moved(9, 10),
    ],
)
def test_whoever_charges_or_gives_back_one_account_alone_is_found(forge: Callable[[list[Entry]], list[Entry]]) -> None:
    found = verify(resealed(forge(shared_book().entries)))
    assert found.reason == "wrong_population"


def test_an_account_is_of_exactly_one_thing() -> None:
    for dataset, analyst, population in ((None, None, None), ("ds_a", None, "pop_a"), (None, "an_b", "pop_a")):
        with pytest.raises(IntegrityFailure):
            open_account(dataset, analyst, population=population, epsilon=1, delta=0)
