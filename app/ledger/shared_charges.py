"""Charges that two accounts share: a dataset's, and that of the population its people belong to (ADR 33).

Both lines stand in one transaction, the population's first. So when a dataset's line comes that names a population, the same
amounts for the same release are already on that population's account; and when a population's reservation is voided, the
dataset's was voided before it. A ledger is judged line by line by these two rules and a third: as long as anything stands charged
to a dataset, its charges name one population or none. Whoever edits the dataset's row to leave it cannot charge past that.
"""

import json
from typing import Any

from app.ledger.account import Account
from app.ledger.amounts import ZERO, Amounts
from app.ledger.canonical import population_in
from app.ledger.entry import Entry


class Unshared(Exception):
    """One of the two accounts was charged, or given back, without the other."""


class SharedCharges:
    """Takes charges and voids in order, and remembers of ledgers without populations nothing."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], tuple[str, Amounts]] = {}  # (population, release): for its dataset's line
        self._dataset_of: dict[tuple[str, str], str] = {}
        self._population_of: dict[str, str] = {}  # of datasets, by their last charge
        self._voided: set[tuple[str, str]] = set()

    def charge(self, account: Account, entry: Entry) -> None:
        """`account` is as it was before. Raises Unshared."""
        if account.population is not None:
            self._to_population(account.population, entry)
        elif account.analyst is None:
            self._to_dataset(account, entry)

    def void(self, account: Account, entry: Entry) -> None:
        """Raises Unshared for a population's whose dataset still stands charged."""
        release = entry.release or ""
        if account.population is None:
            if account.id in self._population_of:
                self._voided.add((account.id, release))
            return
        dataset = self._dataset_of.get((account.population, release))
        if dataset is None or (dataset, release) not in self._voided:
            raise Unshared

    def _to_population(self, population: str, entry: Entry) -> None:
        dataset = _event(entry).get("dataset")
        if entry.kind != "reserve" or entry.release is None or not isinstance(dataset, str):
            raise Unshared
        self._waiting[population, entry.release] = (dataset, entry.amounts)
        self._dataset_of[population, entry.release] = dataset

    def _to_dataset(self, account: Account, entry: Entry) -> None:
        before = self._population_of.get(account.id)
        named = population_in(_event(entry)) if before is not None or '"population"' in entry.event else None
        if account.spent != ZERO and named != before:
            raise Unshared
        if named is None:
            self._population_of.pop(account.id, None)
            return
        if self._waiting.pop((named, entry.release or ""), None) != (account.id, entry.amounts):
            raise Unshared
        self._population_of[account.id] = named


def _event(entry: Entry) -> dict[str, Any]:
    """Raises Unshared for what is no event."""
    try:
        facts = json.loads(entry.event)
    except ValueError:
        raise Unshared from None
    if not isinstance(facts, dict):
        raise Unshared
    return facts
