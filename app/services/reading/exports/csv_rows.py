"""CSV: the receipt in a line that starts with `#`, then the names, then one line a draw.

Names are quoted and otherwise left as the steward wrote them. The line with the receipt has no line break and an even
number of quotes, whatever the names are, so readers that know about quotes skip exactly that line too.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec

from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat

RECEIPT_MARK = "# postern-receipt: "

_encode = msgspec.json.Encoder().encode
_ESCAPED = re.compile(r"\\(.)")


def write_csv(draws: Draws, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    """Every value as the shortest decimal that reads back as the same double."""
    file.write(f"{RECEIPT_MARK}{one_line(receipt)}\n".encode("ascii"))
    file.write((",".join(map(quoted, draws.names)) + "\n").encode())
    for rows in draws.lists():
        # [[1.5,2.5],[3.5,4.5]] → 1.5,2.5 and 3.5,4.5: there is no other text in it.
        file.write(_encode(rows)[2:-2].replace(b"],[", b"\n") + b"\n")


def one_line(receipt: Mapping[str, Any]) -> str:
    text = json.dumps(receipt, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: "\\u0022" if found[1] == '"' else found[0], text)


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


CSV = ExportFormat("csv", "csv", "text/csv; charset=utf-8", write_csv, ("msgspec",), text=True, bytes_per_value=26)
