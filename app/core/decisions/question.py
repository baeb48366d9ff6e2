"""A question's body → a checked, hashable question. Everything refused here is refused from public numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Askable, Context
from app.core.decisions.estimands.estimand import Inner, Observed, OtherRelease, is_number
from app.core.decisions.regret import Regret
from app.core.decisions.sample_set import OtherName
from app.core.decisions.strict_fields import Share, as_written, check_fields, find_kind
from app.core.decisions.utilities import UTILITIES, Utility
from app.core.decisions.view import CALIBRATED, SAMPLES, View
from app.core.parameters import Parameter
from app.core.specs import ReadInItsPlace, Spec
from app.errors import InvalidQuery

if TYPE_CHECKING:
    UtilitySpec = object

CONFIDENCE_DEFAULT = 0.95
NONE_BESIDE: Mapping[OtherName, OtherRelease] = {}


class QuestionSpec(Spec):
    """What is asked about, and what makes a response good."""

    estimand: Inner | None = Field(default=None, description="Left out where the utility names its own.")
    utility: Annotated["UtilitySpec", ReadInItsPlace()] = Field(description="Of every response, over all samples.")
    confidence: Share = Field(default=CONFIDENCE_DEFAULT, description="Of the regret bound.")
    view: View = Field(
        default=SAMPLES,
        description="`samples`: the draws as they are. `calibrated`: the posterior given what was released, whose intervals hold "
        "the truth as often as they say; where a release has it, `views` names it.",
    )
    part: str | None = Field(
        default=None,
        description="Of a release of several models: the one that is asked, as if it were alone; null: all that the question "
        "names, as `cured.theta`.",
    )


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
    view: View = SAMPLES

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
        """Of an answer from so many samples, or points of a belief, whose mean utility may be `gap` below the highest.

        `questions` T: all T regret bounds of a batch fixed in advance hold together with the question's confidence 1 − δ,
        each holding with 1 − δ/T (the union bound).
        """
        bound = self.utility.regret(samples, self.delta / questions).widened(gap)
        method = bound.method if questions == 1 else f"{bound.method}; together for {questions} questions"
        if self.view == CALIBRATED:
            method += f"; of having {samples} points stand for the calibrated posterior, and of nothing else"
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
    body: object,
    parameters: Sequence[Parameter],
    model: object | None,
    askable: Askable,
    beside: Mapping[OtherName, OtherRelease] = NONE_BESIDE,
) -> Question:
    """`model` is the release's, and `askable` what can be asked of it: estimands of its kind know its class. `beside` are other
    releases that it may name.

    Each part is checked once and in its place, whole questions never: of a hostile one no more is read than the limits on
    depth and number allow. Raises InvalidQuery(field, expected) or InvalidExpression(field, expected, position).
    """
    if not isinstance(body, dict):
        raise InvalidQuery("query", "an object")
    spec = check_fields(QuestionSpec, body)
    context = Context(parameters, model, askable, beside=beside)
    estimand = None if spec.estimand is None else context.read(spec.estimand)
    kind = find_kind(UTILITIES, spec.utility, "utility")
    utility = kind.parse(check_fields(kind.spec, spec.utility, "utility"), estimand, context.at("utility"))
    return Question(tuple(parameters), estimand, utility, as_written(spec.confidence), spec.view)
