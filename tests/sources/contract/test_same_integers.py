"""Every engine gives the same integers of the same rows, whatever is asked and however many rows of a person count."""

import random
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics import StatisticRequest
from app.sources.engine import Limits
from app.sources.tables.table_rows import TableRows
from app.sources.uploads import UploadStore
from tests.deep import deep
from tests.servers.postgres import PostgresServer
from tests.sources.contract.engines import DuckParquet, PostgresTable, answers, shuffled
from tests.sources.contract.mixed_rows import ONE_ROW, REQUESTS, THREE_ROWS, clean_rows, dirty_rows

ROWS, MANY = 1_200, 10_000


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Any:
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [PrivacyUnit(), ONE_ROW, THREE_ROWS], ids=["everyone", "one row", "three rows"])
@pytest.mark.parametrize(
    ("make", "count"), [(dirty_rows, ROWS), (clean_rows, ROWS), deep(dirty_rows, MANY), deep(clean_rows, MANY)]
)
def test_every_statistic_is_the_same_on_every_engine(
    make: Callable[[int], dict[str, list[Any]]], count: int, unit: PrivacyUnit, database: str, tmp_path: Path
) -> None:
    rows, order = make(count), [*range(count)]
    random.Random(3).shuffle(order)
    wanted = answers(DuckParquet(tmp_path).open(rows, unit, "rows"), REQUESTS)
    found = answers(PostgresTable(tmp_path, database).open(shuffled(rows, order), unit, "rows"), REQUESTS)
    for name in REQUESTS:
        assert found[name] == wanted[name], name


@pytest.mark.slow
@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_nobody_moves_a_sum_in_a_table_by_more_than_their_rows(max_rows: int, database: str, tmp_path: Path) -> None:
    """All multisets of one to four of their rows, and all keys tried: a group of `max_rows` rows, whatever was written."""
    columns = parse_columns({"age": {"type": "integer", "lower": 0, "upper": 3, "missing": {"value": 1}}})
    age = StatisticRequest("age", lower=0.0, upper=3.0, steps=3)
    engine, unit = PostgresTable(tmp_path, database), PrivacyUnit("who", max_rows)
    rows = TableRows(lambda: database, "few", 99, columns, unit, UploadStore(tmp_path), Limits(), 3)
    totals = []
    written = [cells for size in (1, 2, 4) for cells in combinations_with_replacement(["0", "3", "x"], size)]
    for place, cells in enumerate(written):
        engine.make({"who": ["a", "b", "b", *["c"] * len(cells)], "age": ["1", "2", "3", *cells]}, "few")
        key = bytes([place] * 16)
        found = rows.statistic(age, key)
        assert found.rows == 1 + min(2, max_rows) + min(len(cells), max_rows)
        totals.append(found.total)
    # with one row a person, which of b's two rows counts depends on the key: one step more
    assert max(totals) - min(totals) <= 3 * max_rows + (max_rows == 1)
