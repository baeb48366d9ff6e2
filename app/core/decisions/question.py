"""A question's body → a checked, hashable question. Everything refused here is refused from public numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.core.decisions.estimands import ESTIMANDS, AnyEstimand, Context
from app.core.decisions.strict_fields import read_fraction, refuse_unknown, require_object
from app.core.decisions.utilities import UTILITIES, Utility
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

FIELDS = frozenset({"estimand", "utility", "confidence"})
CONFIDENCE_DEFAULT = 0.95


@dataclass(frozen=True, slots=True)
class Question:
    """Compiled once, answered from any prefix of any sample set over the same parameters."""

    parameters: tuple[Parameter, ...]
    estimand: AnyEstimand | None
    utility: Utility
    confidence: Fraction

    @property
    def work(self) -> int:
        """Operations a sample, about; times the samples, whether an answer is a matter of microseconds or of a second."""
        return self.utility.work

    @property
    def delta(self) -> float:
        """1 − confidence, subtracted before rounding: no digits are lost near confidence 1."""
        return float(1 - self.confidence)


def compile_question(body: Mapping[str, Any], parameters: Sequence[Parameter], model: object | None = None) -> Question:
    """`model` is the release's, of any class; estimands that need to know it look for the classes they know.

    Raises InvalidQuery(field, expected) or InvalidExpression(field, expected, position).
    """
    spec = require_object("query", body)
    refuse_unknown("", spec, FIELDS)
    confidence = read_fraction("confidence", spec.get("confidence", CONFIDENCE_DEFAULT))
    context = Context(parameters, model, ESTIMANDS)
    estimand = None
    if spec.get("estimand") is not None:
        estimand = context.read(spec["estimand"])
    utility_spec = require_object("utility", spec.get("utility"))
    kind = utility_spec.get("kind")
    if not isinstance(kind, str) or kind not in UTILITIES:
        raise InvalidQuery("utility.kind", "one of " + ", ".join(UTILITIES))
    parse_utility = UTILITIES[kind]
    utility = parse_utility(utility_spec, estimand, context.at("utility"))
    return Question(tuple(parameters), estimand, utility, confidence)
