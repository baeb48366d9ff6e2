"""The header and the bytes have to agree, and neither is believed alone."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import UnsupportedFormat
from app.sources.files.formats import decide_format, format_of_content_type, sniff


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_bytes(b"cured\n1\n")
    return path


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "b"
    pq.write_table(pa.table({"cured": [True]}), path)
    return path


@pytest.mark.parametrize("header", ["text/csv", "Text/CSV; charset=utf-8", "application/csv"])
def test_csv_is_csv_with_or_without_a_content_type(csv: Path, header: str) -> None:
    assert decide_format(format_of_content_type(header), csv) == "csv"
    assert decide_format(None, csv) == "csv"


def test_parquet_is_recognised_by_its_bytes(parquet: Path) -> None:
    assert decide_format(format_of_content_type("application/octet-stream"), parquet) == "parquet"
    assert decide_format(format_of_content_type("application/vnd.apache.parquet"), parquet) == "parquet"


def test_bytes_that_contradict_the_content_type_are_refused(csv: Path, parquet: Path) -> None:
    with pytest.raises(UnsupportedFormat):
        decide_format("csv", parquet)
    with pytest.raises(UnsupportedFormat):
        decide_format("parquet", csv)
    with pytest.raises(UnsupportedFormat):
        decide_format("arrow", csv)


@pytest.mark.parametrize("header", ["application/json", "image/png", "x"])
def test_content_types_nobody_can_read_are_refused_before_the_body(header: str) -> None:
    with pytest.raises(UnsupportedFormat):
        format_of_content_type(header)


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_is_taken_when_sent_and_refused_by_name_where_it_lies(tmp_path: Path, new: object) -> None:
    table = pa.table({"cured": [True]})
    with pa.OSFile(str(tmp_path / "c"), "wb") as sink, new(sink, table.schema) as writer:
        writer.write_table(table)
    assert decide_format(format_of_content_type("application/vnd.apache.arrow.file"), tmp_path / "c") == "arrow"
    with pytest.raises(UnsupportedFormat, match="Arrow"):
        sniff(tmp_path / "c")


@pytest.mark.parametrize(
    "opening", [b"\x1f\x8b\x08", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"SQLite format 3\0", b"PARE"]
)
def test_containers_are_refused(tmp_path: Path, opening: bytes) -> None:
    (tmp_path / "d").write_bytes(opening + b"x" * 50)
    with pytest.raises(UnsupportedFormat):
        sniff(tmp_path / "d")
