"""Quotes taken off, so that the engine cuts a quoted line as quickly as a plain one.

The grammar of a cell, `"…"` with `""` for a quote inside or a text without quotes and separators, is that of `csv_lines.py`. It
is applied to a block of lines at once: a character is inside quotes if an odd number of them come before it in its line, and then

    a quote that opens    follows a separator, the start of its line, or another quote (the second of a `""`)
    a quote that closes   is followed by a separator, the end of its line, or another quote (the first of a `""`)

A separator outside becomes CUT, and of the quotes the second of each pair is left. A line that breaks a rule, or ends inside
quotes, keeps a BROKEN in the place of one of its quotes: the engine refuses it, as it would have before. Neither of the two
characters may be in a file that is sent; one that holds them is left as it is, and refused for that.
"""

import numpy as np
from numpy.typing import NDArray

CUT, BROKEN = b"\x1f", b"\x02"
_QUOTE, _END = b'"', b"\n"

Codes = NDArray[np.uint8]
Bool = NDArray[np.bool_]


def holds_marks(block: bytes) -> bool:
    return CUT in block or BROKEN in block


def unquoted(block: bytes, separator: bytes) -> bytes:
    """Whole lines that end in `\\n`, one record each."""
    if _QUOTE not in block:
        return block.replace(separator, CUT)
    codes = np.frombuffer(block, np.uint8)
    quote, mark, end = codes == _QUOTE[0], codes == separator[0], codes == _END[0]
    inside, odd = _inside(quote, end)
    edge = mark | end
    before, after = np.roll(edge, 1), np.roll(edge, -1)
    before[0] = True
    pair_before, pair_after = np.roll(quote, 1), np.roll(quote, -1)
    pair_before[0] = False
    opens, closes = quote & ~inside, quote & inside
    broken = (opens & ~(before | pair_before)) | (closes & ~(after | pair_after))
    broken[odd] = True
    found = np.where(mark & ~inside, CUT[0], codes)
    found[broken] = BROKEN[0]
    return bytes(found[~quote | (opens & pair_before) | broken])


def _inside(quote: Bool, end: Bool) -> tuple[Bool, NDArray[np.int64]]:
    """(whether an odd number of quotes of its line come before each character, places of the last quotes of odd lines)."""
    so_far = np.cumsum(quote, dtype=np.int32)
    ends = np.flatnonzero(end)
    at_ends = so_far[ends]
    earlier = np.concatenate([np.zeros(1, np.int32), at_ends[:-1]])
    odd = (at_ends - earlier) % 2 == 1
    inside = (so_far - quote) % 2 == 1
    if not odd.any():
        return inside, np.zeros(0, np.int64)
    inside ^= np.repeat(earlier % 2 == 1, np.diff(ends, prepend=-1))
    return inside, np.flatnonzero(quote)[at_ends[odd] - 1]
