"""Datasets: what is public about them. Rows never come here."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Insert, Row, Update, case, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.schema import OtherColumns
from app.errors import NameTaken
from app.ledger.canonical import canonical_json
from app.storage.paging import Page, newest_first, page_of
from app.storage.tables import datasets

_JSON = frozenset({"columns", "unit", "source"})


@dataclass(frozen=True, slots=True)
class Dataset:
    """`columns`, `unit` and `source` are the JSON the steward declared; `n` is None until data was uploaded.

    `data_version` counts uploads; `upload_name` is the private file of the present one, while it exists. `looked_us` is when rows
    were first uploaded or checked, `changes` what was changed in the schema since. `rehearsal` is the seed of made-up rows.
    """

    id: str
    owner: str
    name: str
    columns: Mapping[str, Any]
    unit: Mapping[str, Any] | None
    source: Mapping[str, Any]
    n: int | None
    epsilon: float
    delta: float
    created_us: int
    data_version: int = 0
    data_state: str = "none"
    upload_name: str | None = None
    other_columns: OtherColumns = "ignore"
    description: str | None = None
    changes: Sequence[Mapping[str, Any]] | None = None
    looked_us: int | None = None
    archived_us: int | None = None
    deleted_us: int | None = None
    rehearsal: int | None = None
    strata: Mapping[str, Any] | None = None
    """How many people each combination of public columns has; None without any, and until data was uploaded."""
    population: str | None = None
    """Whose account is charged too."""


async def insert_dataset(connection: AsyncConnection, dataset: Dataset) -> None:
    """`NameTaken` if the owner has one of that name; the transaction is then over."""
    values = {name: getattr(dataset, name) for name in Dataset.__dataclass_fields__}
    await _named(connection, insert(datasets).values(_values(values)), dataset.name)


async def has_name(connection: AsyncConnection, owner: str, name: str) -> bool:
    own = datasets.c.owner == owner, datasets.c.name == name, datasets.c.deleted_us.is_(None)
    statement = select(datasets.c.id).where(*own)
    return (await connection.execute(statement)).first() is not None


async def change_dataset(connection: AsyncConnection, dataset_id: str, values: Mapping[str, Any]) -> None:
    """`NameTaken` if the owner has another of that name; the transaction is then over."""
    statement = update(datasets).where(datasets.c.id == dataset_id).values(_values(values))
    await _named(connection, statement, values.get("name", ""))


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(given)
    for name in _JSON & values.keys():
        values[name] = canonical_json(values[name])
    for name in ("changes", "strata"):
        if values.get(name) is not None:
            values[name] = canonical_json(values[name])
    return values


async def _named(connection: AsyncConnection, statement: Insert | Update, name: str) -> None:
    try:
        await connection.execute(statement)
    except IntegrityError as error:
        if "datasets_owner_name" in str(error.orig) or "datasets.owner, datasets.name" in str(error.orig):
            raise NameTaken(f"you already have a dataset named {name!r}") from None
        raise


async def get_dataset(connection: AsyncConnection, dataset_id: str, *, lock: bool = False) -> Dataset | None:
    """None if it was deleted. `lock` holds the row until the transaction ends, against a simultaneous upload or release."""
    statement = select(datasets).where(datasets.c.id == dataset_id, datasets.c.deleted_us.is_(None))
    if lock:
        statement = statement.with_for_update(key_share=True)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else _record(row)


async def page_datasets(
    connection: AsyncConnection,
    *,
    owner: str | None = None,
    ids: Collection[str] | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Dataset]:
    """An owner's, or those of the given ids, newest first."""
    statement = select(datasets).where(datasets.c.deleted_us.is_(None))
    if owner is not None:
        statement = statement.where(datasets.c.owner == owner)
    if ids is not None:
        statement = statement.where(datasets.c.id.in_(sorted(ids)))
    statement = newest_first(statement, datasets.c.created_us, datasets.c.id, cursor, limit)
    found = [_record(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.created_us, item.id))


async def owned_ids(connection: AsyncConnection, owner: str) -> set[str]:
    statement = select(datasets.c.id).where(datasets.c.owner == owner, datasets.c.deleted_us.is_(None))
    return set((await connection.execute(statement)).scalars())


async def count_owned(connection: AsyncConnection, owner: str) -> tuple[int, int]:
    """(with rows that are neither archived nor deleted, ever declared)."""
    present = func.sum(case((datasets.c.archived_us.is_(None) & datasets.c.deleted_us.is_(None), 1), else_=0))
    row = (await connection.execute(select(present, func.count()).where(datasets.c.owner == owner))).one()
    return int(row[0] or 0), int(row[1])


async def mark_looked(connection: AsyncConnection, dataset_id: str, at_us: int) -> None:
    """Rows were uploaded or checked; the first time counts."""
    never = (datasets.c.id == dataset_id, datasets.c.looked_us.is_(None))
    await connection.execute(update(datasets).where(*never).values(looked_us=at_us))


async def set_data(
    connection: AsyncConnection,
    dataset_id: str,
    *,
    n: int,
    upload_name: str | None,
    strata: Mapping[str, Any] | None = None,
) -> int:
    """New data is ready; returns its version. The budget stays what it was: it belongs to the people."""
    statement = (
        update(datasets)
        .where(datasets.c.id == dataset_id)
        .values(
            n=n,
            data_state="ready",
            upload_name=upload_name,
            data_version=datasets.c.data_version + 1,
            strata=_written(strata),
        )
        .returning(datasets.c.data_version)
    )
    return int((await connection.execute(statement)).scalar_one())


async def mark_wiped(connection: AsyncConnection, dataset_id: str, data_version: int) -> bool:
    """The file of that version is gone; False if newer data has come meanwhile."""
    statement = (
        update(datasets)
        .where(datasets.c.id == dataset_id, datasets.c.data_version == data_version)
        .values(data_state="wiped", upload_name=None)
    )
    return (await connection.execute(statement)).rowcount == 1


async def list_uploads(connection: AsyncConnection) -> tuple[Dataset, ...]:
    """Datasets whose uploaded file should exist; any other file in the upload folder is a leftover."""
    statement = select(datasets).where(datasets.c.upload_name.is_not(None)).order_by(datasets.c.id)
    return tuple(_record(row) for row in await connection.execute(statement))


def _written(strata: Mapping[str, Any] | None) -> str | None:
    return None if strata is None else canonical_json(strata)


def _record(row: Row[tuple[object, ...]]) -> Dataset:
    values = dict(row._mapping)
    for name in _JSON:
        values[name] = json.loads(values[name])
    for name in ("changes", "strata"):
        values[name] = None if values[name] is None else json.loads(values[name])
    return Dataset(**values)
