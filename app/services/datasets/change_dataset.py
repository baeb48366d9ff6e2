"""A dataset's life after it was declared: renamed, described, its schema corrected before the first release, archived, deleted.

A schema is part of what releases are charged for and read back with, so it stays once one was asked for. Until then a new one
discards the rows that were uploaded under the old. What is changed after rows were uploaded or checked is recorded, and told on
every card: a bound that was chosen by looking at the rows is a function of the rows.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.schema import parse_columns, parse_unit
from app.errors import Conflict, InvalidInput
from app.services.datasets.dataset_sources import dataset_source
from app.services.datasets.dataset_strata import refuse_unseen, strata_json
from app.services.datasets.populations import joined
from app.services.datasets.read_datasets import owned, steward_view
from app.services.datasets.schema_changes import CHANGES_MAX, changed_fields
from app.services.principals import Steward
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import announce_rights
from app.services.views import DatasetView
from app.sources.duckdb_rows import UploadReport
from app.storage import datasets, releases
from app.storage.datasets import Dataset
from app.storage.installation import bump_epoch

_SCHEMA = frozenset({"columns", "privacy_unit"})
_IN_USE = "releases of this dataset wait for its rows; cancel them, or wait until they are done"


async def change_dataset(
    runtime: Runtime, *, steward: Steward, dataset_id: str, spec: Mapping[str, Any]
) -> DatasetView:
    """What is absent from `spec` stays. Raises NotFound, InvalidSchema, InvalidInput, NameTaken, Conflict; for rows in a file
    also what they raise."""
    async with runtime.database.read() as connection:
        before = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
    changed = _with_schema(before, spec)
    report = None if changed is None else await _report_of_file(runtime, changed)
    gone = None
    async with runtime.database.write() as connection:
        current = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        values: dict[str, Any] = {name: spec[name] for name in ("name", "description", "other_columns") if name in spec}
        if changed is not None:
            if (current.columns, current.unit) != (before.columns, before.unit):
                raise Conflict("the schema was changed by someone else meanwhile; look at it again")
            if current.rehearsal is not None:
                raise Conflict("the rows of a rehearsal were made up from its schema; declare another rehearsal")
            if current.archived_us is not None or await releases.has_releases(connection, dataset_id):
                raise Conflict("the schema is part of what its releases were charged for; declare another dataset")
            values |= _schema_values(runtime, current, changed, report)
            gone = current.upload_name
        elif "n" in spec:
            raise InvalidInput("n", "a new number of people together with `columns` or `privacy_unit` only")
        if "population" in spec:
            values |= await _population(connection, current, spec["population"])
        if spec.get("archived") and current.archived_us is None:
            if any(release.dataset_id == dataset_id for release in await releases.list_unfinished(connection)):
                raise Conflict(_IN_USE)
            gone = current.upload_name
            values |= {"archived_us": runtime.clock(), **_without_rows(current)}
        if values:
            await datasets.change_dataset(connection, dataset_id, values)
        stored = owned(await datasets.get_dataset(connection, dataset_id), steward, dataset_id)
        view = await steward_view(connection, stored)
    if gone is not None:
        await asyncio.to_thread(runtime.uploads.wipe, gone)
    return view


async def delete_dataset(runtime: Runtime, *, steward: Steward, dataset_id: str) -> None:
    """Its name is free again and its rows are wiped; its account, which was never charged, stays in the ledger. Raises NotFound,
    Conflict once a release was asked for."""
    async with runtime.database.write() as connection:
        current = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        if await releases.has_releases(connection, dataset_id):
            raise Conflict("something was charged to this dataset, so its name stays taken; archive it instead")
        # No name that anyone can choose begins with a character that does not print.
        values = {"name": f"\x7f{dataset_id}", "description": None, "deleted_us": runtime.clock(), "population": None}
        await datasets.change_dataset(connection, dataset_id, values | _without_rows(current))
        await bump_epoch(connection)
    if current.upload_name is not None:
        await asyncio.to_thread(runtime.uploads.wipe, current.upload_name)
    await announce_rights(runtime)


async def _population(connection: AsyncConnection, current: Dataset, named: str | None) -> dict[str, Any]:
    """What was charged to a dataset is not on another population's account, and cannot be taken off its own."""
    rehearsal, present = current.rehearsal is not None, current.population
    population = None
    if named is not None:
        population = await joined(connection, current.owner, named, rehearsal=rehearsal, present=present)
    if population == current.population:
        return {}
    if await releases.has_releases(connection, current.id):
        raise Conflict("something was charged to this dataset: it stays in the population it is in, or outside any")
    return {"population": population}


def _with_schema(before: Dataset, spec: Mapping[str, Any]) -> Dataset | None:
    """With the new schema, None if there is none. Raises InvalidSchema."""
    if not _SCHEMA & spec.keys():
        return None
    columns = parse_columns(spec.get("columns", before.columns))
    unit = parse_unit(spec.get("privacy_unit", before.unit), columns).as_json()
    declared = {column.name: column.as_json() for column in columns.values()}
    if (declared, unit) == (before.columns, before.unit) and "n" not in spec:
        return None
    changed = replace(before, columns=declared, unit=unit, n=spec.get("n"), upload_name=None)
    if before.source["kind"] != "statistics":
        return changed
    changed = replace(changed, n=spec.get("n", before.n))
    refuse_unseen(changed)
    return changed


async def _report_of_file(runtime: Runtime, changed: Dataset) -> UploadReport | None:
    """Rows that lie in a file are checked against the new schema at once, as when a dataset is declared."""
    if changed.source["kind"] in ("upload", "statistics"):
        return None
    return await asyncio.to_thread(dataset_source(runtime, changed).validate, changed.n)


def _schema_values(runtime: Runtime, current: Dataset, changed: Dataset, report: UploadReport | None) -> dict[str, Any]:
    values: dict[str, Any] = {"columns": changed.columns, "unit": changed.unit}
    if changed.source["kind"] == "statistics":
        values |= {"n": changed.n, "data_version": current.data_version + 1}
    elif report is None:
        values |= {"n": changed.n, "strata": None, "data_state": "none", "upload_name": None}
    else:
        values |= {"n": report.people, "strata": strata_json(report.strata), "data_version": current.data_version + 1}
    fields = changed_fields(current, changed)
    if current.looked_us is not None and fields:
        told = [*(current.changes or ()), {"at_us": runtime.clock(), "fields": fields}]
        if len(told) > CHANGES_MAX:
            raise Conflict(f"the schema was changed {CHANGES_MAX} times after rows were seen; declare another dataset")
        values["changes"] = told
    return values


def _without_rows(current: Dataset) -> dict[str, Any]:
    return {"upload_name": None, "data_state": "none" if current.data_state == "none" else "wiped"}
