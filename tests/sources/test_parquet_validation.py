"""Parquet: only stored types that can hold the column, and the same refusals as CSV."""

import decimal
import random
import struct
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit
from app.errors import InvalidRows, UnsupportedFormat
from app.sources.duckdb_rows import validate
from app.sources.engine import Limits
from tests.sources.rows_under_test import Reader

UNIT = PrivacyUnit("patient", 2)
D = decimal.Decimal


def write(folder: Path, **options: Any) -> Path:
    """Two good rows, with columns replaced or added (None takes one away)."""
    arrays = {
        "cured": pa.array([True, False]),
        "arm": pa.array(["drug", "placebo"]),
        "days": pa.array([1.5, 365.0]),
        "visits": pa.array([0, 40], pa.int8()),
    } | options
    table = {name: array for name, array in arrays.items() if array is not None}
    path = folder / "rows.parquet"
    pq.write_table(pa.table(table), path)
    return path


@pytest.mark.parametrize(
    ("column", "array"),
    [
        ("cured", pa.array([1, 0], pa.uint8())),
        ("cured", pa.array([1, 0], pa.int64())),
        ("cured", pa.array(["Yes", " no "])),
        ("cured", pa.array([1.0, 0.0])),
        ("arm", pa.array(["drug", "placebo"]).dictionary_encode()),
        ("arm", pa.array(["drug", 'a "b", c'], pa.large_string())),
        ("days", pa.array([1.5, 2], pa.float32())),
        ("days", pa.array([1.5, 2], pa.float16())),
        ("days", pa.array([-1, 365])),
        ("days", pa.array(["1", " 2.5"])),
        ("days", pa.array([D("1.25"), D("-1.5")], pa.decimal128(10, 2))),
        ("visits", pa.array([1, 2], pa.uint64())),
        ("visits", pa.array([1.0, 2.0])),
        ("visits", pa.array(["1.0", "2"])),
        ("visits", pa.array([D("1.00"), D("-3.00")], pa.decimal128(10, 2))),
    ],
)
def test_compatible_stored_types_pass(reader: Reader, tmp_path: Path, column: str, array: pa.Array) -> None:
    assert reader.check(write(tmp_path, **{column: array}), n=2).rows == 2


@pytest.mark.parametrize(
    ("column", "array"),
    [
        ("cured", pa.array([[True], [False]])),
        ("cured", pa.array([1, 2], pa.date32())),
        ("arm", pa.array([b"drug", b"placebo"])),
        ("arm", pa.array([1.0, 2.0])),
        ("arm", pa.array([{"x": "drug"}, {"x": "drug"}])),
        ("days", pa.array([1, 2], pa.timestamp("us"))),
        ("days", pa.array([1, 2], pa.date32())),
        ("days", pa.array([[1.0], [2.0]], pa.list_(pa.float64(), 1))),
        ("visits", pa.array([True, False])),
        ("visits", pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64()))),
    ],
)
def test_stored_types_that_cannot_hold_the_column_are_refused(
    reader: Reader, tmp_path: Path, column: str, array: pa.Array
) -> None:
    ((line, name, expected),) = reader.problems(write(tmp_path, **{column: array}))
    assert (line, name) == (1, column)
    assert expected.endswith("column")


@pytest.mark.parametrize(
    ("column", "array"),
    [
        ("cured", pa.array([True, None])),
        ("cured", pa.array([1, 2])),
        ("cured", pa.array([1, -1])),
        ("cured", pa.array([1.0, 0.5])),
        ("cured", pa.array(["true", "maybe"])),
        ("arm", pa.array(["drug", "Drug"])),
        ("visits", pa.array([1.0, 2.5])),
        ("visits", pa.array([1.0, float("nan")])),
        ("arm", pa.array(["drug", None])),
        ("arm", pa.array(["drug", "drug\x00"])),
        ("arm", pa.array(["drug", ""])),
        ("days", pa.array([1.0, None])),
        ("days", pa.array([1.0, float("nan")])),
        ("days", pa.array([1.0, float("inf")])),
        ("days", pa.array([1.0, float("-inf")], pa.float32())),
        ("days", pa.array([1.0, 365.00001])),
        ("days", pa.array([1, 2**62])),
        ("visits", pa.array([1, None])),
        ("visits", pa.array([1, 41])),
        ("visits", pa.array([1, 2**64 - 1], pa.uint64())),
        ("visits", pa.array([1, -(2**63)])),
        ("visits", pa.array([D("1.00"), D("1.50")], pa.decimal128(10, 2))),
        ("visits", pa.array([D(1), D(10) ** 37], pa.decimal128(38, 0))),
    ],
)
def test_cells_outside_the_schema_are_refused_by_row(
    reader: Reader, tmp_path: Path, column: str, array: pa.Array
) -> None:
    found = reader.problems(write(tmp_path, **{column: array}))
    assert [(line, name) for line, name, _ in found] == [(2, column)]


def test_row_numbers_are_right_across_row_groups(reader: Reader, tmp_path: Path) -> None:
    size = 300_000
    visits = [1] * size
    visits[123_455] = visits[299_999] = 99
    table = {"cured": [True] * size, "arm": ["drug"] * size, "days": [1.0] * size, "visits": visits}
    pq.write_table(pa.table(table), tmp_path / "p", row_group_size=10_000)
    assert [line for line, _, _ in reader.problems(tmp_path / "p")] == [123_456, 300_000]


