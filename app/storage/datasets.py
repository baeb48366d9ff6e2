"""Datasets: what is public about them. Rows never come here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.schema import OtherColumns
from app.errors import NameTaken
from app.ledger.canonical import canonical_json
from app.storage.paging import Page, newest_first, page_of
from app.storage.tables import datasets


@dataclass(frozen=True, slots=True)
class Dataset:
    """`columns`, `unit` and `source` are the JSON the steward declared; `n` is None until data was uploaded.

    `data_version` counts uploads; `upload_name` is the private file of the present one, while it exists.
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


async def insert_dataset(connection: AsyncConnection, dataset: Dataset) -> None:
    """`NameTaken` if the owner has one of that name; the transaction is then over."""
    values = {name: getattr(dataset, name) for name in Dataset.__dataclass_fields__}
    for name in ("columns", "unit", "source"):
        values[name] = canonical_json(values[name])
    try:
        await connection.execute(insert(datasets).values(values))
    except IntegrityError as error:
        if "datasets_owner_name" in str(error.orig) or "datasets.owner, datasets.name" in str(error.orig):
            raise NameTaken(f"you already have a dataset named {dataset.name!r}") from None
        raise


async def get_dataset(connection: AsyncConnection, dataset_id: str, *, lock: bool = False) -> Dataset | None:
    """`lock` holds the row until the transaction ends, against a simultaneous upload or release."""
    statement = select(datasets).where(datasets.c.id == dataset_id)
    if lock:
        statement = statement.with_for_update(key_share=True)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else _record(row)


async def page_datasets(
    connection: AsyncConnection, *, owner: str, cursor: str | None = None, limit: int = 50
) -> Page[Dataset]:
    """An owner's, newest first."""
    statement = select(datasets).where(datasets.c.owner == owner)
    statement = newest_first(statement, datasets.c.created_us, datasets.c.id, cursor, limit)
    found = [_record(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.created_us, item.id))


async def owned_ids(connection: AsyncConnection, owner: str) -> set[str]:
    return set((await connection.execute(select(datasets.c.id).where(datasets.c.owner == owner))).scalars())


async def set_data(connection: AsyncConnection, dataset_id: str, *, n: int, upload_name: str | None) -> int:
    """New data is ready; returns its version. The budget stays what it was: it belongs to the people."""
    statement = (
        update(datasets)
        .where(datasets.c.id == dataset_id)
        .values(n=n, data_state="ready", upload_name=upload_name, data_version=datasets.c.data_version + 1)
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


def _record(row: Row[tuple[object, ...]]) -> Dataset:
    values = dict(row._mapping)
    for name in ("columns", "unit", "source"):
        values[name] = json.loads(values[name])
    return Dataset(**values)
