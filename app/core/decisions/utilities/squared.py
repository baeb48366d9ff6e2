"""`{"kind": "squared"}`: u = 1 − ((g − r)/(upper − lower))². The response is the mean, the only maximiser."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.regret import Bound, bound_mean
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities.utility import Decision, JudgesEstimand, in_unit, law_of, require_law
from app.core.specs import Spec


class SquaredSpec(Spec):
    """The mean."""

    kind: Literal["squared"] = Field(description="The name of the utility.")


@dataclass(frozen=True, slots=True)
class Squared(JudgesEstimand):
    def decide(self, samples: SampleSet) -> Decision:
        """At the mean the summed loss is k times the variance."""
        values = law_of(self.estimand, samples)
        return Decision(values.mean, in_unit(1 - values.variance))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_mean(samples, delta)


def parse(spec: SquaredSpec, estimand: AnyEstimand | None, context: Context) -> Squared:
    return Squared(require_law(estimand, "squared"))
