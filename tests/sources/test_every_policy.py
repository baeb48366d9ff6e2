"""Every combination of policies and spellings that a column can declare, from every form a file can have: the same values.

What a cell should count as is said here a second time, in plain Python. What is refused is refused from every form with the same
number of cells, and stands for another in the rows that are kept. `make test` has one form, `make test-deep` all of them.
"""

import csv
import datetime
import gzip
import io
import math
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit, parse_columns
from app.errors import InvalidRows
from app.sources.duckdb_rows import validate
from app.sources.files import UNDECLARED, prepared
from app.sources.rehearsal_rows import write_rehearsal
from app.sources.typed_rows import stored_names
from app.sources.uploads import UploadStore
from tests.deep import deep
from tests.sources.test_cell_policies import kept

GONE, REFUSED = "gone", "refused"
MISSING = ("", "na", "nan", "null")

NOTHING = "||NA|NaN|Null|-9|unbekannt"
TEXTS = {
    "binary": "1|Yes|no| TRUE |0.0|Y|geheilt|GEHEILT|n|maybe|2",
    "categorical": "drug|DRUG| drug\t|d|D|Süd|SÜD|none|drugs|0|1|dr ug",
    "integer": "7|+7|5.0|1e1|-0|40|41|-3|1e300|99999999999999999999|-9.0|5.5|x|7,0| 8 ",
    "real": "7|2.50|-0|.5|5.|1e-5|40.0001|-1e300|-9.00|0x1|inf|1,5|1.234,5|1.030,25e-2|12.34,5|1.234|\u00a08\t",
    "date": "2024-02-29|2024-03-01T10:00| 2021-05-06 |1999-12-31 9:15|2024-02-30|1.2.2024|1/2/2024 9:15 PM|31.01.2024|13/13/2024",
}
TEXTS = {kind: (texts + NOTHING).split("|") for kind, texts in TEXTS.items()}
FINE = {"binary": "1", "categorical": "drug", "integer": "7", "real": "7"}
FILLED: dict[str, Any] = {
    "binary": {"value": True},
    "categorical": {"level": "none"},
    "integer": {"value": 3},
    "real": {"value": 2.5},
    "date": {"value": "2020-01-01"},
}
BOUNDED: list[dict[str, Any]] = [
    {"lower": 0, "upper": 40, "outside": outside, "decimal": mark}
    for outside, mark in product(("clip", "refuse"), ("point", "comma"))
]
OWN: dict[str, list[dict[str, Any]]] = {
    "binary": [{}, {"true": ["Y", "Geheilt"], "false": ["n", "2"]}, {"true": ["0"], "false": ["1"]}],
    "categorical": [
        {"levels": levels, "fold_case": fold, "outside": outside}
        for levels, fold, outside in product(
            (
                ["drug", "Süd", "none"],
                {"drug": ["d", "1"], "Süd": ["0"], "none": []},
                ["drug", "Süd", "none", "NA", "NULL"],
            ),
            (False, True),
            ("refuse", {"level": "none"}),
        )
    ],
    "integer": BOUNDED,
    "real": BOUNDED,
    "date": [{}, {"written": "day.month.year"}, {"written": "day/month/year"}, {"written": "month/day/year"}],
}


def every_column() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for kind, own in OWN.items():
        for mine, missing, codes in product(own, ("refuse", "group", FILLED[kind]), ([], ["-9", "unbekannt"])):
            found[f"{kind} {len(found)}"] = {"type": kind, "missing": missing, "missing_spellings": codes} | mine
    return found


COLUMNS = every_column()


def fine(spec: dict[str, Any]) -> str:
    """A text that every such column takes."""
    day = {"day.month.year": "29.02.2024", "day/month/year": "29/02/2024", "month/day/year": "02/29/2024"}
    return FINE.get(spec["type"]) or day.get(spec.get("written", ""), "2024-02-29")


def counted(spec: dict[str, Any], text: str) -> Any:
    """What the cell counts as, `GONE` where it has no value, or `REFUSED`."""
    cell = text.strip(" \t\r\n\u00a0")
    said = _said(spec, cell)
    if said is not None:
        return said
    if cell.lower() in MISSING or cell.lower() in spec["missing_spellings"]:
        return _filled(spec["type"], spec["missing"])
    outside = spec.get("outside", "refuse")
    return outside["level"] if isinstance(outside, dict) else REFUSED


def _filled(kind: str, policy: Any) -> Any:
    if isinstance(policy, str):
        return {"refuse": REFUSED, "group": GONE}[policy]
    value = policy["level"] if "level" in policy else policy["value"]
    return datetime.date.fromisoformat(value) if kind == "date" else value


def _said(spec: dict[str, Any], cell: str) -> Any:
    """None where the text says nothing that this column knows."""
    kind = spec["type"]
    if kind == "binary":
        words = {text.lower(): truth for truth in (True, False) for text in spec.get(str(truth).lower(), [])}
        usual = dict.fromkeys(("true", "yes", "1", "1.0"), True) | dict.fromkeys(("false", "no", "0", "0.0"), False)
        return (usual | words).get(cell.lower())
    if kind == "categorical":
        levels = spec["levels"]
        texts = {
            text: level for level in levels for text in [level, *(levels[level] if isinstance(levels, dict) else [])]
        }
        return (
            {text.lower(): level for text, level in texts.items()}.get(cell.lower())
            if spec["fold_case"]
            else texts.get(cell)
        )
    if kind == "date":
        return _day(spec.get("written", "year-month-day"), cell)
    return _number(spec, cell)


def _day(written: str, cell: str) -> datetime.date | None:
    try:
        if written == "year-month-day":
            return datetime.date.fromisoformat(cell[:10]) if cell[10:11] in ("", "T", " ") else None
        pattern = written.replace("day", "%d").replace("month", "%m").replace("year", "%Y")
        return datetime.datetime.strptime(cell.partition(" ")[0], pattern).date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return None


