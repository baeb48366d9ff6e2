"""The same rows in every form a spreadsheet or a library writes them give the same integers; a form that lies is refused."""

import gzip
import io
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import Column, PrivacyUnit
from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import InvalidInput, InvalidRows, PayloadTooLarge, PosternError, UnsupportedFormat
from app.sources.data_key import DataKey
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.files import DeclaredForm, prepared, read_declared
from app.sources.files.arrow_messages import check_sizes
from app.sources.kept_rows import check_and_keep
from app.sources.source_spec import SourceSpec
from app.sources.sources import SourceContext, open_source
from app.sources.uploads import UploadStore

TABLE = {
    "cured": [True, False, True],
    "arm": ["drug", "placebo", 'a "b", c'],
    "days": [1.5, -1.0, 365.0],
    "visits": [0, 40, -3],
}
CSV = 'cured,arm,days,visits\ntrue,drug,1.5,0\nfalse,placebo,-1.0,40\ntrue,"a ""b"", c",365.0,-3\n'
UNIT = PrivacyUnit("patient", 2)
KEY, SALT = DataKey("a secret of thirty-two characters"), bytes(range(16))


@dataclass
class Sent:
    """A file that was sent, and what becomes of it."""

    folder: Path
    store: UploadStore
    columns: dict[str, Column]

    def read(self, body: bytes, form: DeclaredForm = DeclaredForm(), unit: PrivacyUnit = PrivacyUnit()) -> Any:
        return self._through(body, form, unit, self._sum)

    def check(self, body: bytes, form: DeclaredForm = DeclaredForm(), unit: PrivacyUnit = PrivacyUnit()) -> Any:
        return self._through(body, form, unit, self._validate)

    def refusal(self, body: bytes, form: DeclaredForm = DeclaredForm()) -> PosternError:
        with pytest.raises(PosternError) as caught:
            self.check(body, form)
        assert isinstance(caught.value.__context__, InvalidRows | None)
        assert not list(self.store.root.iterdir())
        return caught.value

    def line(self, body: bytes, form: DeclaredForm = DeclaredForm()) -> tuple[int, str]:
        error = self.refusal(body, form)
        assert isinstance(error, InvalidRows), error
        return error.rows[0].line, error.rows[0].column

    def _through(self, body: bytes, form: DeclaredForm, unit: PrivacyUnit, work: Callable[..., Any]) -> Any:
        path = self.folder / "sent"
        path.write_bytes(body)
        names = [*self.columns] if unit.column is None else [*self.columns, unit.column]
        with prepared(path, form, names, self.store) as ready, ready.told_by_line():
            return work(ready, unit)

    def _validate(self, ready: Any, unit: PrivacyUnit) -> UploadReport:
        form = {"separator": ready.separator, "unquoted": ready.unquoted}
        return validate(ready.path, ready.file_format, self.columns, unit, None, uploads=self.store, **form)

    def _sum(self, ready: Any, unit: PrivacyUnit) -> ExactStatistic:
        form, uploads = ready.file_format, self.store
        with uploads.begin("ds_a", limited=False) as kept:
            check_and_keep(
                ready.path,
                form,
                self.columns,
                unit,
                None,
                kept,
                KEY,
                SALT,
                uploads=uploads,
                separator=ready.separator,
                unquoted=ready.unquoted,
            )
            name = kept.finish()
        context = SourceContext(self.columns, unit, uploads, name, data_key=lambda: KEY)
        found = open_source(SourceSpec("upload"), context).statistic(StatisticRequest("cured"), bytes(32))
        uploads.wipe(name)
        return found


@pytest.fixture
def sent(tmp_path: Path, store: UploadStore, columns: dict[str, Column]) -> Sent:
    return Sent(tmp_path, store, columns)


def parquet(table: pa.Table) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


