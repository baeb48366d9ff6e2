"""Which format a file is: what its content type claims, checked against its first bytes.

The engine reads CSV and Parquet. What is sent may also be Arrow IPC, or packed: it is written anew as one of the two
(this folder), because DuckDB reads Arrow only with an extension that would have to be fetched. A file that is read where it
lies has to be CSV or Parquet already, and anything else is refused by name.
"""

from pathlib import Path
from typing import Literal

from app.errors import UnsupportedFormat
from app.sources.sealed_files import MAGIC

Format = Literal["csv", "parquet", "kept"]
"""`kept`: columns this service wrote itself (`kept_rows.py`). Never sent, never sniffed."""
SentFormat = Literal["csv", "parquet", "arrow"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")

CONTENT_TYPES: dict[str, SentFormat] = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/plain": "csv",
    "text/tab-separated-values": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.arrow.stream": "arrow",
}
UNDECIDED_CONTENT_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})

_ARROW_OPENINGS: tuple[tuple[bytes, str], ...] = (
    (b"ARROW1", "CSV or Parquet (this is an Arrow file; write it as Parquet, or upload it)"),
    (b"\xff\xff\xff\xff", "CSV or Parquet (this is an Arrow stream; write it as Parquet, or upload it)"),
)
_REFUSED_OPENINGS: tuple[tuple[bytes, str], ...] = (
    (MAGIC, "CSV or Parquet (this is a file of a Postern's own)"),
    (b"PARE", "Parquet without encryption"),
    (b"\x1f\x8b", "CSV or Parquet without gzip around it"),
    (b"PK\x03\x04", "CSV or Parquet (this is a zip archive or a spreadsheet)"),
    (b"\xd0\xcf\x11\xe0", "CSV or Parquet (this is a spreadsheet)"),
    (b"\x28\xb5\x2f\xfd", "CSV or Parquet without zstd around it"),
    (b"BZh", "CSV or Parquet without bzip2 around it"),
    (b"\xfd7zXZ", "CSV or Parquet without xz around it"),
    (b"SQLite format 3", "CSV or Parquet (this is a SQLite database)"),
)
_PARQUET_OPENING = b"PAR1"


def format_of_content_type(content_type: str | None) -> SentFormat | None:
    """The format a `Content-Type` header claims, None when it claims nothing.

    Called before the body is read, so an unreadable format costs no upload.
    Raises UnsupportedFormat.
    """
    essence = (content_type or "").partition(";")[0].strip().lower()
    if essence in UNDECIDED_CONTENT_TYPES:
        return None
    claimed = CONTENT_TYPES.get(essence)
    if claimed is None:
        expected = "text/csv, application/vnd.apache.parquet or application/vnd.apache.arrow.stream"
        raise UnsupportedFormat("content-type", expected)
    return claimed


def sniff(path: Path) -> Format:
    """The format of a file the engine is to read, by its first bytes; text of any kind counts as CSV.

    Raises UnsupportedFormat for containers that are neither.
    """
    opening = _opening(path)
    for magic, expected in (*_ARROW_OPENINGS, *_REFUSED_OPENINGS):
        if opening.startswith(magic):
            raise UnsupportedFormat("body", expected)
    return "parquet" if opening.startswith(_PARQUET_OPENING) else "csv"


def decide_format(claimed: SentFormat | None, path: Path) -> SentFormat:
    """The format of something sent, unpacked; what was claimed and the bytes have to agree. Raises UnsupportedFormat."""
    arrow = any(_opening(path).startswith(magic) for magic, _ in _ARROW_OPENINGS)
    found: SentFormat = "arrow" if arrow else _sent(sniff(path))
    if claimed is not None and claimed != found:
        raise UnsupportedFormat("body", f"{claimed} as its content type says")
    return found


def _sent(found: Format) -> SentFormat:
    return "parquet" if found == "parquet" else "csv"


def _opening(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)
