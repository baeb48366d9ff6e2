"""What a cell that is missing, outside or spelled otherwise counts as: the same from CSV, Parquet and Arrow, and told once."""

import csv
import io
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import Column, PrivacyUnit, parse_columns
from app.sources.data_key import SALT_BYTES, DataKey
from app.sources.duckdb_rows import UploadReport
from app.sources.files import UNDECLARED, prepared
from app.sources.kept_rows import check_and_keep
from app.sources.sealed_files import unseal
from app.sources.typed_rows import stored_names
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import MakeReader

POLICIES = {
    "cured": {"type": "binary", "true": ["Y", "geheilt"], "false": ["n"], "missing": {"value": False}},
    "arm": {"type": "categorical", "levels": {"drug": ["d", "1"], "placebo": ["p", "2"]}, "fold_case": True},
    "ward": {"type": "categorical", "levels": ["Süd", "unknown", "other"], "outside": "other", "missing": "group"},
    "days": {"type": "real", "lower": 0, "upper": 30, "missing": {"value": 7.5}, "missing_spellings": ["-9"]},
    "visits": {"type": "integer", "lower": 0, "upper": 40, "missing": "group"},
}
SENT: dict[str, list[str]] = {
    "cured": ["Yes", "FALSE", " y ", "N", "Geheilt", "", "1.0"],
    "arm": ["DRUG", " D", "Placebo ", "2", "1", "p", "d"],
    "ward": ["Süd", "SÜD", "NA", "null", "Nord", "unknown", ""],
    "days": ["31", "-9.0", "-8", "NaN", "1e300", " 2.50 ", "-9"],
    "visits": ["5.0", "1e1", "99999999999999999999", "-3", "na", "+7", ""],
}
KEPT: dict[str, list[Any]] = {
    "cured": [True, False, True, False, True, False, True],
    "arm": ["drug", "drug", "placebo", "placebo", "drug", "placebo", "drug"],
    "ward": ["Süd", "other", None, None, "other", "unknown", None],
    "days": [30.0, 7.5, 0.0, 7.5, 30.0, 2.5, 7.5],
    "visits": [5, 10, 40, 0, None, 7, None],
}


def written(folder: Path, table: dict[str, list[Any]]) -> dict[str, Path]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    (folder / "rows.csv").write_text(text.getvalue())
    pq.write_table(pa.table(table), folder / "rows.parquet")
    coded = {name: pa.array(cells).dictionary_encode() for name, cells in table.items()}
    pq.write_table(pa.table(coded), folder / "coded.parquet")
    for name, cells in (("rows.arrow", pa.table(table)), ("coded.arrow", pa.table(coded))):
        with pa.ipc.new_file(str(folder / name), cells.schema) as writer:
            writer.write_table(cells)
    return {path.stem + path.suffix: path for path in folder.glob("*.*")}


def kept(path: Path, store: UploadStore, columns: dict[str, Column]) -> tuple[UploadReport, dict[str, list[Any]]]:
    """The report, and the values that a release would read."""
    key, unit, salt = DataKey("0" * 64), PrivacyUnit(), bytes(SALT_BYTES)
    with store.begin("ds_1") as partial, prepared(path, UNDECLARED, stored_names(columns, unit), store) as ready:
        how = {"uploads": store, "separator": ready.separator, "unquoted": ready.unquoted}
        report = check_and_keep(ready.path, ready.file_format, columns, unit, None, partial, key, salt, **how)
        name = partial.finish()
    sealed = store.path(name)
    assert sealed is not None
    plain = path.with_suffix(".kept")
    unseal(sealed, plain, key)
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT * FROM read_parquet('{plain}')").fetchall()
    plain.unlink()
    return report, {name: [row[place] for row in rows] for place, name in enumerate(sorted(columns))}


@pytest.fixture(scope="module")
def columns() -> dict[str, Column]:
    return parse_columns(POLICIES)


def test_every_spelling_and_policy_gives_the_same_values_from_every_form(
    tmp_path: Path, store: UploadStore, columns: dict[str, Column]
) -> None:
    (tmp_path / "files").mkdir()
    for path in written(tmp_path / "files", SENT).values():
        report, values = kept(path, store, columns)
        assert values == KEPT, path.name
        assert report.missing == {"cured": 1, "ward": 3, "days": 3, "visits": 2}
        assert report.outside == {"ward": 2, "days": 3, "visits": 2}


def test_stored_numbers_nulls_and_codes_count_as_their_texts_do(
    tmp_path: Path, store: UploadStore, columns: dict[str, Column]
) -> None:
    table = {
        "cured": pa.array([True, None, False]),
        "arm": pa.array([1, 2, 1], pa.int8()),
        "ward": pa.array(["Süd", None, "Nord"]),
        "days": pa.array([-9.0, float("nan"), 99.0]),
        "visits": pa.array([5.0, None, 41.0]),
    }
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    report, values = kept(tmp_path / "rows.parquet", store, columns)
    assert values == {
        "cured": [True, False, False],
        "arm": ["drug", "placebo", "drug"],
        "ward": ["Süd", None, "other"],
        "days": [7.5, 7.5, 30.0],
        "visits": [5, None, 40],
    }
    assert report.missing == {"cured": 1, "ward": 1, "days": 2, "visits": 1}


def test_counts_of_an_upload_do_not_print(tmp_path: Path, store: UploadStore, columns: dict[str, Column]) -> None:
    (tmp_path / "files").mkdir()
    report, _ = kept(written(tmp_path / "files", SENT)["rows.csv"], store, columns)
    assert repr(report) == "UploadReport(private)"


def test_a_level_named_like_a_missing_cell_is_a_level(make_reader: MakeReader) -> None:
    spec = {"type": "categorical", "levels": ["NA", "EU"]}
    reader = make_reader(parse_columns({"region": spec}))
    assert reader.check("region\nNA\nEU\n").missing == {}
    assert reader.problems("region\nNA\nna\n")[0][:2] == (3, "region")


def test_the_person_is_never_cut_to_bounds(make_reader: MakeReader) -> None:
    reader = make_reader(parse_columns({"id": {"type": "integer", "lower": 0, "upper": 9}, "x": {"type": "binary"}}))
    unit = PrivacyUnit("id", 1)
    assert reader.check("id,x\n1,1\n9,0\n", unit).people == 2
    assert reader.problems("id,x\n10,1\n11,1\n", unit)[0] == (2, "id", "a whole number from 0 to 9")


@pytest.mark.parametrize("text", ["1e400", "-1e400", "inf", "abc", "2.5", "0x10", "1,5"])
def test_what_is_no_number_is_refused_whatever_the_policies(make_reader: MakeReader, text: str) -> None:
    reader = make_reader(parse_columns({"visits": POLICIES["visits"]}))
    assert reader.problems(f'visits\n"{text}"\n')[0][:2] == (2, "visits")


def test_spellings_that_read_as_sql_are_only_spellings(make_reader: MakeReader) -> None:
    hostile = ["'", "''", "');--", "$key", "\\'", '"', "%", "{}", "NULL::VARCHAR", "ENUM('a')", "]", "]['x'"]
    spec = {"type": "categorical", "levels": {"a'b": hostile, "other');--": []}, "outside": {"level": "other');--"}}
    reader = make_reader(parse_columns({'x"); --': spec}))
    quoted = ['"' + text.replace('"', '""') + '"' for text in ('x"); --', *hostile, "'); DROP TABLE t; --")]
    report = reader.check("\n".join(quoted) + "\n")
    assert report.outside == {'x"); --': 1}
