"""The header of a CSV file: the only record that decides how the others are cut, because it is public."""

import csv
from collections.abc import Collection
from pathlib import Path

from app.core.schema.spellings import bare
from app.errors import InvalidRows, RowProblem
from app.sources.files.csv_lines import LINE_BYTES_MAX, ROW
from app.sources.files.joined_lines import BREAK, line_state

SNIFFED = (",", ";", "\t")
"""In this order where the header does not decide."""
HEADER_LINES_MAX = 100
_EXPECTED = "a header line naming the declared columns"
_BREAK = BREAK.decode()


def header_of(path: Path, charset: str = "utf-8") -> str:
    """Without its end and without a byte order mark; no further record is looked at. A line break inside quotes is a BREAK, and
    what is no text of this character set is `\ufffd`. Raises InvalidRows about line 1."""
    header = ""
    with path.open(encoding=charset, errors="replace", newline="\n") as file:
        for _ in range(HEADER_LINES_MAX):
            line = file.readline(LINE_BYTES_MAX + 1)
            header += line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line
            if len(header) > LINE_BYTES_MAX:
                raise InvalidRows([RowProblem(1, ROW, f"{_EXPECTED}, of at most {LINE_BYTES_MAX} bytes")])
            header = header.removeprefix("\ufeff")
            if not line.endswith("\n") or not _goes_on(header):
                return header
            header += _BREAK
    raise InvalidRows([RowProblem(1, ROW, f"{_EXPECTED}, each quote closed within {HEADER_LINES_MAX} lines")])


def _goes_on(header: str) -> bool:
    """Whether it ends inside quotes, by whatever separates its cells."""
    text = header.encode()
    return any(line_state(text, each.encode(), inside=False) == "open" for each in (*SNIFFED, "|"))


def separator_of(header: str, declared: Collection[str]) -> str:
    """The one that cuts the header into most of the declared names."""
    wanted = set(declared)
    counts = {each: len(wanted & set(names_in(header, each))) for each in SNIFFED}
    return max(SNIFFED, key=lambda each: counts[each])


def names_in(header: str, separator: str) -> list[str]:
    """Quotes around a name are taken off, those inside are doubled. Nothing, where it is not CSV."""
    try:
        return [column_name(cell) for cell in next(csv.reader([header], delimiter=separator), [])]
    except csv.Error:
        return []


def column_name(cell: str) -> str:
    """Blanks around it do not matter, and a line break inside is one."""
    return bare(cell.replace(_BREAK, " "))
