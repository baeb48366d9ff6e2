"""CSV as spreadsheets write it, made into one record a line: `csv_lines.py` says what the engine is then given.

Written anew where it has to be: another character set than UTF-8, lines that end in different ways, quotes, which are taken off
(`unquoted_cells.py`), a line break inside quotes (`joined_lines.py`). Such a break becomes U+0085, a control character that no
declared level, and no identifier of a person, may hold; whatever else a cell may say, a text with a line break in it is never one
of them. A quote that is never closed is named by the line where it opens.
"""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.errors import InvalidRows, RowProblem
from app.sources.files.csv_lines import CHUNK_BYTES, IN_UTF_8, LINE_BYTES_MAX, ROW
from app.sources.files.joined_lines import Joined, LineJoiner
from app.sources.files.unquoted_cells import holds_marks, unquoted

_QUOTE, _END = b'"', b"\n"


def is_plain(path: Path) -> bool:
    """Whether the engine can have it as it is: all lines end alike and hold no quotes."""
    ends: set[bool] = set()
    rest = b""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            if _QUOTE in chunk:
                return False
            block, rest = _whole_lines(rest + chunk)
            if len(rest) > LINE_BYTES_MAX:
                return True  # which `count_lines` refuses
            paired = block.count(b"\r\n")
            ends |= {True} if paired else set()
            ends |= {False} if block.count(_END) > paired else set()
            if len(ends) > 1:
                return False
    return True


@dataclass(frozen=True, slots=True)
class Written:
    """`several`: some record took several lines. `unquoted`: cells are cut by `unquoted_cells.CUT`, and quotes taken off."""

    several: bool
    unquoted: bool


def write_records(path: Path, target: Path, charset: str, separator: str) -> Written:
    """One record a line, UTF-8, `\\n`. Raises InvalidRows about a line of `path`."""
    several = _write(path, target, charset, separator, unquote=True)
    if several is not None:
        return Written(several, unquoted=True)
    target.unlink()
    return Written(bool(_write(path, target, charset, separator, unquote=False)), unquoted=False)


def _write(path: Path, target: Path, charset: str, separator: str, *, unquote: bool) -> bool | None:
    """Whether any took several lines; None where quotes cannot be taken off."""
    several = False
    with target.open("xb") as file:
        for joined in _records(path, charset, separator):
            block, several = joined.text, several or joined.records.size > 0
            if unquote:
                if holds_marks(block):
                    return None
                block = unquoted(block, separator.encode())
            file.write(block)
    return several


def lines_of_records(path: Path, charset: str, separator: str, records: Sequence[int]) -> dict[int, int]:
    """The line of `path` on which each of these records begins: the file is gone through again."""
    wanted = sorted(set(records))
    extra = np.zeros(len(wanted) + 1, np.int64)
    for block in _records(path, charset, separator):
        np.add.at(extra, np.searchsorted(wanted, block.records, side="right"), block.extra)
    return {record: record + int(more) for record, more in zip(wanted, np.cumsum(extra), strict=False)}


def _records(path: Path, charset: str, separator: str) -> Iterator[Joined]:
    joiner = LineJoiner(separator)
    for block in _blocks(path, charset):
        yield joiner.joined(block) if block else Joined(block)
    joiner.close()


def _blocks(path: Path, charset: str) -> Iterator[bytes]:
    """Whole lines in UTF-8 that end in `\\n`, without a byte order mark, some at a time; the last one too, if it ended with the
    file."""
    decoder = codecs.getincrementaldecoder(charset)()
    rest, lines = b"", 0
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8 or charset != "utf-8":
            file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            text = _decoded(decoder, chunk, lines, charset, final=False)
            block, rest = _whole_lines(rest + text.encode())
            if len(rest) > LINE_BYTES_MAX:
                raise _problem(lines + 1 + block.count(_END), f"lines of at most {LINE_BYTES_MAX} bytes")
            lines += block.count(_END)
            yield block.replace(b"\r\n", _END)
    rest += _decoded(decoder, b"", lines, charset, final=True).encode()
    if rest:
        yield rest + _END


def _decoded(decoder: codecs.IncrementalDecoder, chunk: bytes, lines: int, charset: str, *, final: bool) -> str:
    carried = len(decoder.getstate()[0])
    bad = None
    try:
        return decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        bad = max(0, error.start - carried)
    # Raised out here: the decoder's own error holds the rows.
    expected = IN_UTF_8 if charset == "utf-8" else "text in the character set that was declared"
    raise _problem(lines + 1 + chunk.count(_END, 0, bad), expected)


def _whole_lines(block: bytes) -> tuple[bytes, bytes]:
    cut = block.rfind(_END) + 1
    return block[:cut], block[cut:]


def _problem(line: int, expected: str) -> InvalidRows:
    return InvalidRows([RowProblem(line, ROW, expected)])
