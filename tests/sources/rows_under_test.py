"""Rows in, verdicts out: the functions under test in one call each."""

import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.core.statistics import RowRequest
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import InvalidRows
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.engine import Limits
from app.sources.files.formats import sniff
from app.sources.row_statistics import compute
from app.sources.uploads import UploadStore

KEY = bytes(range(32))


class Reader:
    """The functions under test with everything but the rows filled in."""

    def __init__(self, folder: Path, store: UploadStore, columns: dict[str, Column]) -> None:
        self.folder, self.store, self.columns = folder, store, columns

    def file(self, rows: bytes | str | Path) -> Path:
        if isinstance(rows, Path):
            return rows
        path = self.folder / "rows"
        path.write_bytes(rows.encode() if isinstance(rows, str) else rows)
        return path

    def check(
        self,
        rows: bytes | str | Path,
        unit: PrivacyUnit | None = None,
        n: int | None = None,
        limits: Limits | None = None,
        other_columns: OtherColumns = "ignore",
    ) -> UploadReport:
        path = self.file(rows)
        unit = unit or PrivacyUnit()
        return validate(
            path, sniff(path), self.columns, unit, n, uploads=self.store, limits=limits, other_columns=other_columns
        )

    def problems(
        self, rows: bytes | str | Path, unit: PrivacyUnit | None = None, other_columns: OtherColumns = "ignore"
    ) -> list[tuple[int, str, str]]:
        """Every (line, column, expected) the steward would see; fails if nothing is refused."""
        with pytest.raises(InvalidRows) as caught:
            self.check(rows, unit, other_columns=other_columns)
        return [(problem.line, problem.column, problem.expected) for problem in caught.value.rows]

    def sum(
        self,
        rows: bytes | str | Path,
        unit: PrivacyUnit | None = None,
        key: bytes = KEY,
        limits: Limits | None = None,
    ) -> ExactStatistic:
        found: ExactStatistic = self.read(rows, StatisticRequest("cured"), unit, key, limits)
        return found

    def read(
        self,
        rows: bytes | str | Path,
        request: RowRequest[Any],
        unit: PrivacyUnit | None = None,
        key: bytes = KEY,
        limits: Limits | None = None,
    ) -> Any:
        """Whatever the request asks for."""
        path = self.file(rows)
        unit = unit or PrivacyUnit()
        return compute(path, sniff(path), self.columns, unit, request, key, uploads=self.store, limits=limits)

    def variants(self, table: Mapping[str, Sequence[Any]], group: int = 1000) -> list[Path]:
        """The same rows as CSV and as Parquet, whose columns come in the opposite order."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        (self.folder / "rows.csv").write_text(text.getvalue())
        turned = {name: pa.array(table[name]) for name in reversed(table)}
        pq.write_table(pa.table(turned), self.folder / "rows.parquet", row_group_size=group)
        return [self.folder / "rows.csv", self.folder / "rows.parquet"]


def taken(table: Mapping[str, Sequence[Any]], places: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [cells[place] for place in places] for name, cells in table.items()}


def counted_places(table: Mapping[str, Sequence[Any]], who: str, max_rows: int, key: bytes = KEY) -> list[int]:
    """The rule of PRIVACY §1 by sorting in Python: the rows of each person with the smallest keyed hashes.

    Cells must print as their canonical spelling does: binary ones as 0 and 1.
    """

    def digest(place: int) -> str:
        cells = (str(table[name][place]) for name in sorted(table))
        return hashlib.sha256((key.hex() + "".join(f"{len(cell)}:{cell}" for cell in cells)).encode()).hexdigest()

    owned: dict[str, list[int]] = {}
    for place, person in enumerate(table[who]):
        owned.setdefault(person, []).append(place)
    return [place for mine in owned.values() for place in sorted(mine, key=digest)[:max_rows]]


MakeReader = Callable[[dict[str, Column]], Reader]
