"""A page of a listing."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from postern.client.call import Call, path, query, reads
from postern.client.results.datasets import Dataset, Population, PublicDataset
from postern.client.results.ledger import LedgerEntry
from postern.client.results.people import Analyst
from postern.client.results.releases import ReleaseFacts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: tuple[T, ...]
    next_cursor: str | None


_datasets = reads(Page[Dataset])
_public_datasets = reads(Page[PublicDataset])
_populations = reads(Page[Population])
_releases = reads(Page[ReleaseFacts])
_analysts = reads(Page[Analyst])
_entries = reads(Page[LedgerEntry])


def datasets(cursor: str | None, limit: int | None) -> Call[Page[Dataset]]:
    return Call("GET", path("datasets"), _datasets, query(limit=limit, cursor=cursor))


def public_datasets(cursor: str | None, limit: int | None) -> Call[Page[PublicDataset]]:
    return Call("GET", path("datasets"), _public_datasets, query(limit=limit, cursor=cursor))


def populations(cursor: str | None, limit: int | None) -> Call[Page[Population]]:
    return Call("GET", path("populations"), _populations, query(limit=limit, cursor=cursor))


def releases(cursor: str | None, limit: int | None, dataset: str | None) -> Call[Page[ReleaseFacts]]:
    return Call("GET", path("releases"), _releases, query(limit=limit, cursor=cursor, dataset=dataset))


def analysts(cursor: str | None, limit: int | None) -> Call[Page[Analyst]]:
    return Call("GET", path("analysts"), _analysts, query(limit=limit, cursor=cursor))


def ledger(cursor: str | None, limit: int | None, dataset: str) -> Call[Page[LedgerEntry]]:
    return Call("GET", path("datasets", dataset, "ledger"), _entries, query(limit=limit, cursor=cursor))


def population_ledger(cursor: str | None, limit: int | None, population: str) -> Call[Page[LedgerEntry]]:
    return Call("GET", path("populations", population, "ledger"), _entries, query(limit=limit, cursor=cursor))
