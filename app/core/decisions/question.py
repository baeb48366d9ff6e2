"""A question's body → a checked, hashable question. Everything refused here is refused from public numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.core.decisions.estimands import ESTIMANDS, Estimand
from app.core.decisions.strict_fields import read_fraction, refuse_unknown, require_object
from app.core.decisions.utilities import UTILITIES, Utility
from app.core.families import Model
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

FIELDS = frozenset({"estimand", "utility", "confidence"})
CONFIDENCE_DEFAULT = 0.95


@dataclass(frozen=True, slots=True)
class Question:
    """Compiled once, answered from any prefix of any sample set over the same parameters."""

    parameters: tuple[Parameter, ...]
    estimand: Estimand | None
    utility: Utility
    confidence: Fraction

    @property
    def delta(self) -> float:
        """1 − confidence, subtracted before rounding: no digits are lost near confidence 1."""
        return float(1 - self.confidence)


def compile_question(body: Mapping[str, Any], parameters: Sequence[Parameter], model: Model | None = None) -> Question:
    """`model` gives a record's law to questions about one.

    Raises InvalidQuery(field, expected) or InvalidExpression(field, expected, position).
    """
    spec = require_object("query", body)
    refuse_unknown("", spec, FIELDS)
    confidence = read_fraction("confidence", spec.get("confidence", CONFIDENCE_DEFAULT))
    estimand = None
    if spec.get("estimand") is not None:
        estimand_spec = require_object("estimand", spec["estimand"])
        estimand = ESTIMANDS[_read_kind("estimand", estimand_spec, ESTIMANDS)](estimand_spec, parameters, model)
    utility_spec = require_object("utility", spec.get("utility"))
    parse_utility = UTILITIES[_read_kind("utility", utility_spec, UTILITIES)]
    utility = parse_utility(utility_spec, estimand, parameters)
    return Question(tuple(parameters), estimand, utility, confidence)


def _read_kind(field: str, spec: Mapping[str, Any], registry: Mapping[str, object]) -> str:
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in registry:
        raise InvalidQuery(f"{field}.kind", "one of " + ", ".join(registry))
    return kind
