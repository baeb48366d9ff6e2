"""Engines: each takes rows and answers requests. To hold another to the contract, add it here (`docs/adding-an-engine.md`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from app.core.schema import PrivacyUnit
from app.core.statistics import RowRequest
from app.sources.engine import Limits
from app.sources.sources import FileRows, RowSource, SourceContext
from app.sources.tables.table_rows import TableRows
from app.sources.uploads import UploadStore
from tests.sources.contract.mixed_rows import COLUMNS

Rows = Mapping[str, Sequence[Any]]
KEY = bytes(range(32))
TYPES = {bool: "boolean", int: "bigint", float: "double precision", str: "text"}


class Engine(Protocol):
    def open(self, rows: Rows, unit: PrivacyUnit, name: str) -> RowSource: ...


@dataclass
class DuckParquet:
    folder: Path

    def open(self, rows: Rows, unit: PrivacyUnit, name: str) -> RowSource:
        path = self.folder / f"{name}.parquet"
        pq.write_table(pa.table({each: pa.array(cells) for each, cells in rows.items()}), path, row_group_size=300)
        return FileRows(lambda: path, SourceContext(COLUMNS, unit, UploadStore(self.folder / "store")))


@dataclass
class PostgresTable:
    folder: Path
    url: str

    def open(self, rows: Rows, unit: PrivacyUnit, name: str) -> RowSource:
        self.make(rows, name)
        uploads = UploadStore(self.folder / "store")
        return TableRows(lambda: self.url, name, 10**6, COLUMNS, unit, uploads, Limits(seconds=60))

    def make(self, rows: Rows, name: str) -> None:
        with psycopg.connect(self.url) as connection:
            table = sql.Identifier(name)
            listed = [sql.SQL("{} {}").format(sql.Identifier(each), sql.SQL(_stored(rows[each]))) for each in rows]
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(listed)))
            with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
                for row in zip(*rows.values(), strict=True):
                    copy.write_row(row)


def _stored(cells: Sequence[Any]) -> str:
    kind = next(type(cell) for cell in cells if cell is not None)
    return TYPES.get(kind, "date")


def shuffled(rows: Rows, order: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [cells[place] for place in order] for name, cells in rows.items()}


def plain(found: Any) -> Any:
    """An exact answer as numbers, which answers themselves do not show."""
    if isinstance(found, np.ndarray):
        return found.tolist()
    if is_dataclass(found):
        return {field.name: plain(getattr(found, field.name)) for field in fields(found)}
    return [plain(each) for each in found] if isinstance(found, tuple) else found


def answers(source: RowSource, requests: Mapping[str, RowRequest[Any]]) -> dict[str, Any]:
    found = source.statistics([*requests.values()], KEY)
    return {name: plain(each) for name, each in zip(requests, found, strict=True)}
