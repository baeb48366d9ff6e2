"""How much an Arrow stream says it will become, read from its messages before a library is asked to make it so.

A message is four bytes of ones, the size of its metadata, the metadata (a flatbuffer) and a body; an Arrow file is eight bytes of
magic, then such a stream, then an index that nothing here needs. Buffers of a body may be packed, each with its unpacked size in
front: a few bytes can ask for any amount of memory, so sizes are added up first.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.errors import PayloadTooLarge, UnsupportedFormat

BATCH_BYTES_MAX = 256 * 1024**2
BATCH_ROWS_MAX = 1 << 24
METADATA_BYTES_MAX = 16 * 1024**2
FILE_MAGIC = b"ARROW1\0\0"
_FILE_END = b"ARROW1"
_CONTINUES = 0xFFFFFFFF
_DICTIONARY, _BATCH = 2, 3
# Places of fields in their tables (Message.fbs of the Arrow format).
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3
_DICTIONARY_DATA = 1


class Damaged(Exception):
    """Not a stream of messages."""


def stream_start(path: Path) -> int:
    """Where the stream begins: after the magic of a file, at once otherwise."""
    with path.open("rb") as file:
        return len(FILE_MAGIC) if file.read(len(FILE_MAGIC)) == FILE_MAGIC else 0


def check_sizes(path: Path, *, bytes_max: int, rows_max: int, batch_bytes_max: int = BATCH_BYTES_MAX) -> None:
    """Raises PayloadTooLarge, UnsupportedFormat about a batch that is too large, Damaged."""
    size, rows = 0, 0
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size
        start = stream_start(path)
        if start:
            file.seek(max(0, end - len(_FILE_END)))
            if file.read() != _FILE_END:
                raise Damaged
        file.seek(start)
        while (metadata := _next_metadata(file)) is not None:
            length, unpacked, body = _sizes(file, metadata, end)
            size, rows = size + unpacked, rows + length
            if unpacked > batch_bytes_max or length > BATCH_ROWS_MAX:
                told = f"record batches of at most {batch_bytes_max} bytes and {BATCH_ROWS_MAX} rows"
                raise UnsupportedFormat("body", told)
            if size > bytes_max or rows > rows_max:
                raise PayloadTooLarge("body", f"at most {bytes_max} bytes and {rows_max} rows once unpacked")
            file.seek(body)


def _next_metadata(file: BinaryIO) -> bytes | None:
    """None at the mark that ends a stream. A stream that just stops may have been cut off between two batches."""
    opening = file.read(8)
    if len(opening) < 8:
        raise Damaged
    mark, length = struct.unpack("<Ii", opening)
    if mark != _CONTINUES or not 0 <= length <= METADATA_BYTES_MAX:
        raise Damaged
    if length == 0:
        return None
    metadata = file.read(length)
    if len(metadata) < length:
        raise Damaged
    return metadata


def _sizes(file: BinaryIO, metadata: bytes, end: int) -> tuple[int, int, int]:
    """Rows, unpacked bytes, and where the next message begins."""
    message = _Table(metadata, _number(metadata, 0, "<I"))
    body = message.number(_BODY_LENGTH, "<q")
    start = file.tell()
    if not 0 <= body <= end - start:
        raise Damaged
    kind, header = message.number(_HEADER_TYPE, "<B"), message.table(_HEADER)
    if kind == _DICTIONARY and header is not None:
        header = header.table(_DICTIONARY_DATA)
    elif kind != _BATCH:
        return 0, body, start + body
    if header is None:
        raise Damaged
    length = header.number(_LENGTH, "<q")
    packed = header.table(_COMPRESSION) is not None
    unpacked = sum(_unpacked(file, start, body, *span) if packed else span[1] for span in header.spans(_BUFFERS))
    if not length >= 0:
        raise Damaged
    return length, max(unpacked, 0 if packed else body), start + body


def _unpacked(file: BinaryIO, start: int, body: int, offset: int, length: int) -> int:
    """Of one packed buffer: what its first eight bytes say, -1 if it was left as it was."""
    if not (0 <= offset <= body and 0 <= length <= body - offset):
        raise Damaged
    if length == 0:
        return 0
    file.seek(start + offset)
    said = _number(file.read(8), 0, "<q")
    if said < -1:
        raise Damaged
    return length if said == -1 else said


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a flatbuffer; whatever points outside is Damaged."""

    data: bytes
    at: int

    def field(self, place: int) -> int | None:
        table = self.at - _number(self.data, self.at, "<i")
        if 4 + 2 * place >= _number(self.data, table, "<H"):
            return None
        offset = _number(self.data, table + 4 + 2 * place, "<H")
        return self.at + offset if offset else None

    def number(self, place: int, form: str) -> int:
        at = self.field(place)
        return 0 if at is None else _number(self.data, at, form)

    def table(self, place: int) -> "_Table | None":
        at = self.field(place)
        return None if at is None else _Table(self.data, at + _number(self.data, at, "<I"))

    def spans(self, place: int) -> list[tuple[int, int]]:
        """A vector of (offset, length)."""
        at = self.field(place)
        if at is None:
            return []
        vector = at + _number(self.data, at, "<I")
        count = _number(self.data, vector, "<I")
        if not vector + 4 + 16 * count <= len(self.data):
            raise Damaged
        return [(offset, length) for offset, length in struct.iter_unpack("<qq", self.data[vector + 4 :][: 16 * count])]


def _number(data: bytes, at: int, form: str) -> int:
    if not 0 <= at <= len(data) - struct.calcsize(form):
        raise Damaged
    found: int = struct.unpack_from(form, data, at)[0]
    return found
