"""The card of a release of several models: lines about the whole, and which of them its parts do not repeat."""

from collections.abc import Sequence
from typing import Any

LINES_OF_THE_WHOLE = frozenset({"budget", "moment", "public_columns", "schema_changed", "rehearsal", "vacuous"})
PART_FIGURES = ("samples", "epsilon", "delta", "best_order", "pure_epsilon")
_TEXT = (
    "This release is of {count} models of the same people, charged and read once: {each}. What anyone may conclude from all of "
    "them together is covered by the figures above, which are sums; who knows one part only is covered by that part's own."
)


def parts_line(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    each = ", ".join(f"{part['name']} (ε = {part['epsilon']:.4g})" for part in parts)
    return {
        "name": "parts",
        "value": [part["name"] for part in parts],
        "basis": "exact",
        "assumption": "parts are drawn independently of each other, given the data",
        "text": _TEXT.format(count=len(parts), each=each),
    }
