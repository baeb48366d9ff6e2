"""Derived columns and filters: the engine gives what the reference gives, from every form of file."""

import datetime
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit, parse_columns, parse_filter
from app.core.schema.rows.grammar import parse_row
from app.core.statistics.sums import StatisticRequest
from app.errors import InvalidExpression
from app.sources.cell_rules import kept_rule
from app.sources.row_sql import filter_sql, row_sql
from app.sources.uploads import UploadStore
from tests.core.rows.row_cases import COLUMNS, condition, number, rows
from tests.deep import deep
from tests.sources.rows_under_test import MakeReader
from tests.sources.test_cell_policies import kept, written

RULES = {name: kept_rule(column, f"c{place}") for place, (name, column) in enumerate(COLUMNS.items())}
TYPES = {"age": pa.int64(), "stay": pa.float64(), "cured": pa.bool_(), "day": pa.date32(), "left": pa.date32()}
PERSON: dict[str, Any] = {
    "age": {"type": "integer", "lower": 0, "upper": 120, "missing": "group"},
    "arm": {"type": "categorical", "levels": {"drug": ["d"], "placebo": ["p"]}, "fold_case": True, "public": True},
    "admitted": {"type": "date"},
    "left": {"type": "date", "missing": "group"},
    "old": {"type": "binary", "from": "age >= 65", "missing": {"value": False}},
    "ages": {
        "type": "categorical",
        "from": "bin(age, 18, 65)",
        "levels": ["child", "adult", "old", "unknown"],
        "missing": {"level": "unknown"},
    },
    "stay": {"type": "integer", "from": "left - admitted", "lower": 0, "upper": 30, "missing": {"value": 0}},
    "year": {"type": "integer", "from": "year(admitted)", "lower": 2020, "upper": 2030},
    "dose": {"type": "real", "from": "100 / (age - 20)", "lower": -10, "upper": 10, "missing": "group"},
    "treated": {"type": "binary", "from": "arm == 'drug'", "public": True},
}
SENT = {
    "age": ["70", "17", "18.0", "", "20", "200"],
    "arm": ["Drug", "p", "PLACEBO", " d ", "drug", "placebo"],
    "admitted": ["2024-02-28", "2024-12-31T10:00", "2024-03-03 ", "1999-01-01", "2024-01-01", "2024-01-01"],
    "left": ["2024-03-01", "2025-01-01", "", "2000-01-01", "2023-12-31", "NA"],
}
KEPT = {
    "old": [True, False, False, False, False, True],
    "ages": ["old", "child", "adult", "unknown", "adult", "old"],
    "stay": [2, 1, 0, 30, 0, 0],
    "year": [2024, 2024, 2024, 2020, 2024, 2024],
    "dose": [2.0, -10.0, -10.0, None, None, 1.0],
    "treated": [True, False, False, True, True, False],
}


def test_derived_columns_are_the_same_from_every_form(tmp_path: Path, store: UploadStore) -> None:
    columns = parse_columns(PERSON)
    (tmp_path / "files").mkdir()
    for path in written(tmp_path / "files", SENT).values():
        report, values = kept(path, store, columns)
        assert {name: values[name] for name in KEPT} == KEPT, path.name
        assert report.missing == {"age": 1, "left": 2, "old": 1, "ages": 1, "stay": 2, "dose": 2}
        assert report.outside == {"age": 1, "stay": 2, "year": 1, "dose": 2}


def test_stored_dates_give_the_same_as_their_texts(tmp_path: Path, store: UploadStore) -> None:
    columns = parse_columns({name: PERSON[name] for name in ("admitted", "year")})
    days = [datetime.date(2024, 12, 31), datetime.date(1500, 1, 1), datetime.date(2021, 5, 6)]
    for kind in (pa.date32(), pa.timestamp("us"), pa.timestamp("ms")):
        pq.write_table(pa.table({"admitted": pa.array(days).cast(kind)}), tmp_path / "p.parquet")
        assert kept(tmp_path / "p.parquet", store, columns)[1]["year"] == [2024, 2020, 2021]


@pytest.mark.parametrize(
    "text", ["2024-13-01", "2024-02-30", "24-01-01", "01.02.2024", "2024-1-1", "0999-01-01", "today"]
)
def test_what_is_no_day_is_refused_once(make_reader: MakeReader, text: str) -> None:
    reader = make_reader(parse_columns({name: PERSON[name] for name in ("admitted", "year")}))
    assert reader.problems(f"admitted\n{text}\n") == [(2, "admitted", "a date like 2024-03-31")]


