"""The outer shape of a CSV file: UTF-8 text, one record a line.

The engine's own CSV dialect forgives too much (it drops everything after an unterminated
quote, skips blank lines, ignores a trailing comma), so the engine is only asked for *lines*
and the cells are cut by the grammar in `cells_of`. That takes a promise about the lines, which
this module checks on the bytes:

- UTF-8, optionally with a byte order mark; no control characters but tab;
- every line ends the same way, `\\n` or `\\r\\n` (the last may end with the file);
- a record never spans lines. Uploads in which one does, or which are not UTF-8, are written anew first (this folder); in a file
  that is read where it lies, a line break inside quotes is refused.
"""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from app.errors import InvalidRows, RowProblem
from app.sources.engine import literal
from app.sources.files.unquoted_cells import BROKEN, CUT

ROW = "*"
IN_UTF_8 = "text in UTF-8 (for an upload `charset` says another, such as windows-1252)"
CHUNK_BYTES = 1 << 20
LINE_BYTES_MAX = 1 << 20

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\r\n") + b"\x7f"
_CONTROLS_SENT = _CONTROLS.translate(None, CUT + BROKEN)
# Cannot occur in a checked file, so that a line is always one cell for the engine.
_NEVER = "\x01"


def cells_of(separator: str, *, unquoted: bool = False) -> str:
    """SQL of the cells of `line`, NULL if the line is not CSV; `unquoted` is as `unquoted_cells.py` writes it.

    A separator is put in front so that every cell starts with one; the matches must use up the whole line, which bare and
    unbalanced quotes prevent.
    """
    if unquoted:
        broken = f"line IS NULL OR contains(line, {literal(BROKEN.decode())})"
        return f"CASE WHEN {broken} THEN NULL ELSE string_split(line, {literal(CUT.decode())}) END"
    mark, sign = literal(separator), re.escape(separator)
    cell = literal(f'{sign}("(?:[^"]|"")*"|[^"{sign}]*)')
    return f"""CASE
  WHEN line IS NULL THEN NULL
  WHEN NOT contains(line, '"') THEN string_split(line, {mark})
  WHEN array_to_string(regexp_extract_all({mark} || line, {cell}), '') = {mark} || line
  THEN list_transform(
    regexp_extract_all({mark} || line, {cell}, 1),
    lambda cell: CASE WHEN starts_with(cell, '"')
      THEN replace(substring(cell, 2, length(cell) - 2), '""', '"') ELSE cell END)
END"""


def lines_of(path: Path, *, header: bool, forgiving: bool = False) -> str:
    """SQL of a table with one text column `line`: the header alone, or every line after it.

    `forgiving` leaves out lines the engine cannot decode instead of failing; a checked file has none.
    """
    options = (
        "auto_detect = false, header = false, columns = {'line': 'VARCHAR'}, "
        f"delim = {literal(_NEVER)}, quote = '', escape = '', comment = '', nullstr = '', "
        f"encoding = 'utf-8', strict_mode = true, max_line_size = {4 * LINE_BYTES_MAX}, "
        f"ignore_errors = {str(forgiving).lower()}, skip = {0 if header else 1}"
    )
    limit = " LIMIT 1" if header else ""
    return f"(SELECT line FROM read_csv({literal(str(path))}, {options}){limit})"  # noqa: S608 - path quoted


@dataclass(slots=True)
class _Seen:
    lines: int = 0
    bare: int = 0
    paired: int = 0
    last: bytes = b""


def count_lines(path: Path, *, unquoted: bool = False) -> int:
    """Check the shape described above and count the lines, header included; marks of our own may be in what we wrote.

    Raises InvalidRows naming the line of the first problem.
    """
    seen = _Seen()
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            _check_chunk(chunk, decoder, seen, _CONTROLS_SENT if unquoted else _CONTROLS)
    if decoder.getstate()[0]:
        raise _problem(seen.lines + 1, IN_UTF_8)
    if seen.last == b"\r":
        raise _problem(seen.lines + 1, "lines that end in \\n or \\r\\n")
    return seen.lines + (seen.last not in (b"", b"\n"))


def _check_chunk(chunk: bytes, decoder: codecs.IncrementalDecoder, seen: _Seen, controls: bytes) -> None:
    if len(chunk.translate(None, controls)) != len(chunk):
        at = next(i for i, code in enumerate(chunk) if code in controls)
        raise _problem(seen.lines + 1 + chunk.count(b"\n", 0, at), "text without control characters")
    bad = _first_bad_byte(chunk, decoder)
    if bad is not None:
        raise _problem(seen.lines + 1 + chunk.count(b"\n", 0, bad), IN_UTF_8)
    _check_ends(chunk, seen)
    if len(chunk) == CHUNK_BYTES and b"\n" not in chunk:
        raise _problem(seen.lines + 1, f"lines of at most {LINE_BYTES_MAX} bytes")
    seen.lines += chunk.count(b"\n")
    seen.last = chunk[-1:]


def _first_bad_byte(chunk: bytes, decoder: codecs.IncrementalDecoder) -> int | None:
    """Where the chunk stops being UTF-8. The decoder's own error holds the rows, so it ends here."""
    carried = len(decoder.getstate()[0])
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError as error:
        return max(0, error.start - carried)
    return None


def _check_ends(chunk: bytes, seen: _Seen) -> None:
    """Every `\\r` is followed by `\\n`, and either all `\\n` follow a `\\r` or none does."""
    text = b"\r" + chunk if seen.last == b"\r" else chunk
    paired = text.count(b"\r\n")
    bare = text.count(b"\n") - paired
    returns = text.count(b"\r") - text.endswith(b"\r")
    seen.paired += paired
    seen.bare += bare
    if returns == paired and not (seen.paired and seen.bare):
        return
    kept = text.splitlines(keepends=True)
    wanted = b"\r\n" if seen.paired - paired or (not seen.bare - bare and kept[0].endswith(b"\r\n")) else b"\n"
    line = seen.lines + 1
    for part in kept:
        if not part.endswith(wanted) or (wanted == b"\n" and part.endswith(b"\r\n")):
            break
        line += 1
    raise _problem(line, "lines that all end the same way, \\n or \\r\\n")


def _problem(line: int, expected: str) -> InvalidRows:
    return InvalidRows([RowProblem(line, ROW, expected)])
