"""A whole question, and a few words for it in a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from postern.client.call import given as present
from postern.client.questions.estimands import Estimand
from postern.client.questions.utilities import Utility

View = Literal["samples", "calibrated"]
"""Of a release: its samples as they were drawn, or what may be believed after seeing them."""


@dataclass(frozen=True, slots=True)
class Question:
    """`confidence` belongs to the regret bound; the service takes 0.95 if it is left out.

    `view` is left out for that of the release it is asked of: calibrated where there is one.
    """

    utility: Utility
    estimand: Estimand | None = None
    confidence: float | None = None
    view: View | None = None

    def to_json(self) -> dict[str, Any]:
        estimand = None if self.estimand is None else self.estimand.to_json()
        return present(estimand=estimand, utility=self.utility.to_json(), confidence=self.confidence, view=self.view)

    def __str__(self) -> str:
        return describe(self.to_json())


AnyQuestion = Question | Mapping[str, Any]
"""A question, or one as the service reads it: `{"estimand": …, "utility": …}`."""

_NAMES = {"squared": "mean", "absolute": "median", "zero_one": "likeliest", "log": "probability to report"}


def as_json(question: AnyQuestion, view: View | None = None, part: str | None = None) -> dict[str, Any]:
    """With the view and the part of several models, unless the question names its own."""
    found = question.to_json() if isinstance(question, Question) else dict(question)
    asked = ({} if view is None else {"view": view}) | ({} if part is None else {"part": part})
    return asked | found


def describe(question: AnyQuestion) -> str:
    """`mean of theta`, `90 % interval of theta / (1 - theta)`, `best of 3 actions`; whatever the question holds."""
    shown = as_json(question)
    utility = shown.get("utility")
    by = utility if isinstance(utility, Mapping) else {}
    kind = str(by.get("kind", "answer"))
    if kind == "actions":
        choices = by.get("actions")
        return f"best of {len(choices) if isinstance(choices, Mapping) else '?'} actions"
    what = {
        "pinball": f"{by.get('tau')}-quantile",
        "interval": _share(by.get("level")),
        "expression": f"best r for {by.get('utility')}",
    }.get(kind) or _NAMES.get(kind, kind)
    estimand = shown.get("estimand")
    return what if not isinstance(estimand, Mapping) else f"{what} of {_about(estimand)}"


def _share(level: Any) -> str:
    return f"{100 * level:g} % interval" if isinstance(level, int | float) else "interval"


def _about(estimand: Mapping[str, Any]) -> str:
    kind = estimand.get("kind")
    if kind in ("parameter", "expression"):
        return str(estimand.get("name") or estimand.get("expression"))
    if kind == "comparison":
        sides = (estimand.get("left"), estimand.get("right"))
        return " > ".join(_about(side) if isinstance(side, Mapping) else "?" for side in sides)
    if kind == "probability":
        return f"P({_levels(estimand.get('event'))}{_given(estimand.get('evidence'))})"
    if kind == "expectation":
        return f"E({estimand.get('variable')}{_given(estimand.get('evidence'))})"
    rest = ", ".join(f"{name} {_levels(value)}" for name, value in estimand.items() if name != "kind")
    return f"{kind}({rest})"


def _given(evidence: Any) -> str:
    return f" | {_levels(evidence)}" if evidence else ""


def _levels(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ", ".join(f"{name}={_levels(level)}" for name, level in value.items())
