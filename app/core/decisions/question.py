"""A question's body → a checked, hashable question. Everything refused here is refused from public numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.core.decisions.estimands import AnyEstimand, Context, EstimandParser
from app.core.decisions.estimands.estimand import Observed, is_number
from app.core.decisions.regret import Regret
from app.core.decisions.strict_fields import read_fraction, refuse_unknown, require_object
from app.core.decisions.utilities import UTILITIES, Utility
from app.core.parameters import Parameter
from app.errors import InvalidQuery

FIELDS = frozenset({"estimand", "utility", "confidence"})
CONFIDENCE_DEFAULT = 0.95


@dataclass(frozen=True, slots=True)
class Preview:
    """From public numbers only. `regret` is what an answer carries if its search, where there is one, leaves no gap.

    `work` is operations a sample, `range` the estimand's where it is a number, `responses` how many are compared (None: real).
    """

    work: int
    samples: int
    range: tuple[float, float] | None
    responses: int | None
    regret: Regret


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
    def range(self) -> tuple[float, float] | None:
        """The estimand's public range, if it is a number."""
        if self.estimand is not None and (isinstance(self.estimand, Observed) or is_number(self.estimand)):
            return self.estimand.lower, self.estimand.upper
        return None

    @property
    def delta(self) -> float:
        """1 − confidence, subtracted before rounding: no digits are lost near confidence 1."""
        whole = self.confidence.denominator
        return (whole - self.confidence.numerator) / whole

    def regret(self, samples: int, gap: float = 0.0, questions: int = 1) -> Regret:
        """Of an answer from so many samples whose mean utility may be `gap` below the highest.

        `questions` T: all T regret bounds of a batch fixed in advance hold together with the question's confidence 1 − δ,
        each holding with 1 − δ/T (the union bound).
        """
        bound = self.utility.regret(samples, self.delta / questions).widened(gap)
        method = bound.method if questions == 1 else f"{bound.method}; together for {questions} questions"
        return Regret(bound.value, self.confidence.numerator / self.confidence.denominator, method)

    def preview(self, samples: int, *, questions: int = 1) -> Preview:
        """What an answer from so many samples would rest on. Refuses what answering would refuse, and reads no sample.

        Raises InvalidExpression or InvalidQuery if the question needs too many operations for this many samples.
        """
        if samples < 1 or questions < 1:
            raise ValueError("a question is asked of at least one sample, and is at least one question")
        self.utility.check(samples)
        return Preview(
            self.work, samples, self.range, self.utility.responses, self.regret(samples, questions=questions)
        )


def compile_question(
    body: Mapping[str, Any],
    parameters: Sequence[Parameter],
    model: object | None,
    estimands: Mapping[str, EstimandParser],
) -> Question:
    """`model` is the release's, and `estimands` what can be asked of it: those of its kind know its class.

    Raises InvalidQuery(field, expected) or InvalidExpression(field, expected, position).
    """
    spec = require_object("query", body)
    refuse_unknown("", spec, FIELDS)
    confidence = read_fraction("confidence", spec.get("confidence", CONFIDENCE_DEFAULT))
    context = Context(parameters, model, estimands)
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