def test_a_column_without_any_value_is_refused_by_row(reader: Reader, tmp_path: Path) -> None:
    found = reader.problems(write(tmp_path, cured=pa.nulls(2)))
    assert [(line, name) for line, name, _ in found] == [(1, "cured"), (2, "cured")]


def test_missing_extra_and_duplicate_columns_are_refused(reader: Reader, tmp_path: Path) -> None:
    assert reader.problems(write(tmp_path, days=None))[0][:2] == (1, "days")
    with_secret = write(tmp_path, secret=pa.array([1, 2]))
    assert reader.check(with_secret).ignored_columns == ("secret",)
    assert reader.problems(with_secret, other_columns="refuse")[0][:2] == (1, "#5")
    assert reader.problems(write(tmp_path, CURED=pa.array([1, 2])))[0][:2] == (1, "#5")
    cured = pa.array([True, False])
    names = ["cured", "arm", "days", "visits", "cured"]
    arrays = [cured, pa.array(["drug"] * 2), pa.array([1.0, 2.0]), pa.array([1, 2]), cured]
    pq.write_table(pa.Table.from_arrays(arrays, names), tmp_path / "p")
    assert reader.problems(tmp_path / "p") == [(1, "cured", "each column once")]


def test_no_rows_are_refused(reader: Reader, tmp_path: Path) -> None:
    table = pq.read_table(write(tmp_path)).slice(0, 0)
    pq.write_table(table, tmp_path / "p")
    assert reader.problems(tmp_path / "p") == [(1, "*", "at least one row")]


@pytest.mark.parametrize(
    "people",
    [
        pa.array(["a", "b"]),
        pa.array([1, 2], pa.int32()),
        pa.array([1, 2**64 - 1], pa.uint64()),
        pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes], pa.uuid()),
    ],
)
def test_identifiers_are_text_or_whole_numbers(reader: Reader, tmp_path: Path, people: pa.Array) -> None:
    assert reader.check(write(tmp_path, patient=people), UNIT, n=2).people == 2


@pytest.mark.parametrize(
    "people", [pa.array(["a", None]), pa.array(["a", ""]), pa.array(["a", "NaN"]), pa.array([1, None])]
)
def test_identifiers_may_not_be_missing(reader: Reader, tmp_path: Path, people: pa.Array) -> None:
    assert reader.problems(write(tmp_path, patient=people), UNIT)[0][:2] == (2, "patient")


def test_identifiers_of_other_types_are_refused(reader: Reader, tmp_path: Path) -> None:
    assert reader.problems(write(tmp_path, patient=pa.array([1.0, 2.0])), UNIT)[0][:2] == (1, "patient")


@pytest.mark.slow
def test_damaged_files_are_refused_in_our_words(reader: Reader, tmp_path: Path) -> None:
    """Flip, cut and overwrite at random: a verdict or a refusal, never another error."""
    whole = write(tmp_path).read_bytes()
    source = random.Random(7)
    path = tmp_path / "damaged"
    refusals: list[Exception] = []
    for _ in range(40):
        damaged = bytearray(whole)
        for _ in range(source.choice([1, 4, 30])):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        path.write_bytes(damaged[: source.choice([len(damaged), source.randrange(len(damaged))])])
        try:
            validate(path, "parquet", reader.columns, PrivacyUnit(), None, uploads=reader.store)
        except (InvalidRows, UnsupportedFormat) as error:
            refusals.append(error)
    assert len(refusals) > 25
    assert "placebo" not in str(refusals)
    assert all(error.__context__ is None for error in refusals)


def test_cells_are_read_whatever_the_file_states_about_them(reader: Reader, tmp_path: Path) -> None:
    """Row groups carry minima and maxima; an engine that believes forged ones skips the bad rows."""
    values = [1_000_001, 1_000_002]
    for column, bounds in (("visits", (5, 6)), ("cured", (1, 1))):
        honest = write(tmp_path, **{column: pa.array(values, pa.int64())})
        table = pq.read_table(honest)
        pq.write_table(table, honest, use_dictionary=False, compression="none")
        whole = honest.read_bytes()
        (length,) = struct.unpack("<I", whole[-8:-4])
        footer = whole[-8 - length : -8]
        for value, stated in zip(values, bounds, strict=True):
            footer = footer.replace(struct.pack("<q", value), struct.pack("<q", stated))
        forged = tmp_path / "forged"
        forged.write_bytes(whole[: -8 - length] + footer + whole[-8:])
        place = table.column_names.index(column)
        statistics = pq.read_metadata(forged).row_group(0).column(place).statistics
        assert (statistics.min, statistics.max) == bounds
        assert [found[:2] for found in reader.problems(forged)] == [(1, column), (2, column)]
    assert reader.sum(forged).total == 0


def test_file_that_only_claims_to_be_parquet_is_refused(reader: Reader) -> None:
    with pytest.raises(UnsupportedFormat):
        reader.check(b"PAR1" + b"x" * 100 + b"PAR1", limits=Limits())
