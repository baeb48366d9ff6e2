"""Odds about a secret before and after a release, as an SVG: one bar for what was believed, one for the most it can become."""

import math
from collections.abc import Mapping
from typing import Any

WIDTH, HEIGHT, LEFT, BAR, GAP = 560, 190, 150, 28, 14
_ROOM = WIDTH - LEFT - 90
_INK, _QUIET, _STRONG = "#1b1f24", "#9aa5b1", "#b3261e"


def odds_picture(answer: Mapping[str, Any]) -> bytes:
    """Self-contained: no script, no style sheet, no font but the reader's own. Numbers are public ones of the answer."""
    guess = answer["guess"]
    rows = [("before", guess["before"], _QUIET), ("after, at most", guess["after"], _INK)]
    if answer["probable"] is not None:
        probable = answer["probable"]
        rows.append((f"but for {probable['exception']:g}", _lifted(guess["before"], probable["nu"]), _STRONG))
    title = f"What a reader of {answer['samples']} samples may come to believe"
    drawn = [_text(10, 22, title, 15), _text(10, 42, _short(answer["assumption"]), 11)]
    for place, (name, share, colour) in enumerate(rows):
        top = 58 + place * (BAR + GAP)
        drawn += _row(top, name, share, colour)
    inside = "".join(drawn)
    alternative = f"Before {_percent(guess['before'])}, after at most {_percent(guess['after'])}."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{_escaped(alternative)}"><title>{_escaped(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{inside}</svg>'
    ).encode()


def _row(top: int, name: str, share: float, colour: str) -> list[str]:
    width = round(_ROOM * share, 1)
    return [
        _text(10, top + 19, name, 13),
        f'<rect x="{LEFT}" y="{top}" width="{_ROOM}" height="{BAR}" fill="#eef1f4"/>',
        f'<rect x="{LEFT}" y="{top}" width="{width}" height="{BAR}" fill="{colour}"/>',
        _text(LEFT + _ROOM + 8, top + 19, _percent(share), 13),
    ]


def _lifted(probability: float, rise: float) -> float:
    """With log-odds so much higher."""
    odds = math.log(probability) - math.log1p(-probability) if probability < 1 else math.inf
    return 1 / (1 + math.exp(-min(odds + rise, 700.0)))


def _percent(share: float) -> str:
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):g} %"


def _short(text: str) -> str:
    return text if len(text) <= 92 else text[:91].rstrip() + "…"


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" fill="{_INK}">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