def _number(spec: dict[str, Any], cell: str) -> Any:
    mark = {"point": ".", "comma": ","}[spec["decimal"]]
    if mark == "," and re.match(r"[+-]?\d{1,3}(\.\d{3})+,", cell):
        cell = cell.replace(".", "")
    if not cell or set(cell) - set(f"0123456789+-{mark}eE"):
        return None
    number = float(cell.replace(mark, "."))
    if any(code.lstrip("-").isdigit() and number == float(code) for code in spec["missing_spellings"]):
        return _filled(spec["type"], spec["missing"])
    whole = spec["type"] == "real" or number.is_integer()
    inside = spec["lower"] <= number <= spec["upper"]
    if not math.isfinite(number) or not whole or (spec["outside"] == "refuse" and not inside):
        return REFUSED
    held = min(max(number, spec["lower"]), spec["upper"])
    return int(held) if spec["type"] == "integer" else held


def as_csv(table: dict[str, list[str]], separator: str = ",", **how: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=how.pop("end", "\n"), delimiter=separator, **how)
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def as_parquet(table: dict[str, list[str]], coded: bool = False) -> bytes:
    target = io.BytesIO()
    pq.write_table(as_table(table, coded), target, row_group_size=5)
    return target.getvalue()


def as_arrow(table: dict[str, list[str]], new: Callable[..., Any], coded: bool = False) -> bytes:
    target, made = io.BytesIO(), as_table(table, coded)
    with new(target, made.schema) as writer:
        writer.write_table(made, max_chunksize=1_000 if new is pa.ipc.new_file else 4)
    return target.getvalue()


def as_table(table: dict[str, list[str]], coded: bool) -> pa.Table:
    arrays = {name: pa.array(cells, pa.large_string() if not coded else pa.string()) for name, cells in table.items()}
    return pa.table({name: array.dictionary_encode() if coded else array for name, array in arrays.items()})


FORMS: dict[str, Callable[[dict[str, list[str]]], bytes]] = {
    "csv": as_csv,
    "csv, all quoted": lambda table: as_csv(table, quoting=csv.QUOTE_ALL),
    "csv, semicolons": lambda table: as_csv(table, ";", end="\r\n"),
    "csv, utf-16": lambda table: as_csv(table, ";").decode().encode("utf-16"),
    "csv, gzip": lambda table: gzip.compress(as_csv(table)),
    "parquet": as_parquet,
    "parquet, coded": lambda table: as_parquet(table, coded=True),
    "arrow file": lambda table: as_arrow(table, pa.ipc.new_file),
    "arrow file, coded": lambda table: as_arrow(table, pa.ipc.new_file, coded=True),
    "arrow stream": lambda table: as_arrow(table, pa.ipc.new_stream),
}
EVERY_FORM = [name if name == "parquet, coded" else deep(name) for name in FORMS]
FAULTY = 40
"""Columns at a time: of more than that not every one is told."""


@pytest.mark.parametrize("form", EVERY_FORM)
def test_every_policy_counts_every_spelling_alike(form: str, tmp_path: Path, store: UploadStore) -> None:
    sent: dict[str, list[str]] = {}
    wanted: dict[str, list[Any]] = {}
    longest = max(map(len, TEXTS.values()))
    for name, spec in COLUMNS.items():
        texts = [text if counted(spec, text) is not REFUSED else fine(spec) for text in TEXTS[spec["type"]]]
        sent[name] = texts + [fine(spec)] * (longest - len(texts))
        wanted[name] = [None if (value := counted(spec, text)) is GONE else value for text in sent[name]]
    path = tmp_path / "rows"
    path.write_bytes(FORMS[form](sent))
    _, values = kept(path, store, parse_columns(COLUMNS))
    assert values == wanted


@pytest.mark.deep
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", range(-(-len(COLUMNS) // FAULTY)))
def test_what_a_policy_refuses_is_refused_from_every_form(
    form: str, part: int, tmp_path: Path, store: UploadStore
) -> None:
    longest = max(map(len, TEXTS.values()))
    asked = dict([*COLUMNS.items()][part * FAULTY : (part + 1) * FAULTY])
    sent = {name: (TEXTS[spec["type"]] * 2)[:longest] for name, spec in asked.items()}
    refused = {name: sum(counted(spec, text) is REFUSED for text in sent[name]) for name, spec in asked.items()}
    path = tmp_path / "rows"
    path.write_bytes(FORMS[form](sent))
    columns, unit = parse_columns(asked), PrivacyUnit()
    with prepared(path, UNDECLARED, stored_names(columns, unit), store) as ready, ready.told_by_line():
        how = {"uploads": store, "separator": ready.separator, "unquoted": ready.unquoted}
        with pytest.raises(InvalidRows) as caught:
            validate(ready.path, ready.file_format, columns, unit, None, **how)
    told: dict[str, int] = {}
    for fault in caught.value.columns:
        told[fault.column] = told.get(fault.column, 0) + fault.cells
    assert told == {name: cells for name, cells in refused.items() if cells}


def test_made_up_rows_are_read_as_their_columns_say_they_are_written(tmp_path: Path, store: UploadStore) -> None:
    columns = parse_columns({name: spec for name, spec in COLUMNS.items() if spec["type"] in ("real", "date")})
    write_rehearsal(tmp_path / "rows", columns, PrivacyUnit(), 20, seed=7)
    report, values = kept(tmp_path / "rows", store, columns)
    assert (report.missing, report.outside) == ({}, {})
    assert all(0 < value < 40 for name, column in values.items() if "real" in name for value in column)
