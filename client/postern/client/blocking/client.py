# Written by client/write_blocking.py: change awaiting/client.py and run `make format`.
"""The blocking client. Each method describes one call and sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, TypeVar

from postern.client.address import find_address, insecure_by_environment
from postern.client.blocking.release import Release
from postern.client.blocking.stewardship import Stewardship
from postern.client.blocking.wire import Opened, Wire
from postern.client.call import Call, given
from postern.client.calls import pages, readers, stewards
from postern.client.calls.pages import Page
from postern.client.calls.stewards import Role, Sealed, Separator
from postern.client.problems import WaitedTooLong
from postern.client.results.datasets import Dataset, Population, PublicDataset, SchemaDraft, Upload
from postern.client.results.ledger import LedgerEntry, LedgerHead, Verification
from postern.client.results.people import Analyst, Cap, KeyFacts, Me, NewKey
from postern.client.results.plans import Plan, SharedPlan
from postern.client.results.releases import Progress, ReleaseFacts
from postern.client.retrying import Retries
from postern.client.transport import REPLY_BYTES_MAX, TIMEOUT_S, Manners

T = TypeVar("T")

_FIRST_LOOK_S = 0.05
_LOOK_S_MAX = 2.0


class Client(Stewardship):
    """A service and a key: POSTERN_URL and POSTERN_KEY unless given. May be shared by threads.

    `timeout_s` is for each attempt, `retries` for all of them. Nothing is sent before the first call.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Retries | None = None,
        reply_bytes_max: int = REPLY_BYTES_MAX,
        insecure: bool | None = None,
    ) -> None:
        allowed = insecure_by_environment() if insecure is None else insecure
        manners = Manners(timeout_s, retries or Retries(), reply_bytes_max)
        self._wire = Wire(find_address(url, key, insecure=allowed), manners)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    @property
    def url(self) -> str:
        return self._wire.address.url

    def close(self) -> None:
        self._wire.close()

    def send(self, call: Call[T]) -> T:
        """Any call, also one that has no method here."""
        return self._wire.send(call)

    def open(self, call: Call[Any]) -> Opened:
        """The same, with the body of a success left unread."""
        return self._wire.open(call)

    def wait(self, facts: ReleaseFacts, timeout_s: float, on_progress: Progress | None = None) -> ReleaseFacts:
        """Until it is published or withdrawn, looking less and less often. Raises WaitedTooLong."""
        began, pause_s = time.monotonic(), _FIRST_LOOK_S
        while True:
            elapsed_s = time.monotonic() - began
            if on_progress is not None:
                on_progress(facts, elapsed_s)
            if facts.status != "pending":
                return facts
            if elapsed_s + pause_s > timeout_s:
                raise WaitedTooLong(f"{facts.id} is still pending after {elapsed_s:.1f} s", facts.id)
            time.sleep(pause_s)
            facts = self.send(readers.read_release(facts.id))
            pause_s = min(_LOOK_S_MAX, pause_s * 1.5)

    def _all(self, page: Callable[[str | None], Call[Page[T]]]) -> Iterator[T]:
        cursor: str | None = None
        while True:
            found = self.send(page(cursor))
            yield from found.items
            cursor = found.next_cursor
            if cursor is None:
                return

    def me(self) -> Me:
        """Whose key this is, its caps and the prefixes paid for."""
        return self.send(readers.me())

    def release(self, release: str) -> Release:
        return Release(self, self.send(readers.read_release(release)))

    def releases(self, dataset: str | None = None, *, page_size: int | None = None) -> Iterator[Release]:
        """Every release this key may see, newest first, a page at a time."""
        return (Release(self, facts) for facts in self._all(lambda at: pages.releases(at, page_size, dataset)))

    def plan(
        self,
        model: Mapping[str, Any],
        mechanism: Mapping[str, Any] | None = None,
        *,
        n: int,
        columns: Mapping[str, Any] | None = None,
        delta: float | None = None,
        target: Mapping[str, float] | None = None,
        calibrate: Literal["samples", "temperature", "trim"] | None = None,
        privacy_unit: Mapping[str, Any] | None = None,
        check: Mapping[str, float] | None = None,
        by: Sequence[str] | None = None,
        where: str | None = None,
        strata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Plan:
        """Cost and accuracy from public numbers. `target` is what may be spent, or an accuracy such as
        `{"half_width": 0.02, "level": 0.9}` or `{"sd": 0.01}`: what is missing is then found. No mechanism: `auto`.
        `check`, such as `{"epsilon": 0.1}`, adds a check of fit. `by` and `where` are those of a release; `strata` says how many
        people each public group has, such as `{"group": {"arm": "drug"}, "n": 464}`, if not equally many."""
        what = given(model=model, mechanism=mechanism, n=n, columns=columns, privacy_unit=privacy_unit)
        what |= given(by=by, where=where, strata=strata)
        return self.send(stewards.plan(what | given(delta=delta, target=target, calibrate=calibrate, check=check)))

    def plan_together(
        self,
        models: Sequence[Mapping[str, Any]],
        *,
        n: int | None = None,
        columns: Mapping[str, Any] | None = None,
        delta: float | None = None,
        target: Mapping[str, float] | None = None,
        account: str | Dataset | None = None,
        privacy_unit: Mapping[str, Any] | None = None,
    ) -> SharedPlan:
        """How to split one budget between models, each `{"model": …, "target": {"half_width": …}}`.

        The budget is `target`'s (ε, δ), what is left of a dataset's `account`, or, without either, the least that does.
        """
        what = given(models=list(models), n=n, columns=columns, delta=delta, target=target, privacy_unit=privacy_unit)
        where = None if account is None else stewards.id_of(account)
        return self.send(stewards.plan_together(what | given(account=where)))

    def create_dataset(
        self,
        name: str,
        columns: Mapping[str, Any],
        *,
        epsilon: float,
        delta: float,
        slack_delta: float | None = None,
        source: Mapping[str, Any] | None = None,
        privacy_unit: Mapping[str, Any] | None = None,
        n: int | None = None,
        description: str | None = None,
        population: str | Population | None = None,
        rehearsal: bool = False,
        seed: int | None = None,
        force: bool = False,
        idempotency_key: str | None = None,
    ) -> Dataset:
        """Columns, bounds and budget are public. Without a `source` rows are uploaded, and wiped after use. `population`: whose
        account is charged too. `rehearsal`: rows are made up from the columns, the same for the same `seed`."""
        budget = given(epsilon=epsilon, delta=delta, slack_delta=slack_delta)
        what = given(name=name, columns=columns, budget=budget, source=source or stewards.UPLOADED)
        spec = what | given(privacy_unit=privacy_unit, n=n, description=description, force=force or None)
        shared = None if population is None else stewards.id_of(population)
        spec |= given(population=shared, rehearsal=rehearsal or None, seed=seed)
        return self.send(stewards.create_dataset(spec, idempotency_key))

    def rehearse(
        self,
        dataset: str | Dataset | PublicDataset,
        *,
        name: str | None = None,
        n: int | None = None,
        seed: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> Dataset:
        """A rehearsal of a dataset you may see: rows made up from its public schema, with accounts of their own. Yours, whoever
        you are; for an analyst with a cap on it like the one they have. `epsilon` and `delta` are another budget."""
        budget = given(epsilon=epsilon, delta=delta) or None
        spec = given(name=name, n=n, seed=seed, budget=budget, description=description)
        return self.send(stewards.rehearse(dataset, spec, idempotency_key))

    def create_population(
        self,
        name: str,
        *,
        epsilon: float,
        delta: float,
        slack_delta: float | None = None,
        description: str | None = None,
        force: bool = False,
        idempotency_key: str | None = None,
    ) -> Population:
        """One budget for the same people in several datasets, which name it when they are declared."""
        budget = given(epsilon=epsilon, delta=delta, slack_delta=slack_delta)
        spec = given(name=name, budget=budget, description=description, force=force or None)
        return self.send(stewards.create_population(spec, idempotency_key))

    def population(self, population: str) -> Population:
        return self.send(stewards.read_population(population))

    def populations(self, *, page_size: int | None = None) -> Iterator[Population]:
        return self._all(lambda cursor: pages.populations(cursor, page_size))

    def change_population(self, population: str | Population, changes: Mapping[str, Any]) -> Population:
        """`name`, `description`. What is left out stays, and so does the budget."""
        return self.send(stewards.change_population(population, changes))

    def delete_population(self, population: str | Population) -> None:
        """Only while no dataset is in it; its name is then free again."""
        self.send(stewards.delete_population(population))

    def population_ledger(self, population: str | Population, *, page_size: int | None = None) -> Iterator[LedgerEntry]:
        """Every line of the population's account, in order; each names its dataset."""
        return self._all(lambda cursor: pages.population_ledger(cursor, page_size, stewards.id_of(population)))

    def dataset(self, dataset: str) -> Dataset:
        return self.send(stewards.read_dataset(dataset))

    def datasets(self, *, page_size: int | None = None) -> Iterator[Dataset]:
        return self._all(lambda cursor: pages.datasets(cursor, page_size))

    def public_dataset(self, dataset: str) -> PublicDataset:
        """What is public of a dataset that this key has a right on: name, description, columns, number of people."""
        return self.send(readers.public_dataset(dataset))

    def public_datasets(self, *, page_size: int | None = None) -> Iterator[PublicDataset]:
        """The same of every dataset this key may see, newest first."""
        return self._all(lambda cursor: pages.public_datasets(cursor, page_size))

    def change_dataset(self, dataset: str | Dataset, changes: Mapping[str, Any]) -> Dataset:
        """`name`, `description`, `archived`; before the first release `columns`, `privacy_unit`, `n`, `population`. What is left
        out stays."""
        return self.send(stewards.change_dataset(dataset, changes))

    def delete_dataset(self, dataset: str | Dataset) -> None:
        """Only while no release of it was ever asked for; its name is then free again."""
        self.send(stewards.delete_dataset(dataset))

    def draft_schema(
        self,
        data: Any,
        *,
        content_type: str | None = None,
        charset: str | None = None,
        separator: Separator | None = None,
    ) -> SchemaDraft:
        """Columns to fill in, from names and types of a file. Of CSV only the header line is sent."""
        return self.send(stewards.draft_schema(data, content_type, charset=charset, separator=separator))

    def upload(
        self,
        dataset: str | Dataset,
        data: Any,
        *,
        content_type: str | None = None,
        charset: str | None = None,
        separator: Separator | None = None,
        check: bool = False,
    ) -> Upload:
        """`data` is the path of a CSV, Parquet or Arrow file (also packed: `.gz`, `.zst`), bytes, an open binary file or a data
        frame. `check`: say what would be said, and keep nothing. Raises InvalidInput, whose `columns` say what does not fit."""
        return self.send(
            stewards.upload(dataset, data, content_type, check=check, charset=charset, separator=separator)
        )

    def request_release(
        self,
        dataset: str | Dataset,
        model: Mapping[str, Any],
        mechanism: Mapping[str, Any],
        *,
        by: Sequence[str] | None = None,
        where: str | None = None,
        check: Mapping[str, float] | None = None,
        statistics: Sealed | None = None,
        title: str | None = None,
        description: str | None = None,
        force: bool = False,
        idempotency_key: str | None = None,
        wait: bool = True,
        timeout_s: float = 300.0,
        on_progress: Progress | None = None,
    ) -> Release:
        """Charged before a row is read. `by` groups: one posterior for every combination of these columns' levels; `where` is a
        condition on rows. `check`, such as `{"epsilon": 0.1}`, pays for a check of fit too. `statistics`, of a dataset without
        rows, is what `postern statistics` wrote for this very release. `idempotency_key` makes it one release, however often and
        wherever it is asked for."""
        spec = given(model=model, mechanism=mechanism, check=check, force=force or None)
        spec |= given(by=by, where=where, title=title, description=description)
        spec |= given(source=stewards.sealed_source(statistics))
        facts = self.send(stewards.request_release(dataset, spec, idempotency_key))
        return Release(self, self.wait(facts, timeout_s, on_progress) if wait else facts)

    def request_several(
        self,
        dataset: str | Dataset,
        models: Sequence[Mapping[str, Any]],
        *,
        by: Sequence[str] | None = None,
        where: str | None = None,
        statistics: Sealed | None = None,
        title: str | None = None,
        description: str | None = None,
        force: bool = False,
        idempotency_key: str | None = None,
        wait: bool = True,
        timeout_s: float = 300.0,
        on_progress: Progress | None = None,
    ) -> Release:
        """One release of several models, each `{"name": …, "model": …, "mechanism": …}`: one charge, one reading of the rows.
        `by` and `where` are those of every model that has none. `release.part("cured")` asks one of them."""
        spec = given(models=list(models), by=by, where=where, title=title, description=description, force=force or None)
        spec |= given(source=stewards.sealed_source(statistics))
        facts = self.send(stewards.request_release(dataset, spec, idempotency_key))
        return Release(self, self.wait(facts, timeout_s, on_progress) if wait else facts)

    def cancel_release(self, release: str) -> ReleaseFacts:
        """Until its first row is about to be read; the charge is taken back. Raises Conflict after that."""
        return self.send(stewards.cancel_release(release))

    def create_analyst(self, name: str, *, role: Role = "analyst", idempotency_key: str | None = None) -> Analyst:
        return self.send(stewards.create_analyst(name, role, idempotency_key))

    def analysts(self, *, page_size: int | None = None) -> Iterator[Analyst]:
        return self._all(lambda cursor: pages.analysts(cursor, page_size))

    def create_key(
        self,
        analyst: str | Analyst,
        label: str,
        *,
        expires_at: datetime | str | None = None,
        role: Role | None = None,
        idempotency_key: str | None = None,
    ) -> NewKey:
        """The answer's `token` is told this once."""
        spec = given(label=label, expires_at=stewards.moment(expires_at), role=role)
        return self.send(stewards.create_key(analyst, spec, idempotency_key))

    def keys(self, analyst: str | Analyst) -> tuple[KeyFacts, ...]:
        return self.send(stewards.list_keys(analyst))

    def revoke_key(self, key: str | KeyFacts) -> None:
        self.send(stewards.revoke_key(key))

    def set_cap(
        self,
        dataset: str | Dataset,
        analyst: str | Analyst,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        slack_delta: float | None = None,
        samples: int | None = None,
        force: bool = False,
    ) -> Cap:
        """`epsilon` and `delta` for an analyst, `samples` for a dashboard."""
        spec = given(epsilon=epsilon, delta=delta, slack_delta=slack_delta, samples=samples, force=force or None)
        return self.send(stewards.set_cap(dataset, analyst, spec))

    def ledger(self, dataset: str | Dataset, *, page_size: int | None = None) -> Iterator[LedgerEntry]:
        """Every line of the dataset's accounts, in order."""
        return self._all(lambda cursor: pages.ledger(cursor, page_size, stewards.id_of(dataset)))

    def ledger_head(self) -> LedgerHead:
        return self.send(stewards.ledger_head())

    def verify_ledger(self) -> Verification:
        return self.send(stewards.verify_ledger())
