"""Declared sources: the default, files below a root, and every way out of it."""

import os
import socket
from pathlib import Path

import pytest

from app.core.schema import Column, PrivacyUnit
from app.core.statistics.sums import StatisticRequest
from app.errors import DataMissing, InvalidInput, InvalidSchema, Unavailable, UnsupportedFormat
from app.sources.source_spec import SOURCE_SPECS, SourceSpec, parse_source
from app.sources.sources import SOURCES, RowSource, SourceContext, open_source
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import KEY

ROWS = b"cured,arm,days,visits\n1,drug,3.5,4\n0,placebo,1,2\n1,drug,0,0\n"
CURED = StatisticRequest("cured")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "trial.csv").write_bytes(ROWS)
    (tmp_path / "root" / "sub" / "trial.csv").write_bytes(ROWS)
    (tmp_path / "outside.csv").write_bytes(ROWS)
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "trial.csv").write_bytes(ROWS)
    return tmp_path / "root"


@pytest.fixture
def context(columns: dict[str, Column], store: UploadStore, root: Path) -> SourceContext:
    with store.begin("ds_a") as upload:
        upload.write(ROWS)
        name = upload.finish()
    return SourceContext(columns, PrivacyUnit(), store, name, (root,))


def test_default_is_an_upload_that_is_not_retained() -> None:
    assert parse_source(None).as_json() == {"kind": "upload", "retain": False}
    assert parse_source({"kind": "upload"}) == SourceSpec("upload")
    assert parse_source({"kind": "upload", "retain": True}).retain


@pytest.mark.parametrize(
    "spec",
    [
        {},
        [],
        "upload",
        {"kind": "s3"},
        {"kind": ["upload"]},
        {"kind": "upload", "retain": 1},
        {"kind": "upload", "retain": None},
        {"kind": "upload", "path": "x"},
        {"kind": "file"},
        {"kind": "file", "path": "trial.csv", "retain": False},
        {"kind": "file", "path": "trial.csv", "rows_max": 0},
        {"kind": "file", "path": "trial.csv", "rows_max": None},
        {"kind": "file", "path": "trial.csv", "rows_max": 2.5},
        {"kind": "upload", "rows_max": 5},
    ],
)
def test_anything_else_is_refused(root: Path, spec: object) -> None:
    with pytest.raises(InvalidSchema):
        parse_source(spec, [root])


def test_files_need_a_root() -> None:
    with pytest.raises(InvalidSchema):
        parse_source({"kind": "file", "path": "trial.csv"}, [])


@pytest.mark.parametrize("path", ["trial.csv", "sub/trial.csv", "./sub/trial.csv"])
def test_files_below_a_root_are_found(root: Path, tmp_path: Path, path: str) -> None:
    spec = parse_source({"kind": "file", "path": path}, [tmp_path / "absent", root])
    assert spec.as_json() == {"kind": "file", "path": path}


@pytest.mark.parametrize(
    "path",
    [
        "../outside.csv",
        "sub/../../outside.csv",
        "sub/../trial.csv",
        "../root-twin/trial.csv",
        "/etc/passwd",
        "absent.csv",
        "sub",
        ".",
        "",
        "*.csv",
        "trial.cs?",
        "[t]rial.csv",
        "trial.csv\x00",
        "trial.csv/x",
        "x" * 2000,
        "sub\\trial.csv",
        "link-out.csv",
        "link-dir/outside.csv",
        "loop",
        "fifo",
        "socket",
        "null",
        7,
        None,
        ["trial.csv"],
    ],
)
def test_ways_out_and_things_that_are_not_files_are_refused_alike(root: Path, path: object) -> None:
    (root / "link-out.csv").symlink_to(root.parent / "outside.csv")
    (root / "link-dir").symlink_to(root.parent)
    (root / "loop").symlink_to(root / "loop")
    (root / "null").symlink_to("/dev/null")
    os.mkfifo(root / "fifo")
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(root)  # the address of a socket is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        with pytest.raises(InvalidSchema) as caught:
            parse_source({"kind": "file", "path": path}, [root])
    assert caught.value.problems[0].expected == "the relative path of a regular file below an allowed root"


def test_link_that_stays_below_its_root_is_followed(root: Path, context: SourceContext) -> None:
    (root / "link.csv").symlink_to("sub/trial.csv")
    source = open_source(parse_source({"kind": "file", "path": "link.csv"}, [root]), context)
    assert source.validate(3).people == 3


@pytest.mark.parametrize("spec", [{"kind": "upload"}, {"kind": "file", "path": "trial.csv"}])
def test_every_kind_validates_and_sums_the_same_rows(context: SourceContext, spec: dict[str, str]) -> None:
    source: RowSource = open_source(parse_source(spec, context.roots), context)
    assert source.validate(3).rows == 3
    found = source.statistic(CURED, KEY)
    assert (found.total, found.rows) == (2, 3)


def test_registry_lists_every_kind() -> None:
    assert set(SOURCES) == set(SOURCE_SPECS) == {"upload", "file", "files", "postgresql", "statistics"}


def test_upload_that_was_wiped_is_missing(context: SourceContext) -> None:
    assert context.upload_name is not None
    context.uploads.wipe(context.upload_name)
    source = open_source(SourceSpec("upload"), context)
    for call in (lambda: source.validate(None), lambda: source.statistic(CURED, KEY)):
        with pytest.raises(DataMissing):
            call()


def test_file_swapped_for_a_way_out_after_declaration_is_missing(root: Path, context: SourceContext) -> None:
    source = open_source(SourceSpec("file", path="trial.csv"), context)
    (root / "trial.csv").unlink()
    (root / "trial.csv").symlink_to(root.parent / "outside.csv")
    with pytest.raises(DataMissing):
        source.statistic(CURED, KEY)


def test_file_that_turned_into_something_else_is_missing(root: Path, context: SourceContext) -> None:
    source = open_source(SourceSpec("file", path="trial.csv"), context)
    (root / "trial.csv").write_bytes(b"\x1f\x8b")
    with pytest.raises(DataMissing):
        source.statistic(CURED, KEY)
    with pytest.raises(UnsupportedFormat):
        source.validate(None)


def test_data_directory_that_reads_as_a_pattern_is_refused(tmp_path: Path, columns: dict[str, Column]) -> None:
    store = UploadStore(tmp_path / "a[b]*")
    with store.begin("ds_a") as upload:
        upload.write(ROWS)
        name = upload.finish()
    with pytest.raises(Unavailable):
        open_source(SourceSpec("upload"), SourceContext(columns, PrivacyUnit(), store, name)).validate(None)


def test_a_file_with_more_rows_than_it_declares_is_refused_and_one_that_grew_is_not_read(
    root: Path, context: SourceContext
) -> None:
    def source(rows_max: int) -> RowSource:
        return open_source(parse_source({"kind": "file", "path": "trial.csv", "rows_max": rows_max}, [root]), context)

    assert source(3).validate(None).rows == 3
    assert source(3).statistic(CURED, KEY).rows == 3
    with pytest.raises(InvalidInput, match="rows_max"):
        source(2).validate(None)
    with pytest.raises(DataMissing, match="rows_max"):
        source(2).statistic(CURED, KEY)
    assert parse_source({"kind": "file", "path": "trial.csv", "rows_max": 9}, [root]).as_json()["rows_max"] == 9
