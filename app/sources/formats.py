"""Which format an upload is: what its content type claims, checked against its first bytes.

Only CSV and Parquet can be read. Arrow IPC is recognised so that it is refused by
name: DuckDB reads it only with an extension that would have to be fetched.
"""

from pathlib import Path
from typing import Literal

from app.errors import UnsupportedFormat
from app.sources.sealed_files import MAGIC

Format = Literal["csv", "parquet", "kept"]
"""`kept`: columns this service wrote itself (`kept_rows.py`). Never sent, never sniffed."""
FORMATS: tuple[Format, ...] = ("csv", "parquet")

CONTENT_TYPES: dict[str, Format | Literal["arrow"]] = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/plain": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.arrow.stream": "arrow",
}
UNDECIDED_CONTENT_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})

_REFUSED_OPENINGS: tuple[tuple[bytes, str], ...] = (
    (b"ARROW1", "CSV or Parquet (this is an Arrow file; write it as Parquet)"),
    (b"\xff\xff\xff\xff", "CSV or Parquet (this is an Arrow stream; write it as Parquet)"),
    (MAGIC, "CSV or Parquet (this is a file of a Postern's own)"),
    (b"PARE", "Parquet without encryption"),
    (b"\x1f\x8b", "CSV or Parquet without gzip around it"),
    (b"PK\x03\x04", "CSV or Parquet (this is a zip archive or a spreadsheet)"),
    (b"\x28\xb5\x2f\xfd", "CSV or Parquet without zstd around it"),
    (b"BZh", "CSV or Parquet without bzip2 around it"),
    (b"\xfd7zXZ", "CSV or Parquet without xz around it"),
    (b"SQLite format 3", "CSV or Parquet (this is a SQLite database)"),
)
_PARQUET_OPENING = b"PAR1"


def format_of_content_type(content_type: str | None) -> Format | None:
    """The format a `Content-Type` header claims, None when it claims nothing.

    Called before the body is read, so an unreadable format costs no upload.
    Raises UnsupportedFormat.
    """
    essence = (content_type or "").partition(";")[0].strip().lower()
    if essence in UNDECIDED_CONTENT_TYPES:
        return None
    claimed = CONTENT_TYPES.get(essence)
    if claimed is None or claimed == "arrow":
        raise UnsupportedFormat("content-type", "text/csv or application/vnd.apache.parquet")
    return claimed


def sniff(path: Path) -> Format:
    """The format of a stored file by its first bytes; text of any kind counts as CSV.

    Raises UnsupportedFormat for containers that are neither.
    """
    with path.open("rb") as file:
        opening = file.read(16)
    for magic, expected in _REFUSED_OPENINGS:
        if opening.startswith(magic):
            raise UnsupportedFormat("body", expected)
    return "parquet" if opening.startswith(_PARQUET_OPENING) else "csv"


def decide_format(content_type: str | None, path: Path) -> Format:
    """The format of an upload; the header and the bytes have to agree. Raises UnsupportedFormat."""
    claimed = format_of_content_type(content_type)
    found = sniff(path)
    if claimed is not None and claimed != found:
        raise UnsupportedFormat("body", f"{claimed} as its content type says")
    return found
