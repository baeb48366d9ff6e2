"""A private store and a trial's columns, afresh for every test."""

from pathlib import Path

import pytest

from app.core.schema import Column, parse_columns
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import MakeReader, Reader


@pytest.fixture
def columns() -> dict[str, Column]:
    return parse_columns(
        {
            "cured": {"type": "binary"},
            "arm": {"type": "categorical", "levels": ["drug", "placebo", 'a "b", c']},
            "days": {"type": "real", "lower": -1.5, "upper": 365, "outside": "refuse"},
            "visits": {"type": "integer", "lower": -3, "upper": 40, "outside": "refuse"},
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> UploadStore:
    return UploadStore(tmp_path / "uploads")


@pytest.fixture
def reader(tmp_path: Path, store: UploadStore, columns: dict[str, Column]) -> Reader:
    return Reader(tmp_path, store, columns)


@pytest.fixture
def make_reader(tmp_path: Path, store: UploadStore) -> MakeReader:
    return lambda columns: Reader(tmp_path, store, columns)
