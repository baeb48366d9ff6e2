"""What an event on record costs under this version's bounds, by the law that drew it then.

An event names the model, the mechanism and the law. Mechanisms that have drawn differently since have a field `law`, and both
cost and draw follow it; the others draw as they always did. Kinds of models are heavy to load, and a ledger is verified
without them unless a line asks.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.errors import PosternError
from app.ledger.amounts import Amounts
from app.ledger.canonical import canonical_json

if TYPE_CHECKING:
    from app.core.privacy.release_cost import ReleaseCost

UNITS, RELATIVE = 2, 10**11


def cost_by_law(columns: Mapping[str, Any], event: Mapping[str, Any]) -> "ReleaseCost | str":
    """The cost, or why it cannot be computed; remembered. Raises KeyError or TypeError for an event that is none."""
    facts = [columns, event["model"], event["mechanism"], event["n"], event["unit_rows"], event.get("law", 1)]
    return _computed(canonical_json([*facts, event.get("check")]))


@lru_cache(maxsize=1024)
def _computed(facts: str) -> "ReleaseCost | str":
    from app.core.kinds import check_parsed, drawn_by, parse_mechanism, parse_model
    from app.core.kinds.fit_check import with_check
    from app.core.schema import parse_columns

    columns, described, mechanism, people, unit_rows, law, check = json.loads(facts)
    try:
        model = parse_model(described, parse_columns(columns, stored=True))
        cost = drawn_by(law, parse_mechanism(mechanism, model)).cost(model, people, unit_rows)
        return with_check(cost, check_parsed(check, model), unit_rows)
    except PosternError as refusal:
        return f"this version refuses the event ({refusal.code})"


def lenient(charged: Amounts) -> Amounts:
    """A little more than was charged: what rounding on another machine may come to."""

    def more(value: int) -> int:
        return value + UNITS + value // RELATIVE

    return Amounts(more(charged.pure_nano), tuple(map(more, charged.curve_nano)), more(charged.slack_atto))
