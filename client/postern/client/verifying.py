"""Checking a receipt against what the service says now, as steps both clients follow."""

from collections.abc import Generator
from typing import Any

from postern.client.call import Call
from postern.client.calls import pages, readers
from postern.client.results.receipts import Receipt, ReceiptCheck
from postern.client.results.releases import ReleaseFacts
from postern.client.results.samples import Samples

_PAGE = 200


def verify_receipt(
    facts: ReleaseFacts, what: Receipt | Samples, *, ledger: bool
) -> Generator[Call[Any], Any, ReceiptCheck]:
    """The card's digest is recomputed from its figures, the values' from the values; the service's word is not taken for it.

    `ledger` looks for the line in the dataset's ledger, which takes the key of a steward or an auditor.
    """
    receipt = what.receipt if isinstance(what, Samples) else what
    card = yield readers.read_card_of(facts.id)
    values = _values_match(what, receipt) if isinstance(what, Samples) else None
    line = (yield from _line_matches(facts, receipt)) if ledger else None
    same = receipt.release == facts.id and receipt.dataset in (None, facts.dataset)
    return ReceiptCheck(same, card.recomputed_digest == receipt.card_sha256, values, line)


def _values_match(samples: Samples, receipt: Receipt) -> bool:
    shape = (len(samples), samples.parameters) == (receipt.samples, receipt.parameters)
    return shape and samples.values_sha256() == receipt.values_sha256


def _line_matches(facts: ReleaseFacts, receipt: Receipt) -> Generator[Call[Any], Any, bool]:
    cursor: str | None = None
    while True:
        page = yield pages.ledger(cursor, _PAGE, facts.dataset)
        for entry in page.items:
            if entry.sequence == receipt.ledger.sequence:
                return bool(entry.digest == receipt.ledger.digest and entry.release == facts.id)
        if page.next_cursor is None:
            return False
        cursor = page.next_cursor
