"""`{"kind": "absolute"}`: u = 1 − |g − r|/(upper − lower). The response is the median.

Tie rule: of an even number of samples every point between the two middle ones is a maximiser; the response is
the lower of the two.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.regret import Bound
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities.utility import Decision, JudgesEstimand, in_unit, law_of, quantile_bound, require_law
from app.core.specs import Spec

HALF = Fraction(1, 2)


class AbsoluteSpec(Spec):
    """The median."""

    kind: Literal["absolute"] = Field(description="The name of the utility.")


@dataclass(frozen=True, slots=True)
class Absolute(JudgesEstimand):
    """|x| is twice the pinball loss at 1/2."""

    def decide(self, samples: SampleSet) -> Decision:
        response, loss = law_of(self.estimand, samples).quantile(HALF)
        return Decision(response, in_unit(1 - 2 * loss))

    def regret(self, samples: int, delta: float) -> Bound:
        return quantile_bound(self.estimand, [(HALF, 2.0)], samples, delta)


def parse(spec: AbsoluteSpec, estimand: AnyEstimand | None, context: Context) -> Absolute:
    return Absolute(require_law(estimand, "absolute"))