def test_a_derived_value_that_is_missing_or_outside_is_refused_where_the_column_says_so(
    make_reader: MakeReader,
) -> None:
    spec = {"type": "real", "from": "100 / age", "lower": 1, "upper": 10, "outside": "refuse"}
    reader = make_reader(parse_columns({"age": PERSON["age"], "rate": spec}))
    expected = "a value of 100 / age from 1.0 to 10.0"
    assert reader.problems("age\n50\n0\nNA\n5\n") == [
        (3, "rate", expected),
        (4, "rate", expected),
        (5, "rate", expected),
    ]


def test_statistics_of_files_in_place_are_of_derived_columns_too(make_reader: MakeReader, tmp_path: Path) -> None:
    reader = make_reader(parse_columns(PERSON))
    (tmp_path / "files").mkdir()
    files = written(tmp_path / "files", SENT)
    for path in (files["rows.csv"], files["coded.parquet"]):
        assert reader.read(path, StatisticRequest("old")).total == 2
        assert reader.read(path, StatisticRequest("treated")).total == 3
        assert reader.read(path, StatisticRequest("stay", lower=0, upper=30, steps=30)).total == 33


def test_a_public_column_that_is_derived_is_checked_within_a_person_as_well(make_reader: MakeReader) -> None:
    columns = {"arm": PERSON["arm"], "treated": PERSON["treated"], "age": PERSON["age"]}
    reader = make_reader(parse_columns(columns))
    found = reader.problems("id,arm,age\n1,d,3\n1,p,4\n", PrivacyUnit("id", 2))
    assert [(line, column) for line, column, _ in found] == [(3, "arm"), (3, "treated")]


def table_of(some: list[dict[str, Any]]) -> pa.Table:
    cells = {f"c{place}": pa.array([row[name] for row in some], TYPES.get(name)) for place, name in enumerate(COLUMNS)}
    return pa.table(cells)


def same(found: Any, wanted: Any) -> bool:
    return found == wanted and (found is None) == (wanted is None)


@pytest.mark.parametrize("count", [150, deep(5_000)])
def test_the_engine_gives_what_the_reference_gives(count: int) -> None:
    """Names and levels that read as SQL are only names: were one not, a statement would fail or differ."""
    source = random.Random(5)
    some = rows(source, 40)
    compared = 0
    terms = {name: rule.term for name, rule in RULES.items()}
    with duckdb.connect() as connection:
        connection.register("given", table_of(some))
        for turn in range(count):
            text = source.choice([number, condition])(source, turn % 4)
            try:
                expression = parse_row(text, COLUMNS, "from")
            except InvalidExpression:
                continue
            compared += 1
            found = connection.execute(f"SELECT {row_sql(expression, terms)} FROM given").fetchall()
            wanted = [expression.value(row) for row in some]
            assert all(same(each, value) for (each,), value in zip(found, wanted, strict=True)), text
    assert compared > count / 2


def test_a_filter_is_never_null(make_reader: MakeReader) -> None:
    some = rows(random.Random(8), 200)
    found = parse_filter("age >= 65 and (cured or stay / age > 1) and arm != 'placebo'", COLUMNS)
    with duckdb.connect() as connection:
        connection.register("given", table_of(some))
        held = connection.execute(f"SELECT {filter_sql(found, RULES)} FROM given").fetchall()
    assert [each for (each,) in held] == [found.holds(row) for row in some]
    assert {each for (each,) in held} == {True, False}


def test_names_levels_and_texts_that_read_as_sql_reach_no_statement(make_reader: MakeReader) -> None:
    name, levels = "x'); DROP TABLE t; --", ["it's", "');--", "$key", '"', "\\'"]
    columns = {
        name: {"type": "categorical", "levels": levels},
        "is": {"type": "binary", "from": f"`{name}` in ('it''s', ''');--', '\"')"},
        "made": {"type": "categorical", "from": f"where(`{name}` == '$key', '''', ''');--')", "levels": ["'", "');--"]},
    }
    reader = make_reader(parse_columns(columns))
    rows = "\n".join('"' + text.replace('"', '""') + '"' for text in (name, *levels)) + "\n"
    assert reader.check(rows).rows == 5
    assert reader.read(rows, StatisticRequest("is")).total == 3
