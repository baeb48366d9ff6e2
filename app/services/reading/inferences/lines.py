"""Lines of the card about people whose data depend on each other: what can be concluded, guessed and reconstructed.

From the release's own curve, by the path of neighbours alone (`privacy/together/path.py`): the endpoint knows a few percent more
for few people. What needs a pure ε stands beside it.
"""

import math
from dataclasses import dataclass
from typing import Any

from app.core.dependence import leakage, odds
from app.core.dependence.alike import Household, Relatives
from app.core.dependence.inference import best_guess, guess_text, secret_curve
from app.core.dependence.structure import Secret, Structure
from app.core.kinds.group_costs import ReleaseLosses
from app.core.kinds.plan_figures import finite
from app.core.privacy import statements as say

INFLUENCE_SHOWN = 0.5
RELATIVES_SHOWN = 2
AGREEMENT_SHOWN = 0.75
HOUSEHOLD_SHOWN = 4
EXCEPTION_SHOWN = 0.05
_ONE = Secret((0,))
_EVEN = (0.5, 0.5)

INDEPENDENT = Household(1, _ONE)
SHOWN: dict[str, Structure] = {
    "independent": INDEPENDENT,
    "relatives": Relatives(RELATIVES_SHOWN, AGREEMENT_SHOWN, _ONE),
    "household": Household(HOUSEHOLD_SHOWN, _ONE),
}


@dataclass(frozen=True, slots=True)
class Inferred:
    """Of one structure: ν but for 5 %, ε at the dataset's δ, the best guess of an even secret."""

    rise: float | None
    at_delta: float | None
    guess: float


def inferred(losses: ReleaseLosses, delta: float, structure: Structure) -> Inferred:
    one, curve = losses.group(1), secret_curve(losses, structure)
    pure = losses.group(structure.people).pure
    told = odds.points(curve, one.slack_delta, pure if math.isfinite(pure) else None)
    rise = odds.probable_rise(curve, one.slack_delta, EXCEPTION_SHOWN)
    return Inferred(
        None if rise is None else rise[0],
        odds.epsilon_at(curve, one.slack_delta, delta),
        best_guess(losses, structure, _EVEN, told),
    )


def inferential_value(pure: float, losses: ReleaseLosses, delta: float) -> dict[str, Any]:
    found = {name: inferred(losses, delta, structure) for name, structure in SHOWN.items()}
    known = math.isfinite(pure)
    return {
        "independent": finite(pure),
        "influence": INFLUENCE_SHOWN,
        "influenced": finite(say.inferential_bound(pure, INFLUENCE_SHOWN)) if known else None,
        "relatives": RELATIVES_SHOWN,
        "agreement": AGREEMENT_SHOWN,
        "with_relatives": finite(say.relatives_bound(pure, RELATIVES_SHOWN, AGREEMENT_SHOWN)) if known else None,
        "household": HOUSEHOLD_SHOWN,
        "exception": EXCEPTION_SHOWN,
        "probable": {name: each.rise for name, each in found.items()},
        "at_delta": {name: each.at_delta for name, each in found.items()} | {"delta": delta},
    }


INFERENTIAL_ASSUMPTION = (
    f"`influenced`: each person's data influenced by all others together by at most {INFLUENCE_SHOWN:g} (a quarter of the "
    f"largest log cross-ratio of two people's values); `with_relatives`: {RELATIVES_SHOWN} others share a yes/no record with "
    f"probability {AGREEMENT_SHOWN:g} each; both from the pure ε only; `probable` and `at_delta` from the Rényi curve of groups: "
    f"a household of {HOUSEHOLD_SHOWN}, whose data may depend on each other in any way, and {RELATIVES_SHOWN} relatives; "
    f"`probable` is exceeded with probability {EXCEPTION_SHOWN:g} at most; who is not named is independent of them"
)


def inferential_text(value: dict[str, Any]) -> str:
    text = (
        "If people's data depend on each other, more can be concluded about one person than from their own record; these "
        "bound how far the log-odds can then move."
    )
    probable = value["probable"]
    if probable["household"] is None:
        return text
    return (
        f"{text} But for one release in {1 / EXCEPTION_SHOWN:g}, odds of the truth rise at most "
        f"{_factor(probable['independent'])} times for someone whose data are independent, "
        f"{_factor(probable['relatives'])} times with {RELATIVES_SHOWN} relatives, "
        f"{_factor(probable['household'])} times in a household of {HOUSEHOLD_SHOWN}."
    )


def guess_value(losses: ReleaseLosses, delta: float) -> dict[str, Any]:
    return {"before": 0.5} | {name: inferred(losses, delta, each).guess for name, each in SHOWN.items()}


def told_guess(value: dict[str, Any]) -> str:
    alone = guess_text(0.5, value["independent"])
    then = [math.ceil(value[name] * 1000 - 1e-9) / 10 for name in ("relatives", "household")]
    return (
        f"About a yes or no of one person {alone}; with {RELATIVES_SHOWN} relatives who mostly share it "
        f"{min(100.0, then[0]):g} %, in a household of {HOUSEHOLD_SHOWN} {min(100.0, then[1]):g} %."
    )


def reconstruction_value(losses: ReleaseLosses) -> dict[str, Any]:
    missed, group = leakage.reconstruction_floor(losses)
    return {"missed_at_least": missed, "group": group}


def _factor(log_odds: float) -> str:
    return f"{math.exp(log_odds):.3g}" if log_odds < 25 else "more than 10¹⁰"
