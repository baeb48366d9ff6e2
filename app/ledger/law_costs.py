"""What an event on record costs under this version's bounds, by the law that drew it then.

An event names the model, the mechanism and the law. Mechanisms that have drawn differently since have a field `law`, and both
cost and draw follow it; the others draw as they always did. Kinds of models are heavy to load, and a ledger is verified
without them unless a line asks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.errors import PosternError
from app.ledger.amounts import Amounts
from app.ledger.canonical import canonical_json

if TYPE_CHECKING:
    from app.core.privacy.release_cost import ReleaseCost

UNITS, RELATIVE = 2, 10**11


class LawCosts:
    """Remembers every cost it computed."""

    def __init__(self) -> None:
        self._costs: dict[str, ReleaseCost | str] = {}

    def cost(self, columns: Mapping[str, Any], event: Mapping[str, Any]) -> "ReleaseCost | str":
        """The cost, or why it cannot be computed. Raises KeyError or TypeError for an event that is none."""
        facts = [columns, event["model"], event["mechanism"], event["n"], event["unit_rows"], event.get("law", 1)]
        memo = canonical_json(facts)
        if memo not in self._costs:
            self._costs[memo] = _compute(columns, event)
        return self._costs[memo]


def _compute(columns: Mapping[str, Any], event: Mapping[str, Any]) -> "ReleaseCost | str":
    from app.core.kinds import drawn_by, parse_mechanism, parse_model
    from app.core.schema import parse_columns

    try:
        model = parse_model(event["model"], parse_columns(columns))
        mechanism = drawn_by(event.get("law", 1), parse_mechanism(event["mechanism"], model))
        return mechanism.cost(model, event["n"], event["unit_rows"])
    except PosternError as refusal:
        return f"this version refuses the event ({refusal.code})"


def lenient(charged: Amounts) -> Amounts:
    """A little more than was charged: what rounding on another machine may come to."""

    def more(value: int) -> int:
        return value + UNITS + value // RELATIVE

    return Amounts(more(charged.pure_nano), tuple(map(more, charged.curve_nano)), more(charged.slack_atto))
