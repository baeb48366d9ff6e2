"""The card of a release of several models: a line about the whole, and what it takes over of each part's own card."""

from collections.abc import Mapping, Sequence
from typing import Any

LINES_OF_THE_WHOLE = frozenset(
    {"budget", "moment", "public_columns", "schema_changed", "rehearsal", "vacuous", "vouched"}
)
"""Said once, and not of every part again."""
PART_FIGURES = ("samples", "epsilon", "delta", "best_order", "pure_epsilon")
_TEXT = (
    "This release is of {count} models of the same people, charged and read once: {each}. What anyone may conclude from all of "
    "them together is covered by the figures above, which are sums; who knows one part only is covered by that part's own."
)


def parts_line(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    each = ", ".join(f"{part['name']} (ε = {part['epsilon']:.4g})" for part in parts)
    return {
        "name": "parts",
        "value": [part["name"] for part in parts],
        "basis": "exact",
        "assumption": "parts are drawn independently of each other, given the data",
        "text": _TEXT.format(count=len(parts), each=each),
    }


def part_figures(name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name} | {figure: card[figure] for figure in PART_FIGURES}


def part_lines(name: str, card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every one names its part."""
    return [line | {"part": name} for line in card["lines"] if line["name"] not in LINES_OF_THE_WHOLE]
