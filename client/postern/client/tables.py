"""Results for people: aligned text for terminals, escaped HTML for notebooks, from the same cells.

Names come from elsewhere. In a terminal every character that could move the cursor or change colours is spelt out; in a
notebook everything is escaped.
"""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar

_CELL_MAX = 120


class Shown:
    """A dataclass that shows itself as a table of its fields; fields kept out of `repr` are kept out of this too."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _cells(self) -> list[tuple[str, str]]:
        return [(found.name, cell(getattr(self, found.name))) for found in fields(self) if found.repr]

    def _repr_html_(self) -> str:
        return html_table(("", type(self).__name__), self._cells())

    def __str__(self) -> str:
        return text_table((), self._cells())


def cell(value: Any) -> str:
    """One value, briefly. Numbers keep six digits: tables are to be read, attributes to be computed with."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, tuple | list):
        return _shortened("[" + ", ".join(cell(item) for item in value) + "]")
    if isinstance(value, dict):
        return _shortened(", ".join(f"{name}: {cell(item)}" for name, item in value.items()))
    if hasattr(value, "__dataclass_fields__"):
        shown = [f"{f.name} {cell(getattr(value, f.name))}" for f in fields(value) if f.repr]
        return _shortened(", ".join(shown))
    return _shortened(str(value))


def printable(text: str) -> str:
    """Control and format characters as escapes, so that a name cannot write over what stands before it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character == " " or unicodedata.category(character)[0] not in "CZ" else _spelt(character)
        for character in text
    )


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width; numbers to the right. No frame: it pastes well and can be cut with `awk`."""
    shown = [[printable(item) for item in row] for row in ([header, *rows] if header else rows)]
    if not shown:
        return ""
    widths = [max(map(_width, column)) for column in zip(*shown, strict=True)]
    body = shown[1:] if header else shown
    right = [bool(body) and all(_is_number(row[i]) for row in body) for i in range(len(widths))]
    lines = [
        "  ".join(_padded(item, width, side) for item, width, side in zip(row, widths, right, strict=True)).rstrip()
        for row in shown
    ]
    if header:
        lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(lines)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    head = "".join(f"<th>{html.escape(printable(item))}</th>" for item in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(printable(item))}</td>" for item in row) + "</tr>" for row in rows
    )
    title = f"<caption>{html.escape(printable(caption))}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shortened(text: str) -> str:
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"


def _spelt(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _padded(text: str, width: int, right: bool) -> str:
    room = " " * (width - _width(text))
    return room + text if right else text + room


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("…").replace("–", "0"))
    except ValueError:
        return False
    return True
