"""Lines put together to records: a line break inside quotes becomes U+0085, and the record one line.

A quote opens a cell only at the start of one, so `dr"ug` spoils its own line and no other: where a quote stands as none may, the
record ends with its line, which is for the engine to refuse. Blocks in which every quote stands as it may, nearly all, are done
at once. In them a line break is inside quotes if an odd number of them come before it, and whoever went from quote to quote
would have come to the same, because each of them opens, closes or is half of a `""` in turn. The others are gone through line
by line.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidRows, RowProblem
from app.sources.files.csv_lines import LINE_BYTES_MAX, ROW

BREAK = "\u0085".encode()
_QUOTE, _END = b'"', b"\n"
_UNCLOSED = "a quote that is closed again: the cell that opens here is not"

Places = NDArray[np.int64]
_NONE: Places = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Joined:
    """Whole records, one a line. `records` took `extra` lines beyond the first, and are counted from 1."""

    text: bytes
    records: Places = field(default_factory=lambda: _NONE)
    extra: Places = field(default_factory=lambda: _NONE)


class LineJoiner:
    """Takes one block of whole lines after the other. Raises InvalidRows about a quote that is never closed."""

    def __init__(self, separator: str) -> None:
        self._separator = separator.encode()
        self._record = self._line = 1
        self._open = b""
        self._opened_at = 0
        """The line on which the record `_open` began; 0: none is open."""

    def joined(self, block: bytes) -> Joined:
        codes = np.frombuffer(block, np.uint8)
        quotes, ends = np.flatnonzero(codes == _QUOTE[0]), np.flatnonzero(codes == _END[0])
        odd = (np.searchsorted(quotes, ends) + bool(self._opened_at)) % 2 == 1
        if not self._opened_at and not odd.any():
            done = Joined(block)
            self._record += ends.size
        elif b"\r" in block or not self._all_stand_well(codes, quotes):
            return self._line_by_line(block)
        else:
            made = np.insert(codes, ends[odd] + 1, BREAK[1])
            made[ends[odd] + np.arange(np.count_nonzero(odd))] = BREAK[0]
            text = (self._open + BREAK if self._opened_at else b"") + made.tobytes()
            if _longest_line(text) > LINE_BYTES_MAX:
                return self._line_by_line(block)
            done = self._cut(text, np.flatnonzero(~odd))
        self._line += ends.size
        return done

    def close(self) -> None:
        if self._opened_at:
            raise _problem(self._opened_at, _UNCLOSED)

    def _all_stand_well(self, codes: NDArray[np.uint8], quotes: Places) -> bool:
        """Blocks end in a line end, so that every quote has one after it; before the first of a block is the start of a line."""
        edges = np.zeros(256, np.bool_)
        edges[[self._separator[0], _END[0], _QUOTE[0]]] = True
        first = 1 if self._opened_at else 0
        opening, closing = quotes[first::2], quotes[1 - first :: 2]
        return bool(edges[codes[opening[opening > 0] - 1]].all() and edges[codes[closing + 1]].all())

    def _cut(self, text: bytes, ending: Places) -> Joined:
        """`ending`: which lines of the block end a record."""
        extra = np.diff(ending, prepend=-1) - 1
        if self._opened_at and extra.size:
            extra[0] += self._line - self._opened_at
        records = self._record + np.arange(extra.size)
        whole = text.rfind(_END) + 1
        if whole < len(text):
            self._open = text[whole : -len(BREAK)]
            self._opened_at = self._line + int(ending[-1]) + 1 if ending.size else self._opened_at or self._line
        else:
            self._open, self._opened_at = b"", 0
        self._record += extra.size
        return Joined(text[:whole], records[extra > 0], extra[extra > 0])

    def _line_by_line(self, block: bytes) -> Joined:
        made, records, extra = bytearray(), [], []
        record = bytearray(self._open)
        for text in block.split(_END)[:-1]:
            if self._opened_at:
                record += BREAK + text.replace(b"\r", BREAK)
                state = line_state(text, self._separator, inside=True)
            else:
                state = line_state(text, self._separator, inside=False) if text.count(_QUOTE) % 2 else "whole"
                record, self._opened_at = bytearray(text), self._line
            if state == "open" and len(record) > LINE_BYTES_MAX:
                raise _problem(self._opened_at, f"{_UNCLOSED} within {LINE_BYTES_MAX} bytes")
            if state != "open":
                made += record + _END
                if self._line > self._opened_at:
                    records.append(self._record)
                    extra.append(self._line - self._opened_at)
                self._record, self._opened_at = self._record + 1, 0
            self._line += 1
        self._open = bytes(record) if self._opened_at else b""
        return Joined(bytes(made), np.asarray(records, np.int64), np.asarray(extra, np.int64))


def _longest_line(text: bytes) -> int:
    """What an unfinished one has so far among them."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _END[0])
    return int(np.diff(ends, prepend=-1, append=len(text)).max())


def line_state(text: bytes, separator: bytes, *, inside: bool) -> str:
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


def _problem(line: int, expected: str) -> InvalidRows:
    return InvalidRows([RowProblem(line, ROW, expected)])
