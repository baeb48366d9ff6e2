"""`{"kind": "log", "floor": 0.001}`: report a probability, judged by the logarithm of what was given to what happens.

For an estimand g in [0, 1], the probability of an event in each sample, and a report r ∈ [f, 1 − f]:
    u = 1 + [g·ln r + (1 − g)·ln(1 − r)]/ln(1/f)  ∈ [0, 1],
what to expect of the log score of r when the event has probability g. Linear in g, so the best report is the mean of g, held to
[f, 1 − f]; it is the only one. For `classification` the report is a law p over L levels, each at least f:
    u = 1 + Σ_v P_θ(v)·ln p_v/ln(1/f),
largest at p_v = max(f, m_v/s) with m the mean law and s the one number that makes the sum one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context, Estimand
from app.core.decisions.estimands.estimand import Classified, is_number
from app.core.decisions.regret import Bound, bound_log_law, bound_log_report
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities.utility import Decision, JudgesEstimand, in_unit, require_any
from app.core.specs import Expects, Spec
from app.errors import InvalidQuery

FLOOR_DEFAULT = 1e-3
FLOOR_MIN = 1e-9


Floor = Annotated[float, Field(ge=FLOOR_MIN, lt=0.5), Expects(f"a number from {FLOOR_MIN:g} to below 1/2")]


class LogSpec(Spec):
    """The probability to report, or those of all levels."""

    kind: Literal["log"] = Field(description="The name of the utility.")
    floor: Floor = Field(
        default=FLOOR_DEFAULT,
        description="No report is below it; below 1/L for L levels, and 0.5/L unless given where that is less.",
    )


@dataclass(frozen=True, slots=True)
class LogReport(JudgesEstimand):
    estimand: Estimand
    floor: float

    def decide(self, samples: SampleSet) -> Decision:
        mean = self.estimand.distribution(samples).mean
        report = min(max(mean, self.floor), 1 - self.floor)
        score = mean * np.log(report) + (1 - mean) * np.log1p(-report)
        return Decision(report, in_unit(float(1 - score / np.log(self.floor))))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_log_report(self.estimand.lower, self.estimand.upper, self.floor, samples, delta)


@dataclass(frozen=True, slots=True)
class LogLaw:
    estimand: Classified
    floor: float
    responses: ClassVar[int | None] = None

    @property
    def work(self) -> int:
        return self.estimand.work

    def check(self, samples: int) -> None:
        self.estimand.check(samples)

    def decide(self, samples: SampleSet) -> Decision:
        mean = self.estimand.mean_law(samples)
        report = floored_law(mean, self.floor)
        score = float(sum(mean[level] * np.log(report[level]) for level in mean))
        return Decision(report, in_unit(float(1 - score / np.log(self.floor))))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_log_law(self.estimand.outcomes, samples, delta)


def floored_law(mean: Mapping[str, float], floor: float) -> dict[str, float]:
    """max(f, m/s): levels go to the floor, least probable first, until the rest, sharing what is left, stay above it."""
    held: set[str] = set()
    for level in sorted(mean, key=lambda each: mean[each]):
        rest = sum(share for name, share in mean.items() if name not in held)
        if mean[level] * (1 - len(held) * floor) >= floor * rest:
            break
        held.add(level)
    rest = sum(share for name, share in mean.items() if name not in held)
    free = 1 - len(held) * floor
    return {name: floor if name in held else share * free / rest for name, share in mean.items()}


def parse(spec: LogSpec, estimand: AnyEstimand | None, context: Context) -> LogReport | LogLaw:
    found, floor = require_any(estimand, "log"), spec.floor
    if isinstance(found, Classified):
        if "floor" not in spec.model_fields_set:
            floor = min(FLOOR_DEFAULT, 0.5 / found.outcomes)
        if not floor < 1 / found.outcomes:
            raise InvalidQuery("utility.floor", f"a number from {FLOOR_MIN:g} to below 1/{found.outcomes}")
        return LogLaw(found, floor)
    if not is_number(found) or not 0 <= found.lower < found.upper <= 1:
        raise InvalidQuery(
            "estimand.kind", "classification, or a probability: an estimand whose range is inside [0, 1]"
        )
    return LogReport(found, floor)
