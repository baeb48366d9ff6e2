"""Rows in, verdicts out: the functions under test in one call each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.schema import Column, PrivacyUnit
from app.core.statistics import ExactStatistic, StatisticRequest
from app.errors import InvalidRows
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.engine import Limits
from app.sources.formats import sniff
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
    ) -> UploadReport:
        path = self.file(rows)
        unit = unit or PrivacyUnit()
        return validate(path, sniff(path), self.columns, unit, n, uploads=self.store, limits=limits)

    def problems(self, rows: bytes | str | Path, unit: PrivacyUnit | None = None) -> list[tuple[int, str, str]]:
        """Every (line, column, expected) the steward would see; fails if nothing is refused."""
        with pytest.raises(InvalidRows) as caught:
            self.check(rows, unit)
        return [(problem.line, problem.column, problem.expected) for problem in caught.value.rows]

    def sum(
        self,
        rows: bytes | str | Path,
        unit: PrivacyUnit | None = None,
        key: bytes = KEY,
        limits: Limits | None = None,
    ) -> ExactStatistic:
        path = self.file(rows)
        request = StatisticRequest("cured")
        unit = unit or PrivacyUnit()
        return compute(path, sniff(path), self.columns, unit, request, key, uploads=self.store, limits=limits)


MakeReader = Callable[[dict[str, Column]], Reader]
