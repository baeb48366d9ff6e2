"""The header line of a CSV file: the only line that decides how the others are cut, because it is public."""

import codecs
import csv
from collections.abc import Collection
from pathlib import Path

from app.errors import InvalidRows, RowProblem
from app.sources.files.csv_lines import LINE_BYTES_MAX, ROW

SNIFFED = (",", ";", "\t")
"""In this order where the header does not decide."""
_EXPECTED = "a header line naming the declared columns"


def header_of(path: Path, charset: str = "utf-8") -> str:
    """Without its end and without a byte order mark; no further byte is looked at. Raises InvalidRows about line 1."""
    decoder = codecs.getincrementaldecoder(charset)(errors="replace")
    text = ""
    with path.open("rb") as file:
        while "\n" not in text and len(text) <= LINE_BYTES_MAX and (chunk := file.read(1 << 16)):
            text += decoder.decode(chunk)
    line, end, _ = text.removeprefix("\ufeff").partition("\n")
    if not end and len(text) > LINE_BYTES_MAX:
        raise InvalidRows([RowProblem(1, ROW, f"{_EXPECTED}, of at most {LINE_BYTES_MAX} bytes")])
    return line.removesuffix("\r")


def separator_of(header: str, declared: Collection[str]) -> str:
    """The one that cuts the header into most of the declared names."""
    wanted = set(declared)
    counts = {each: len(wanted & {cell.strip() for cell in cells(header, each)}) for each in SNIFFED}
    return max(SNIFFED, key=lambda each: counts[each])


def cells(header: str, separator: str) -> list[str]:
    """Of one line; quotes around a cell are taken off, those inside are doubled. Nothing, where it is not CSV."""
    try:
        return next(csv.reader([header], delimiter=separator), [])
    except csv.Error:
        return []
