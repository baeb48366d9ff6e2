"""What a plan by accuracy says about intervals, as JSON: the same for one model and for several."""

import math
from typing import Any

from app.core.kinds.accuracy_goal import AccuracySearch, Goal, Offer, Price, normal_width
from app.core.kinds.protocols import ReleaseMechanism
from app.services.plans.asked_groups import described

SIMULATED, FORMULA = "the mean over simulated releases", "z times the expected sd, by the normal law"


def precision_json(search: AccuracySearch, level: float, mechanism: ReleaseMechanism, sd: float) -> dict[str, Any]:
    """Of this mechanism at that level; where intervals are simulated, as simulated, otherwise from the sd that is expected."""
    found = search.coverage(mechanism, level)
    simulated = found.half_width is not None and found.sd is not None
    return {
        "level": level,
        "half_width": found.half_width if simulated else normal_width(level) * sd,
        "sd": found.sd if simulated else sd,
        "noiseless_sd": search.best_sd,
        "meaning": search.meaning,
        "method": SIMULATED if simulated else FORMULA,
        "coverage": {
            "share": found.share,
            "standard_error": found.standard_error,
            "releases": found.releases,
            "method": found.method,
        },
    }


def goal_json(goal: Goal | None) -> dict[str, Any] | None:
    if goal is None:
        return None
    return {goal.measure: goal.value, "level": goal.level}


def release_json(model: dict[str, Any], offer: Offer) -> dict[str, Any]:
    """The body of `POST /v1/datasets/{id}/releases`."""
    return described(model) | {"mechanism": offer.mechanism.as_json()}


def why(offers: list[Offer], price: Price, words: str) -> str:
    """Why the first of several is taken; `words` name what is compared."""
    best, *rest = offers
    prices = [(each.mechanism.kind, price(each.cost.total)) for each in rest]
    others = ", ".join(f"{kind} {value:.4g}" for kind, value in prices if math.isfinite(value))
    if not others:
        alone = "the others that reach it have no pure ε" if rest else "the only mechanism that reaches it"
        return f"{best.mechanism.kind}: {alone}"
    return f"{best.mechanism.kind}: reaches it at {words} {price(best.cost.total):.4g}, against {others}"
