"""What was sent, as the engine reads it. The original is left as it is; what is written anew lies in a private directory.

sent ─▶ unpacked (gzip, zstd) ─▶ CSV: UTF-8, one record a line ─▶ engine
                              ─▶ Arrow: as Parquet ────────────▶
                              ─▶ Parquet ──────────────────────▶
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import InvalidRows, RowProblem
from app.sources.files.arrow_to_parquet import write_parquet
from app.sources.files.csv_records import is_plain, lines_of_records, write_records
from app.sources.files.declared import DeclaredForm
from app.sources.files.formats import Format, decide_format
from app.sources.files.header import header_of, separator_of
from app.sources.files.unpacking import packing_of, unpack
from app.sources.private_files import disk_full_as_unavailable
from app.sources.uploads import UploadStore

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Prepared:
    """`separator` is that of CSV as it was sent; where cells are `unquoted`, they are no longer cut by it. `_before` is the file
    in which lines are counted, where records take several of them."""

    path: Path
    file_format: Format
    separator: str = ","
    unquoted: bool = False
    _before: tuple[Path, str] | None = None

    @contextmanager
    def told_by_line(self) -> Iterator[None]:
        """Problems named by record inside are named by the line of the file that was sent, as an editor shows it."""
        try:
            yield
            return
        except InvalidRows as error:
            found = error
        raise found if self._before is None else self._by_line(found, *self._before)

    def _by_line(self, error: InvalidRows, path: Path, charset: str) -> InvalidRows:
        records = [row.line for row in error.rows] + [line for fault in error.columns for line in fault.lines]
        lines = lines_of_records(path, charset, self.separator, records)
        rows = [RowProblem(lines[row.line], row.column, row.expected) for row in error.rows]
        faults = [replace(fault, lines=tuple(lines[line] for line in fault.lines)) for fault in error.columns]
        return InvalidRows(rows, faults)


@contextmanager
def prepared(path: Path, form: DeclaredForm, declared: Collection[str], uploads: UploadStore) -> Iterator[Prepared]:
    """Blocking. `declared` are the columns whose cells are wanted. Raises UnsupportedFormat, PayloadTooLarge, InvalidRows."""
    with uploads.spill() as folder:
        packing = packing_of(path, form.packing)
        if packing is not None:
            unpack(path, packing, folder / "unpacked", uploads.bytes_max)
            path = folder / "unpacked"
        charset = form.charset or marked_charset(path)
        file_format = decide_format(form.file_format, path)
        if file_format == "csv":
            yield _prepare_csv(path, charset or "utf-8", form.separator, declared, folder)
        elif file_format == "arrow":
            write_parquet(path, folder / "rows.parquet", declared, uploads.bytes_max)
            yield Prepared(folder / "rows.parquet", "parquet")
        else:
            yield Prepared(path, "parquet")


def _prepare_csv(path: Path, charset: str, separator: str | None, declared: Collection[str], folder: Path) -> Prepared:
    separator = separator or separator_of(header_of(path, charset), declared)
    if charset == "utf-8" and is_plain(path):
        return Prepared(path, "csv", separator)
    with disk_full_as_unavailable():
        written = write_records(path, folder / "records", charset, separator)
    before = (path, charset) if written.several else None
    return Prepared(folder / "records", "csv", separator, written.unquoted, before)


def marked_charset(path: Path) -> str | None:
    with path.open("rb") as file:
        return "utf-16" if file.read(2) in _UTF16_MARKS else None
