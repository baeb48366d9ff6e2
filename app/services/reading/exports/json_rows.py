"""JSON: one list a draw, in one object with the names of its columns and the receipt."""

from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec

from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat

_encode = msgspec.json.Encoder().encode


def write_json(draws: Draws, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    """Every value as the shortest decimal that reads back as the same double."""
    shown = ("release", "view", "samples", "parts", "points")
    head = {name: receipt[name] for name in shown if name in receipt} | {"parameters": draws.names}
    if draws.groups:
        head["groups"] = [draws.groups.get(name) for name in draws.names]
    file.write(_encode(head)[:-1] + b',"values":[')
    between = b""
    for rows in draws.lists():
        file.write(between)
        file.write(_encode(rows)[1:-1])
        between = b","
    file.write(b'],"receipt":' + _encode(receipt) + b"}")


JSON = ExportFormat(
    "json", "json", "application/json", write_json, ("msgspec",), layout=2, text=True, bytes_per_value=26
)
