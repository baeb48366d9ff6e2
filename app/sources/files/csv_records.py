"""CSV as spreadsheets write it, made into one record a line: `csv_lines.py` says what the engine is then given.

Written anew where it has to be: another character set than UTF-8, lines that end in different ways, quotes, which are taken off
(`unquoted_cells.py`), a line break inside quotes. Such a break becomes U+0085, a control character that no declared level, and no
identifier of a person, may hold; whatever else a cell may say, a text with a line break in it is never one of them.

A quote opens a cell only at the start of one, so `dr"ug` spoils its own line and no other. One that is never closed is named
by the line where it opens.
"""

import codecs
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from app.errors import InvalidRows, RowProblem
from app.sources.files.csv_lines import CHUNK_BYTES, LINE_BYTES_MAX, ROW
from app.sources.files.unquoted_cells import holds_marks, unquoted

BREAK = "\u0085".encode()
_QUOTE, _END = b'"', b"\n"
_UNCLOSED = "a quote that is closed again: the cell that opens here is not"

Joined = Callable[[int, int], None]
"""(record, how many lines it takes beyond the first), records counted from 1."""


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
    joined: list[int] = []
    first = True
    with target.open("xb") as file:
        for block in _records(path, charset, separator, lambda _, extra: joined.append(extra) if not joined else None):
            if unquote:
                if holds_marks(block):
                    return None
                block = block.removeprefix(codecs.BOM_UTF8) if first else block
                block = unquoted(block, separator.encode())
            file.write(block)
            first = False
    return bool(joined)


def lines_of_records(path: Path, charset: str, separator: str, records: Sequence[int]) -> dict[int, int]:
    """The line of `path` on which each of these records begins: the file is gone through again."""
    wanted = sorted(set(records))
    extra = [0] * (len(wanted) + 1)

    def joined(record: int, lines: int) -> None:
        extra[bisect_right(wanted, record)] += lines

    for _ in _records(path, charset, separator, joined):
        pass
    return {record: record + more for record, more in zip(wanted, accumulate(extra), strict=False)}


def _records(path: Path, charset: str, separator: str, joined: Joined) -> Iterator[bytes]:
    record, line = 1, 1
    open_record, opened_at = bytearray(), 0
    for block in _blocks(path, charset):
        if not opened_at and not _has_odd_line(block):
            record, line = record + block.count(_END), line + block.count(_END)
            yield block
            continue
        made = bytearray()
        for text in block.split(_END)[:-1]:
            if opened_at:
                open_record += BREAK + text.replace(b"\r", BREAK)
                state = _state(text, separator.encode(), inside=True)
            else:
                state = _state(text, separator.encode(), inside=False) if text.count(_QUOTE) % 2 else "whole"
                open_record, opened_at = bytearray(text), line
            if state == "open" and len(open_record) > LINE_BYTES_MAX:
                raise _problem(opened_at, f"{_UNCLOSED} within {LINE_BYTES_MAX} bytes")
            if state != "open":
                made += open_record + _END
                if line > opened_at:
                    joined(record, line - opened_at)
                record, opened_at = record + 1, 0
            line += 1
        yield bytes(made)
    if opened_at:
        raise _problem(opened_at, _UNCLOSED)


def _state(text: bytes, separator: bytes, *, inside: bool) -> str:
    """How a line leaves its record: `whole`, `open` (inside quotes) or `broken`, which is for the engine to refuse."""
    at = 0
    while True:
        if inside:
            quote = text.find(_QUOTE, at)
            if quote < 0:
                return "open"
            at = quote + 1
            if text[at : at + 1] == _QUOTE:
                at += 1
                continue
            if at == len(text):
                return "whole"
            if text[at : at + 1] != separator:
                return "broken"
            at, inside = at + 1, False
        elif text[at : at + 1] == _QUOTE:
            at, inside = at + 1, True
        else:
            end = text.find(separator, at)
            if text.find(_QUOTE, at, len(text) if end < 0 else end) >= 0:
                return "broken"
            if end < 0:
                return "whole"
            at = end + 1


def _blocks(path: Path, charset: str) -> Iterator[bytes]:
    """Whole lines in UTF-8 that end in `\\n`, some at a time; the last one too, if it ended with the file."""
    decoder = codecs.getincrementaldecoder(charset)()
    rest, lines = b"", 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            text = _decoded(decoder, chunk, lines, final=False)
            block, rest = _whole_lines(rest + text.encode())
            if len(rest) > LINE_BYTES_MAX:
                raise _problem(lines + 1 + block.count(_END), f"lines of at most {LINE_BYTES_MAX} bytes")
            lines += block.count(_END)
            yield block.replace(b"\r\n", _END)
    rest += _decoded(decoder, b"", lines, final=True).encode()
    if rest:
        yield rest + _END


def _decoded(decoder: codecs.IncrementalDecoder, chunk: bytes, lines: int, *, final: bool) -> str:
    carried = len(decoder.getstate()[0])
    bad = None
    try:
        return decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        bad = max(0, error.start - carried)
    # Raised out here: the decoder's own error holds the rows.
    raise _problem(lines + 1 + chunk.count(_END, 0, bad), "text in the character set that was declared")


def _whole_lines(block: bytes) -> tuple[bytes, bytes]:
    cut = block.rfind(_END) + 1
    return block[:cut], block[cut:]


def _has_odd_line(block: bytes) -> bool:
    """Whether a line holds an odd number of quotes: only then can its record go on in the next."""
    if _QUOTE not in block:
        return False
    codes = np.frombuffer(block, np.uint8)
    starts = np.flatnonzero(codes == _END[0])[:-1] + 1
    quotes = np.add.reduceat(codes == _QUOTE[0], np.concatenate(([0], starts)), dtype=np.int64)
    return bool((quotes % 2).any())


def _problem(line: int, expected: str) -> InvalidRows:
    return InvalidRows([RowProblem(line, ROW, expected)])
