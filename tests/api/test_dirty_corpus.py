"""Every way a file can be dirty: a clear 4xx that names what and where, nothing stored, nothing spent, no file left behind."""

import gzip
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import structlog

from tests.api.conftest import Published, Service
from tests.conftest import SHARED_POSTGRES_DEEP

pytestmark = SHARED_POSTGRES_DEEP
HEADER = b"cured,days\n"
GOOD = b"1,2\n" * 3
LIMIT = 12 << 20


def parquet_bytes() -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table({"cured": [True] * 50, "days": [1.0] * 50}), target)
    return target.getvalue()


PARQUET = parquet_bytes()
BOMB = gzip.compress(HEADER + b"1,2\n" * (LIMIT // 4))
CORPUS: dict[str, tuple[bytes, dict[str, str], int, str, str]] = {
    "ragged rows": (HEADER + GOOD + b"1\n1,2,3\n", {}, 422, "invalid_rows", "first at line 5"),
    "NUL": (HEADER + GOOD + b"1,\x002\n", {}, 422, "invalid_rows", "line 5"),
    "10 MB field": (HEADER + GOOD + b"1," + b"2" * (10 << 20) + b"\n", {}, 422, "invalid_rows", "line 5"),
    "wrong encoding": (HEADER + GOOD + b"1,\xfc\n", {}, 422, "invalid_rows", "line 5"),
    "wrong declared encoding": (
        HEADER + GOOD + b"1,\x81\n",
        {"Content-Type": "text/csv; charset=windows-1252"},
        422,
        "invalid_rows",
        "line 5",
    ),
    "duplicate header": (b"cured,days,cured\n1,2,1\n", {}, 422, "invalid_rows", "'cured': expected each column once"),
    "no header": (GOOD, {}, 422, "invalid_rows", "line 1"),
    "1e400": (HEADER + GOOD + b"1,1e400\n", {}, 422, "invalid_rows", "column `days`: 1 cell"),
    "unterminated quote": (HEADER + GOOD + b'1,"2\n' + GOOD, {}, 422, "invalid_rows", "line 5"),
    "nothing": (b"", {}, 422, "invalid_rows", "line 1"),
    "truncated Parquet": (PARQUET[:-20], {}, 415, "unsupported_format", "intact Parquet"),
    "hostile Parquet": (
        PARQUET[:-60] + bytes(b ^ 0x5A for b in PARQUET[-60:-8]) + PARQUET[-8:],
        {},
        415,
        "unsupported_format",
        "intact Parquet",
    ),
    "Parquet of no length": (b"PAR1\xff\xff\xff\x7fPAR1", {}, 415, "unsupported_format", "intact Parquet"),
    "compression bomb": (BOMB, {"Content-Encoding": "gzip"}, 413, "payload_too_large", "once unpacked"),
    "cut off gzip": (BOMB[:-9], {}, 415, "unsupported_format", "intact gzip"),
    "spreadsheet": (b"PK\x03\x04" + bytes(60), {}, 415, "unsupported_format", "spreadsheet"),
    "unknown packing": (HEADER + GOOD, {"Content-Encoding": "br"}, 415, "unsupported_format", "gzip, zstd or none"),
}


@pytest.fixture
def little_room(published: Published) -> Iterator[Published]:
    """Uploads of at most twelve megabytes."""
    uploads = published.world.runtime.uploads
    before, uploads.bytes_max = uploads.bytes_max, LIMIT
    yield published
    uploads.bytes_max = before


async def declared(service: Service, name: str) -> str:
    columns = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
    body = {"name": name, "columns": columns, "budget": {"epsilon": 1, "delta": 1e-6}, "source": {"kind": "upload"}}
    return str((await service.expect(201, "steward", "POST", "/datasets", body))["id"])


def files(published: Published) -> set[str]:
    return {path.name for path in published.world.runtime.uploads.root.iterdir()}


@pytest.mark.slow
async def test_every_dirty_file_is_refused_clearly_and_leaves_nothing(little_room: Published) -> None:
    service = little_room.service
    dataset = await declared(service, f"dirty {id(little_room)}")
    before, untouched = files(little_room), await service.expect(200, "steward", "GET", f"/datasets/{dataset}")
    for name, (body, headers, status, code, told) in CORPUS.items():
        for check in ("false", "true"):
            with structlog.testing.capture_logs() as logs:
                answer = await service.call(
                    "steward", "PUT", f"/datasets/{dataset}/data?check={check}", content=body, headers=headers
                )
            problem = answer.json()
            assert (answer.status_code, problem["code"]) == (status, code), (name, problem)
            assert told in problem["detail"], (name, problem["detail"])
            assert "line " not in str(logs), name
        assert files(little_room) - before == set(), name
    assert await service.expect(200, "steward", "GET", f"/datasets/{dataset}") == untouched


@pytest.mark.slow
async def test_a_check_says_what_the_upload_says_and_stores_nothing(service: Service, published: Published) -> None:
    dataset = await declared(service, "checked")
    where, before = f"/datasets/{dataset}/data", files(published)

    async def put(body: bytes, query: str) -> Any:
        answer = await service.call("steward", "PUT", where + query, content=body)
        return answer.status_code, {key: value for key, value in answer.json().items() if key != "instance"}

    bad = HEADER + GOOD + b"Jein,2\n" * 14 + b"1,1d\n"
    assert await put(bad, "?check=true") == await put(bad, "")
    status, problem = await put(bad, "?check=true")
    assert status == 422
    assert [(fault["column"], fault["cells"], fault["lines"]) for fault in problem["columns"]] == [
        ("cured", 14, [5, 6, 7]),
        ("days", 1, [19]),
    ]
    assert problem["columns"][0]["text"] in problem["detail"]
    good = HEADER + GOOD
    none: dict[str, Any] = {"ignored_columns": [], "missing": {}, "outside": {}}
    checked = {"dataset": dataset, "rows": 3, "people": 3, "clipped_people": 0, "stored": False} | none
    assert await put(good, "?check=true") == (200, checked)
    seen = await service.expect(200, "steward", "GET", f"/datasets/{dataset}")
    assert (seen["data"], seen["n"]) == ("none", None)
    assert files(published) - before == set()
    assert await put(good, "") == (200, checked | {"stored": True})
    for who in ("ada", "wall", "eve"):
        assert (await service.call(who, "PUT", where + "?check=true", content=good)).status_code == 403


async def test_how_a_file_is_written_can_be_said_in_headers_or_in_the_query(service: Service) -> None:
    dataset = await declared(service, "written")
    where = f"/datasets/{dataset}/data?check=true"
    rows = "days;cured\n2;1\n"
    for query, headers, body in (
        ("", {"Content-Type": "text/csv; charset=windows-1252"}, rows.encode("cp1252")),
        ("&charset=utf-16&separator=semicolon", {"Content-Type": "text/csv"}, rows.encode("utf-16")),
        ("", {"Content-Type": "text/csv", "Content-Encoding": "gzip"}, gzip.compress(rows.encode())),
        ("&separator=pipe", {}, rows.replace(";", "|").encode()),
    ):
        answer = await service.expect(200, "steward", "PUT", where + query, content=body, headers=headers)
        assert (answer["rows"], answer["stored"]) == (1, False)
    assert (await service.call("steward", "PUT", where + "&separator=dot", content=b"")).status_code == 422
    assert (await service.call("steward", "PUT", where + "&charset=x", content=b"")).status_code == 415
