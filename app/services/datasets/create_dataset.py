"""Declare a dataset: public schema, budget, source. Opens its account in the ledger."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.schema import parse_columns, parse_unit
from app.errors import InvalidInput, NameTaken
from app.ledger.account import open_account
from app.ledger.posting import open_posting
from app.services.datasets.dataset_sources import dataset_source
from app.services.datasets.dataset_strata import refuse_unseen, strata_json
from app.services.datasets.populations import NO_PEOPLE, joined
from app.services.datasets.read_datasets import steward_view
from app.services.datasets.rehearse import make_rows, rehearsal_seed
from app.services.principals import Steward
from app.services.runtime import idempotency
from app.services.runtime.cost_cache import refuse_vacuous
from app.services.runtime.idempotency import Once
from app.services.runtime.identifiers import REHEARSAL, new_id
from app.services.runtime.runtime import Runtime
from app.services.views import DatasetView
from app.sources.grouping.strata_counts import Strata
from app.sources.source_spec import parse_source
from app.storage.datasets import Dataset, get_dataset, has_name, insert_dataset, mark_looked, set_data
from app.storage.ledger_book import post

NAME_LENGTH_MAX = 200


Also = Callable[[AsyncConnection, Dataset], Awaitable[None]]
"""What has to happen in the transaction that declares a dataset, once its account is open."""


async def create_dataset(
    runtime: Runtime,
    *,
    steward: Steward,
    spec: Mapping[str, Any],
    once: Once[DatasetView] | None = None,
    also: Also | None = None,
) -> DatasetView:
    """Raises InvalidSchema, InvalidInput, VacuousGuarantee, NameTaken, Conflict; for a file source also what its rows raise."""
    dataset = _parse(runtime, steward, spec)
    if dataset.rehearsal is not None and spec.get("population") is not None:
        raise InvalidInput("population", NO_PEOPLE)
    if dataset.rehearsal is not None:
        await _refuse_taken(runtime, dataset, once)
        async with runtime.uploads.begin(dataset.id, limited=False) as kept:
            rows = dataset.rehearsal
            made = await runtime.computations.run(lambda: make_rows(runtime, dataset, rows, kept))
            name = await asyncio.to_thread(kept.finish)
            return await _declare(runtime, steward, dataset, spec, once, (made.people, made.strata, name), also)
    if dataset.source["kind"] == "upload":
        return await _declare(runtime, steward, dataset, spec, once, None)
    if dataset.source["kind"] == "statistics":
        people = refuse_unseen(dataset)
        return await _declare(runtime, steward, dataset, spec, once, (people, None, None))
    report = await asyncio.to_thread(dataset_source(runtime, dataset).validate, dataset.n)
    return await _declare(runtime, steward, dataset, spec, once, (report.people, report.strata, None))


async def _refuse_taken(runtime: Runtime, dataset: Dataset, once: Once[DatasetView] | None) -> None:
    """Before any row is made up; if this very request took the name, its answer is given again. Raises NameTaken."""
    async with runtime.database.read() as connection:
        if await has_name(connection, dataset.owner, dataset.name):
            await idempotency.look_up(runtime, connection, once)
            raise NameTaken(f"you already have a dataset named {dataset.name!r}")


async def _declare(
    runtime: Runtime,
    steward: Steward,
    dataset: Dataset,
    spec: Mapping[str, Any],
    once: Once[DatasetView] | None,
    data: tuple[int, Strata | None, str | None] | None,
    also: Also | None = None,
) -> DatasetView:
    """`data`: people, strata and the private file if there is one, where there are rows already, here or elsewhere."""
    slack_delta = float(spec["budget"].get("slack_delta") or 0.0)
    account = open_account(dataset.id, epsilon=dataset.epsilon, delta=dataset.delta, slack_delta=slack_delta)
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        if spec.get("population") is not None:
            rehearsal = dataset.rehearsal is not None
            shared = await joined(connection, dataset.owner, spec["population"], rehearsal=rehearsal)
            dataset = replace(dataset, population=shared)
        await insert_dataset(connection, dataset)
        if data is not None:
            people, strata, name = data
            await set_data(connection, dataset.id, n=people, upload_name=name, strata=strata_json(strata))
            await mark_looked(connection, dataset.id, dataset.created_us)
        opened = open_posting(account, actor=steward.id, reason="dataset declared", at_us=dataset.created_us)
        await post(connection, opened)
        if also is not None:
            await also(connection, dataset)
        stored = await get_dataset(connection, dataset.id)
        view = await steward_view(connection, stored or dataset)
        await idempotency.answer(runtime, connection, once, view)
    return view


def _parse(runtime: Runtime, steward: Steward, spec: Mapping[str, Any]) -> Dataset:
    name = spec["name"]
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise InvalidInput("name", f"1 to {NAME_LENGTH_MAX} printable characters")
    columns = parse_columns(spec["columns"])
    unit = parse_unit(spec.get("privacy_unit"), columns)
    source = parse_source(spec.get("source"), runtime.settings.source_roots, runtime.settings.connections)
    epsilon, delta = float(spec["budget"]["epsilon"]), float(spec["budget"]["delta"])
    refuse_vacuous("budget.epsilon", epsilon, delta, runtime.settings.epsilon_max, bool(spec.get("force")))
    rehearsal = rehearsal_seed(spec)
    return Dataset(
        id=new_id("ds" if rehearsal is None else f"ds_{REHEARSAL}"),
        owner=steward.id,
        name=name,
        columns={column.name: column.as_json() for column in columns.values()},
        unit=unit.as_json(),
        source=source.as_json() if rehearsal is None else {"kind": "upload", "retain": True},
        n=spec.get("n"),
        epsilon=epsilon,
        delta=delta,
        created_us=runtime.clock(),
        other_columns=spec.get("other_columns") or "ignore",
        description=spec.get("description"),
        rehearsal=rehearsal,
    )