def arrow(table: pa.Table, new: Callable[..., Any] = pa.ipc.new_stream, compression: str | None = None) -> bytes:
    target = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(target, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    return target.getvalue()


def german(text: str) -> str:
    return text.replace('"a ""b"", c"', '"a ""b"", c"').replace(",", ";").replace('""b""; c', '""b"", c')


PLAIN = pa.table(TABLE)
CODED = PLAIN.set_column(1, "arm", PLAIN.column("arm").dictionary_encode())
FORMS: dict[str, tuple[bytes, DeclaredForm]] = {
    "as it is": (CSV.encode(), DeclaredForm()),
    "byte order mark": (CSV.encode("utf-8-sig"), read_declared("text/csv; charset=UTF-8")),
    "semicolons": (german(CSV).encode(), DeclaredForm()),
    "semicolons declared": (german(CSV).encode(), read_declared(separator="semicolon")),
    "pipes declared": (CSV.replace(",", "|").replace("| c", ", c").encode(), read_declared(separator="pipe")),
    "tabs": (german(CSV).replace(";", "\t").encode(), read_declared("text/tab-separated-values")),
    "mixed line ends": (CSV.replace("\n", "\r\n", 2).encode(), DeclaredForm()),
    "utf-16 as spreadsheets write it": (german(CSV).replace(";", "\t").encode("utf-16"), DeclaredForm()),
    "gzip": (gzip.compress(CSV.encode()), read_declared("text/csv", "gzip")),
    "gzip by its bytes, in two members": (
        gzip.compress(CSV[:30].encode()) + gzip.compress(CSV[30:].encode()),
        DeclaredForm(),
    ),
    "zstd": (pa.compress(CSV.encode(), codec="zstd", asbytes=True), read_declared("text/csv", "zstd")),
    "parquet": (parquet(PLAIN), DeclaredForm()),
    "parquet with dictionaries": (parquet(CODED), DeclaredForm()),
    "parquet in gzip": (gzip.compress(parquet(PLAIN)), DeclaredForm()),
    "arrow stream": (arrow(PLAIN), read_declared("application/vnd.apache.arrow.stream")),
    "arrow file": (arrow(CODED, pa.ipc.new_file), read_declared("application/vnd.apache.arrow.file")),
    "arrow stream, packed": (arrow(CODED, compression="zstd"), DeclaredForm()),
    "arrow file, packed": (arrow(PLAIN, pa.ipc.new_file, "lz4"), DeclaredForm()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_the_same_rows_gives_the_same_integers(sent: Sent, name: str) -> None:
    found = sent.read(*FORMS[name])
    assert (found.total, found.rows) == (2, 3)
    assert not list(sent.store.root.iterdir())


def test_declared_latin_text_is_read_and_undeclared_is_refused_by_line(sent: Sent, columns: dict[str, Column]) -> None:
    sent.columns = {"arm": Column("arm", "categorical", levels=("für", "gegen"))}
    body = "arm\ngegen\nfür\n".encode("latin-1")
    for content_type in ("text/csv; charset=ISO-8859-1", 'text/csv; charset="windows-1252"'):
        assert sent.check(body, read_declared(content_type)).rows == 2
    assert sent.check(body, read_declared("text/csv", charset="latin-1")).rows == 2
    assert sent.line(body) == (3, "*")
    assert sent.line("arm\ngegen\n\x81\n".encode("latin-1"), read_declared(charset="latin-1")) == (3, "*")


def test_line_breaks_inside_quotes_belong_to_their_cell_and_lines_are_counted_as_an_editor_does(sent: Sent) -> None:
    people = (
        'patient,cured,arm,days,visits\n"a\nb",1,drug,1,1\n"c",1,drug,1,1\n"d\r\n\r\ne",1,drug,x,1\n"f",1,drug,1,99\n'
    )
    with pytest.raises(InvalidRows) as caught:
        sent.check(people.encode(), unit=UNIT)
    assert [(row.line, row.column) for row in caught.value.rows] == [
        (2, "patient"),
        (5, "days"),
        (5, "patient"),
        (8, "visits"),
    ]
    assert [(fault.column, fault.lines) for fault in caught.value.columns] == [
        ("days", (5,)),
        ("visits", (8,)),
        ("patient", (2, 5)),
    ]


@pytest.mark.parametrize("level", ["dr\nug", "\ndrug", "drug\n"])
def test_a_cell_with_a_line_break_is_never_a_level_without_one(sent: Sent, level: str) -> None:
    assert sent.line(f'cured,arm,days,visits\n1,"{level}",1,1\n'.encode()) == (2, "arm")


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ('1,drug,1,1\n1,"drug,1,1\n1,drug,1,1\n', 3),
        ('1,drug,1,1\n1,"drug,1,1\n1,"drug",1,1\n', 3),
        ('1,dr"ug,1,1\n1,"drug",1,1\n', 2),
        ('1,"drug" ,1,"1\n', 2),
        ('1,drug,1,"' + "1\n" * 600_000, 2),
    ],
)
def test_a_quote_that_is_not_closed_is_named_by_the_line_where_it_opens(sent: Sent, body: str, line: int) -> None:
    assert sent.line(f"cured,arm,days,visits\n{body}".encode()) == (line, "*")


def test_a_broken_record_spoils_no_other(sent: Sent) -> None:
    body = 'cured,arm,days,visits\n1,"drug,1,1\n1,"drug",1,1\n2,drug,1,1\n'
    with pytest.raises(InvalidRows) as caught:
        sent.check(body.encode())
    assert [(row.line, row.column) for row in caught.value.rows] == [(2, "*"), (4, "cured")]


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_what_unpacks_to_more_than_an_upload_may_have_is_refused_and_gone(sent: Sent, packing: str) -> None:
    sent.store.bytes_max = 4 << 20
    body = b"cured,arm,days,visits\n" + b"1,drug,1,1\n" * 800_000
    packed = gzip.compress(body) if packing == "gzip" else pa.compress(body, codec="zstd", asbytes=True)
    assert len(packed) < 100_000
    assert isinstance(sent.refusal(packed), PayloadTooLarge)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_damaged_cut_off_and_twice_packed_files_are_refused(sent: Sent, packing: str) -> None:
    whole = FORMS[packing][0]
    cut = whole[: len(whole) // 2]
    turned = whole[:-20] + bytes([whole[-20] ^ 0xFF]) + whole[-19:]
    for body in (cut, gzip.compress(whole), whole + b"more"):
        assert isinstance(sent.refusal(body), UnsupportedFormat)
    assert isinstance(sent.refusal(turned), InvalidInput)
    assert isinstance(sent.refusal(CSV.encode(), read_declared("text/csv", packing)), UnsupportedFormat)


def test_an_arrow_batch_that_unpacks_to_too_much_is_refused_before_it_is_made(sent: Sent, tmp_path: Path) -> None:
    many = pa.table({"days": pa.repeat(pa.scalar(0.0), 200_000)})
    target = io.BytesIO()
    with pa.ipc.new_stream(target, many.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(many)
    packed = tmp_path / "packed"
    packed.write_bytes(target.getvalue())
    assert len(target.getvalue()) < 10_000
    check_sizes(packed, bytes_max=1_600_000, rows_max=200_000, batch_bytes_max=1_600_000)
    with pytest.raises(UnsupportedFormat):
        check_sizes(packed, bytes_max=1_600_000, rows_max=200_000, batch_bytes_max=1_599_999)
    for limits in ({"bytes_max": 1_599_999, "rows_max": 200_000}, {"bytes_max": 1_600_000, "rows_max": 199_999}):
        with pytest.raises(PayloadTooLarge):
            check_sizes(packed, **limits)
    sent.store.bytes_max = 1_599_999
    assert isinstance(sent.refusal(target.getvalue()), PayloadTooLarge)


def test_arrow_whose_bytes_were_changed_never_breaks_and_leaves_nothing(sent: Sent) -> None:
    """Thirty other bytes: accepted as other cells, or refused in our own words."""
    whole = arrow(CODED, pa.ipc.new_file)
    chosen = random.Random(7)
    for _ in range(30):
        place = chosen.randrange(len(whole))
        body = whole[:place] + bytes([chosen.randrange(256)]) + whole[place + 1 :]
        with suppress(InvalidInput):
            sent.check(body)
        assert not list(sent.store.root.iterdir())
    for end in range(0, len(whole), 397):
        with pytest.raises(InvalidInput):
            sent.check(whole[:end])


def test_arrow_columns_are_told_by_name(sent: Sent) -> None:
    twice = pa.table([PLAIN.column(0), *PLAIN.columns], names=["cured", *PLAIN.column_names])
    assert sent.line(arrow(twice)) == (1, "cured")
    nested = PLAIN.set_column(2, "days", pa.array([[1.0], [2.0], []]))
    assert sent.line(arrow(nested)) == (1, "days")
    assert sent.line(arrow(PLAIN.drop_columns(["days"]))) == (1, "days")
    empty = pa.table({"cured": pa.array([True, None]), "arm": ["drug"] * 2, "days": [1, 2], "visits": [1, 2]})
    assert sent.line(arrow(empty)) == sent.line(parquet(empty)) == (2, "cured")


def test_quotes_are_taken_off_once_and_a_mark_of_ours_in_what_is_sent_is_refused(sent: Sent) -> None:
    """A byte order mark before a quoted name, quotes around all cells; then our marks in a quoted file, by their line."""
    text = "cured,arm,days,visits\ntrue,drug,1.5,0\nfalse,placebo,-1.0,40\ntrue,drug,365.0,-3"
    quoted = "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines())
    assert sent.read(("\ufeff" + quoted).encode()).total == sent.read(text.encode()).total
    assert sent.read(quoted.encode().replace(b"\n", b"\r\n")).total == sent.read(text.encode()).total
    for mark in ("\x1f", "\x02"):
        assert sent.line((quoted + f'\n"1","drug{mark}","1","1"').encode()) == (len(text.splitlines()) + 1, "*")


def test_what_is_said_of_a_file_is_checked_before_its_body() -> None:
    for said in (
        {"content_encoding": "br"},
        {"content_type": "text/csv; charset=klingon"},
        {"charset": "ebcdic"},
        {"content_type": "application/pdf"},
    ):
        with pytest.raises(UnsupportedFormat):
            read_declared(**said)
    with pytest.raises(InvalidInput):
        read_declared("text/csv; charset=utf-8", charset="latin-1")
    with pytest.raises(InvalidInput):
        read_declared(separator=";")
    assert read_declared("text/csv; charset=latin1", "identity", "windows-1252") == DeclaredForm(
        "csv", charset="cp1252"
    )
