"""Tables as text: CSV, with or without the receipt in its first line, and JSON with one list a row.

Every double is the shortest decimal that reads back as itself, and one that is missing an empty cell or null; texts are quoted in
CSV and otherwise as they were declared.
"""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import msgspec

from app.services.reading.exports.csv_rows import RECEIPT_MARK, one_line, quoted
from app.services.reading.exports.table import Table, TableColumn, cells

_encode = msgspec.json.Encoder().encode
_TRUTHS = {True: "true", False: "false"}


def write_rows_csv(table: Table, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    """Names and rows alone: what was uploaded could look like this."""
    file.write((",".join(map(quoted, table.names)) + "\n").encode())
    for piece in table.pieces():
        rows = zip(*(_texts(column) for column in piece), strict=True)
        file.write("".join(f"{','.join(row)}\n" for row in rows).encode())


def write_table_csv(table: Table, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    file.write(f"{RECEIPT_MARK}{one_line(receipt)}\n".encode("ascii"))
    write_rows_csv(table, receipt, file)


def write_table_json(table: Table, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    head = {name: receipt[name] for name in ("release", "view", "samples", "parts", "points") if name in receipt}
    head |= {"columns": table.names}
    file.write(_encode(head)[:-1] + b',"rows":[')
    between = b""
    for piece in table.pieces():
        rows = [list(row) for row in zip(*map(cells, piece), strict=True)]
        file.write(between + _encode(rows)[1:-1])
        between = b","
    file.write(b'],"receipt":' + _encode(receipt) + b"}")


def _texts(column: TableColumn) -> list[str]:
    if column.levels is not None:
        levels = [quoted(level) for level in column.levels]
        return [levels[code] for code in column.values.tolist()]
    kinds: dict[str, Callable[[Any], str]] = {"f": _number, "b": _TRUTHS.__getitem__}
    return [*map(kinds.get(column.values.dtype.kind, str), column.values.tolist())]


def _number(value: float) -> str:
    """Nothing where there is no number."""
    return "" if value != value else repr(value)
