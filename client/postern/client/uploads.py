"""Rows to send: a path, bytes, an open file, or a data frame.

Files are read in pieces and opened anew for every attempt, so a lost connection costs a repetition and nothing else. Frames
travel as Parquet where something that writes it is at hand: CSV would have to guess how a cell was meant.
"""

import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from postern.client.call import Chunks
from postern.client.problems import Misconfigured

CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"
PIECE_BYTES = 256 * 1024
ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"
ANY = "application/octet-stream"
"""Whatever it is, the service knows it by its first bytes."""
_TYPES = {
    ".csv": CSV,
    ".tsv": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrows": ARROW_STREAM,
    ".arrow": ARROW_FILE,
    ".feather": ARROW_FILE,
}
_HEADER_BYTES_MAX = PIECE_BYTES
_PACKED = (".gz", ".zst", ".zstd")
_MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW_FILE, b"\xff\xff\xff\xff": ARROW_STREAM}
_PACKED_MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


def body_of(data: Any, content_type: str | None) -> tuple[Chunks | bytes, str]:
    """What to send, and as which type."""
    if isinstance(data, str | PathLike):
        return _from_path(Path(data), content_type)
    if isinstance(data, bytes | bytearray | memoryview):
        whole = bytes(data)
        return whole, content_type or _type_of(whole)
    if hasattr(data, "read"):
        if content_type is None:
            raise Misconfigured(f"say the content_type of an open file: {CSV}, {PARQUET}, or {ANY} if it shows")
        return _from_file(data), content_type
    return _from_frame(data)


def names_of(data: Any, content_type: str | None, charset: str | None) -> tuple[Chunks | bytes, str]:
    """What to send so that a service learns the names of columns: of a CSV file or of its bytes the header line and no row."""
    body, kind = body_of(data, content_type)
    if kind != CSV or (charset or "").lower().startswith("utf-16"):
        return body, kind
    opening = body[:_HEADER_BYTES_MAX] if isinstance(body, bytes) else next(body.open(), b"")
    packed_or_wide = opening.startswith((*_PACKED_MAGIC, b"\xff\xfe", b"\xfe\xff"))
    end = first = opening.find(b"\n") + 1
    while end and opening.count(b'"', 0, end) % 2:  # a line break inside a name
        end = opening.find(b"\n", end) + 1
    return (opening[: end or first], kind) if first and not packed_or_wide else (body, kind)


def _from_path(file: Path, content_type: str | None) -> tuple[Chunks, str]:
    packed = file.suffix.lower() in _PACKED
    kind = content_type or _TYPES.get(Path(file.stem).suffix.lower() if packed else file.suffix.lower())
    if kind is None:
        raise Misconfigured(f"{file.name}: name it .csv, .parquet or .arrow (and .gz or .zst), or say its content_type")
    length = file.stat().st_size

    def pieces() -> Iterator[bytes]:
        with file.open("rb") as opened:
            yield from _pieces(opened)

    return Chunks(pieces, length), kind


def _type_of(whole: bytes) -> str:
    if whole.startswith(_PACKED_MAGIC):
        return ANY
    return next((kind for magic, kind in _MAGIC.items() if whole.startswith(magic)), CSV)


def _from_file(opened: BinaryIO) -> Chunks:
    """From where it stands now; again only if it can be wound back."""
    again = bool(getattr(opened, "seekable", lambda: False)())
    start = opened.tell() if again else 0

    def pieces() -> Iterator[bytes]:
        if again:
            opened.seek(start)
        yield from _pieces(opened)

    return Chunks(pieces, again=again)


def _pieces(opened: BinaryIO) -> Iterator[bytes]:
    while piece := opened.read(PIECE_BYTES):
        yield piece


def _from_frame(frame: Any) -> tuple[bytes, str]:
    """pandas, polars or a pyarrow Table, told apart by what they can do, so that none is imported for it."""
    target = io.BytesIO()
    if hasattr(frame, "write_parquet"):
        frame.write_parquet(target)
        return target.getvalue(), PARQUET
    if hasattr(frame, "to_parquet"):
        try:
            frame.to_parquet(target, index=False)
            return target.getvalue(), PARQUET
        except ImportError:
            return _pandas_csv(frame), CSV
    if hasattr(frame, "schema") and hasattr(frame, "to_batches"):
        import pyarrow.parquet

        pyarrow.parquet.write_table(frame, target)
        return target.getvalue(), PARQUET
    raise Misconfigured(f"rows come as a path, bytes, an open file or a data frame, not as {type(frame).__name__}")


def _pandas_csv(frame: Any) -> bytes:
    """Without pyarrow. pandas writes True, the service reads true."""
    text: str = frame.replace({True: "true", False: "false"}).to_csv(index=False)
    return text.encode()
