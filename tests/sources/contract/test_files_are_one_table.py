"""Rows cut into files, in partitions and formats, give the integers of the one file they were cut from."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit
from app.errors import DataMissing, InvalidInput, InvalidRows, InvalidSchema
from app.sources.engine import Limits
from app.sources.files.found_files import FILES_EXPECTED, resolve_files
from app.sources.files.many_files import ManyFiles
from app.sources.source_spec import parse_source
from app.sources.uploads import UploadStore
from tests.sources.contract.engines import KEY, DuckParquet, answers, plain
from tests.sources.contract.mixed_rows import COLUMNS, ODD, ONE_ROW, REQUESTS, THREE_ROWS, dirty_rows

ROWS = 800
ASKED = {name: REQUESTS[name] for name in ("real", "network by groups", "regression", "several")}


def lake(folder: Path, unit: PrivacyUnit, rows_max: int | None = None, people: int | None = None) -> ManyFiles:
    store = UploadStore(folder / "store")
    return ManyFiles(lambda: resolve_files("lake", [folder]), COLUMNS, unit, store, Limits(), rows_max, people)


def write(path: Path, rows: Mapping[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in rows.items()})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=60)
    else:
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(quoting_style="needed"))


def cut(rows: Mapping[str, list[Any]], places: list[int], without: str = "") -> dict[str, list[Any]]:
    return {name: [cells[place] for place in places] for name, cells in rows.items() if name != without}


@pytest.mark.slow
@pytest.mark.parametrize("unit", [PrivacyUnit(), ONE_ROW, THREE_ROWS], ids=["everyone", "one row", "three rows"])
def test_a_partitioned_lake_of_mixed_formats_is_the_one_file(unit: PrivacyUnit, tmp_path: Path) -> None:
    rows = dirty_rows(ROWS)
    rows["arm"] = [cell or "drug" for cell in rows["arm"]]
    order = [*range(ROWS)]
    random.Random(5).shuffle(order)
    arms = sorted(set(rows["arm"]))
    for place, arm in enumerate(arms):
        held = [each for each in order if rows["arm"][each] == arm]
        name = f"lake/arm={quote(arm, safe='')}/"
        for half, suffix in enumerate((".parquet", (".csv", ".arrow", ".parquet")[place % 3])):
            write(tmp_path / f"{name}{half}{suffix}", cut(rows, held[half::2], without="arm"))
    (tmp_path / "lake" / "_SUCCESS").touch()
    wanted = answers(DuckParquet(tmp_path).open(rows, unit, "rows"), ASKED)
    assert answers(lake(tmp_path, unit), ASKED) == wanted


def test_what_is_wrong_with_files_is_told_by_column(tmp_path: Path) -> None:
    rows = dirty_rows(20)
    write(tmp_path / "lake" / "a.parquet", rows)
    pq.write_table(pa.table({**rows, "dose": pa.array([1.5] * 20)}), tmp_path / "lake" / "b.parquet")
    with pytest.raises(InvalidRows) as caught:
        lake(tmp_path, PrivacyUnit()).validate(None)
    assert [(row.column, row.expected) for row in caught.value.rows] == [("dose", "one type in all files")]
    with pytest.raises(DataMissing):
        lake(tmp_path, PrivacyUnit()).statistic(REQUESTS["real"], KEY)
    write(tmp_path / "lake" / "b.parquet", cut(rows, [*range(20)], without=ODD))
    with pytest.raises(InvalidRows, match="declared column in the file"):
        lake(tmp_path, PrivacyUnit()).validate(None)


def test_a_limit_of_rows_is_of_all_files_together(tmp_path: Path) -> None:
    rows = {name: [cells[0]] * 30 for name, cells in GOOD.items()}
    for name in ("a", "b"):
        write(tmp_path / "lake" / f"{name}.parquet", rows)
    assert lake(tmp_path, PrivacyUnit(), 60).validate(60).rows == 60
    with pytest.raises(InvalidInput, match="rows_max"):
        lake(tmp_path, PrivacyUnit(), 59).validate(None)
    with pytest.raises(DataMissing, match="rows_max"):
        lake(tmp_path, PrivacyUnit(), 59).statistic(REQUESTS["real"], KEY)
    assert plain(lake(tmp_path, PrivacyUnit(), 60).statistic(REQUESTS["real"], KEY))["rows"] == 60


def test_a_file_of_other_people_withdraws(tmp_path: Path) -> None:
    rows = {name: [cells[0]] * 3 for name, cells in GOOD.items()} | {"who": ["a", "a", "b"]}
    write(tmp_path / "lake" / "a.parquet", rows)
    assert plain(lake(tmp_path, ONE_ROW, people=2).statistic(REQUESTS["real"], KEY))["rows"] == 2
    write(tmp_path / "lake" / "b.parquet", rows)
    assert plain(lake(tmp_path, ONE_ROW, people=2).statistic(REQUESTS["real"], KEY))["rows"] == 2
    write(tmp_path / "lake" / "b.parquet", rows | {"who": ["a", "a", "c"]})
    with pytest.raises(DataMissing, match="another number of people"):
        lake(tmp_path, ONE_ROW, people=2).statistic(REQUESTS["real"], KEY)


GOOD: dict[str, list[Any]] = {
    "who": ["a"],
    "cured": ["1"],
    "arm": ["drug"],
    ODD: ["a b"],
    "site": ["site 1"],
    "age": ["40"],
    "dose": ["1"],
    "score": ["1"],
    "tiny": ["0"],
    "day": ["2020-01-01"],
    "price": ["2,5"],
    "left": ["1.3.2020"],
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("root/a/x=1/1.csv", "root/a/x=2/2.csv", "root/a/.hidden/3.csv", "outside/4.csv", "root/b/5.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a\n1\n")
    (tmp_path / "root/b/link.csv").symlink_to(tmp_path / "outside/4.csv")
    (tmp_path / "root/near").symlink_to(tmp_path / "root/a")
    (tmp_path / "root/c").mkdir()
    (tmp_path / "root/c/out").symlink_to(tmp_path / "outside")
    return tmp_path / "root"


@pytest.mark.parametrize("path", ["a", "a/*/*.csv", "a/**/*.csv", "a/**", "a/x=?/?.csv", "a/**/?.csv"])
def test_a_pattern_means_plain_files_in_plain_directories(root: Path, path: str) -> None:
    found = resolve_files(path, [root])
    assert [each.path.name for each in found] == ["1.csv", "2.csv"]
    assert [dict(each.partition) for each in found] == [{"x": "1"}, {"x": "2"}]


@pytest.mark.parametrize(
    "path",
    [
        "b",
        "b/*",
        "b/link.csv",
        "near",
        "near/*/1.csv",
        "c",
        "c/out/4.csv",
        "**",
        "*",
        "../outside",
        "a/../../outside/*",
        "/etc",
        "/etc/*",
        "nothing",
        "a/nothing*",
        "a\\b",
        "a/[x]*",
        "a/***",
        "a/\n",
        "",
        ".",
        "a/.hidden/3.csv/..",
    ],
)
def test_links_and_ways_out_are_refused_in_one_sentence(root: Path, path: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        parse_source({"kind": "files", "path": path}, [root])
    if path:
        assert caught.value.problems[0].expected == FILES_EXPECTED
