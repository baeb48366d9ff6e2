"""An upload that does not fit explains itself: all columns in one go, counts and lines, policies and never a bound."""

import json
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit
from app.errors import ColumnFault, InvalidRows
from tests.sources.rows_under_test import Reader

HEADER = "cured,arm,days,visits\n"
GOOD = "1,drug,3.5,4\n"


def faults(reader: Reader, rows: str, unit: PrivacyUnit | None = None) -> list[ColumnFault]:
    with pytest.raises(InvalidRows) as caught:
        reader.check(rows, unit)
    return list(caught.value.columns)


def test_faults_of_all_columns_are_told_in_one_go_by_kind_with_counts_and_first_lines(reader: Reader) -> None:
    rows = GOOD * 5 + "Jein,Drug,x,4\n" * 14 + ",,,\n" + "1,drug,400,4.5\n" * 2 + "1,drug\n" + "0,drug,1e400,41\n"
    found = faults(reader, HEADER + rows)
    assert [(fault.column, fault.fault, fault.cells, fault.lines) for fault in found] == [
        ("*", "shape", 1, (24,)),
        ("cured", "missing", 1, (21,)),
        ("cured", "spelling", 14, (7, 8, 9)),
        ("arm", "missing", 1, (21,)),
        ("arm", "spelling", 14, (7, 8, 9)),
        ("days", "missing", 1, (21,)),
        ("days", "outside", 2, (22, 23)),
        ("days", "spelling", 15, (7, 8, 9)),
        ("visits", "missing", 1, (21,)),
        ("visits", "outside", 1, (25,)),
        ("visits", "fraction", 2, (22, 23)),
    ]


def test_the_sentence_names_column_count_line_expectation_and_policy(reader: Reader) -> None:
    (fault,) = faults(reader, HEADER + GOOD * 5 + "1,Drug,1,1\n" * 14)
    assert fault.text == (
        "column `arm`: 14 cells are none of the declared levels, first at line 7; expected one of the declared levels, "
        "spelled exactly, such as drug; declare a spelling, `fold_case` if only capitals differ, or `outside: other`"
    )
    (lonely,) = faults(reader, HEADER + GOOD + "1,drug\n")
    assert lonely.text.startswith("1 record is not of the shape of the header, at line 3; expected 4 cells")


def test_advice_is_a_policy_and_nothing_told_is_computed_from_a_cell(reader: Reader) -> None:
    found = faults(reader, HEADER + "Jein,Kanarie,412.75,99\n-7.25,x,-99.5,-88\n")
    told = json.dumps([asdict(fault) | {"text": fault.text} for fault in found])
    for cell in ("Jein", "Kanarie", "412.75", "99", "-7.25", "-99.5", "-88"):
        assert cell not in told
    assert "`outside: clip`" in told
    assert "bounds come from public knowledge" in told


def test_people_without_identifier_are_told_by_column_too(reader: Reader) -> None:
    found = faults(reader, "patient," + HEADER + f"a\tb,{GOOD}b,{GOOD},{GOOD}", PrivacyUnit("patient", 2))
    assert [(fault.column, fault.fault, fault.cells) for fault in found] == [
        ("patient", "missing", 1),
        ("patient", "spelling", 1),
    ]


def test_parquet_faults_are_told_as_those_of_csv_are(reader: Reader) -> None:
    path = reader.folder / "rows.parquet"
    table = {
        "cured": pa.array([True, None, False]),
        "arm": pa.array(["drug", "Drug", None]),
        "days": pa.array([float("nan"), 400.0, 1.0]),
        "visits": pa.array([1, 41, None], pa.int16()),
    }
    pq.write_table(pa.table(table), path)
    with pytest.raises(InvalidRows) as caught:
        reader.check(path)
    assert [(fault.column, fault.fault, fault.lines) for fault in caught.value.columns] == [
        ("cured", "missing", (2,)),
        ("arm", "missing", (3,)),
        ("arm", "spelling", (2,)),
        ("days", "missing", (1,)),
        ("days", "outside", (2,)),
        ("visits", "missing", (3,)),
        ("visits", "outside", (2,)),
    ]
