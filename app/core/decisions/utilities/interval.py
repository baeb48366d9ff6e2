"""`{"kind": "interval", "level": 0.9}`: a credible interval [a, b] under the interval (Winkler) score.

With α = 1 − level the score is (b − a) + (2/α)·(a − g)₊ + (2/α)·(g − b)₊, smaller is better. It equals
(2/α)·[ρ_{α/2}(g − a) + ρ_{1−α/2}(g − b)], so the two ends separate and the summed score is least at the α/2
and 1 − α/2 quantiles. It is convex in (a, b, g), so on lower ≤ a ≤ b ≤ upper it is largest at a corner:
(2/α)·(upper − lower), an interval of no width at the wrong end. Hence
    u = 1 − [ρ_{α/2}(g − a) + ρ_{1−α/2}(g − b)]/(upper − lower)  ∈ [0, 1].
Tie rule: the smallest maximising a, and the smallest maximising b.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.regret import Bound
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import Share, as_written
from app.core.decisions.utilities.utility import Decision, JudgesEstimand, in_unit, law_of, quantile_bound, require_law
from app.core.specs import Spec


class IntervalSpec(Spec):
    """A central interval."""

    kind: Literal["interval"] = Field(description="The name of the utility.")
    level: Share = Field(description="The probability inside it, read as the decimal written.")


@dataclass(frozen=True, slots=True)
class Interval(JudgesEstimand):
    ends: tuple[Fraction, Fraction]
    """α/2 and 1 − α/2."""

    def decide(self, samples: SampleSet) -> Decision:
        law = law_of(self.estimand, samples)
        (low, low_loss), (high, high_loss) = (law.quantile(tau) for tau in self.ends)
        return Decision([low, high], in_unit(1 - (low_loss + high_loss)))

    def regret(self, samples: int, delta: float) -> Bound:
        return quantile_bound(self.estimand, [(tau, 1.0) for tau in self.ends], samples, delta)


def parse(spec: IntervalSpec, estimand: AnyEstimand | None, context: Context) -> Interval:
    level = as_written(spec.level)
    below, whole = level.numerator, level.denominator
    ends = Fraction(whole - below, 2 * whole), Fraction(whole + below, 2 * whole)
    return Interval(require_law(estimand, "interval"), ends)
