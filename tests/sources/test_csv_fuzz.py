"""Random cells, random quoting: the engine and a plain Python reader agree on every line."""

import math
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.schema import Column
from app.errors import InvalidRows
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import Reader

NASTY = ["", " ", "nan", "inf", "-inf", "1e999", "-0", "0x1p3", "1_0", "1,5", '"', '""', '""""', "''", "#", "\\", "٣"]
NASTY += ["1e5", "1E-5", ".5", "5.", "+.5e+1", "00", "-00012", "true ", "TRUE", "drug ", "null", "\\N", "é", "1.", "-"]
FINE = [
    "0",
    "1",
    "true",
    "false",
    "drug",
    "placebo",
    "3.5",
    "40",
    "-3",
    "365",
    "365.1",
    "-1.5",
    '"drug"',
    '"a ""b"", c"',
]
cells = st.one_of(
    st.sampled_from(FINE),
    st.sampled_from(NASTY),
    st.text(alphabet='01-.eE+ ",\t_xé' + string.ascii_lowercase[:4], max_size=8),
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
)
good_lines = st.tuples(
    st.sampled_from(["0", "1", "true", "false", '"1"']),
    st.sampled_from(["drug", "placebo", '"drug"', '"a ""b"", c"']),
    st.floats(-1.5, 365).map(repr),
    st.integers(-3, 40).map(str),
).map(",".join)
near_lines = st.tuples(good_lines, st.integers(0, 3), cells).map(
    lambda made: ",".join([*made[0].split(",")[: made[1]], made[2], *made[0].split(",")[made[1] + 1 :]])
)
any_lines = st.lists(cells, min_size=1, max_size=6).map(",".join)
files = st.lists(st.one_of(good_lines, near_lines, any_lines), min_size=1, max_size=30)


def split(line: str) -> list[str] | None:
    """RFC 4180 on one line, a character at a time; None where it does not apply."""
    cells, position = [], 0
    while True:
        cell = ""
        if line[position : position + 1] == '"':
            position += 1
            while True:
                if position >= len(line):
                    return None
                if line[position] != '"':
                    cell += line[position]
                    position += 1
                elif line[position + 1 : position + 2] == '"':
                    cell += '"'
                    position += 2
                else:
                    position += 1
                    break
        else:
            while position < len(line) and line[position] != ",":
                if line[position] == '"':
                    return None
                cell += line[position]
                position += 1
        cells.append(cell)
        if position == len(line):
            return cells
        if line[position] != ",":
            return None
        position += 1


YES, NO = {"true", "yes", "1", "1.0"}, {"false", "no", "0", "0.0"}


def bare(cell: str) -> str:
    return cell.strip(" \t\u00a0")


def allowed(column: Column, cell: str) -> bool:
    cell = bare(cell)
    if column.type == "binary":
        return cell.lower() in YES | NO
    if column.type == "categorical":
        return cell in column.levels
    assert column.lower is not None
    assert column.upper is not None
    if set(cell) - set("0123456789+-.eE"):
        return False
    try:
        value = float(cell)
    except ValueError:
        return False
    whole = column.type == "real" or value.is_integer()
    return math.isfinite(value) and whole and column.lower <= value <= column.upper


def reference(lines: list[str], columns: dict[str, Column]) -> list[tuple[int, str]]:
    problems = []
    for number, line in enumerate(lines, start=2):
        found = split(line) if line else None
        if found is None or len(found) != len(columns):
            problems.append((number, "*"))
            continue
        checks = zip(columns.values(), found, strict=True)
        problems += [(number, column.name) for column, cell in checks if not allowed(column, cell)]
    return problems[:20]


def verdict(reader: Reader, rows: str) -> list[tuple[int, str]] | int:
    """Where the problems are, or how many rows were taken."""
    try:
        return reader.check(rows).rows
    except InvalidRows as error:
        return [(problem.line, problem.column) for problem in error.rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=files, end=st.sampled_from(["\n", "\r\n"]), final=st.booleans())
def test_engine_and_reference_refuse_the_same_cells(
    folder: Path, columns: dict[str, Column], lines: list[str], end: str, final: bool
) -> None:
    final = final or lines[-1] == ""
    reader = Reader(folder, UploadStore(folder / "uploads"), columns)
    rows = end.join([",".join(columns), *lines]) + (end if final else "")
    wanted = reference(lines, columns)
    assert verdict(reader, rows) == (wanted or len(lines))
    ones = [split(line) for line in lines]
    total = sum(cells is not None and bare(cells[0]).lower() in YES for cells in ones)
    found = reader.sum(rows)
    assert (found.total, found.rows) == (total, len(lines))
