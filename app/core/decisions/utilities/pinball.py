"""`{"kind": "pinball", "tau": 0.9}`: u = 1 − ρ_τ(g − r)/((upper − lower)·max(τ, 1−τ)). Answer: the τ-quantile.

ρ_τ(x) = max(τx, (τ−1)x). The response is the order statistic of rank ⌈τk⌉, τ read as the decimal written.
Tie rule: if τk is whole, every point from rank τk to the next is a maximiser; the response is the smallest.
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


class PinballSpec(Spec):
    """A quantile."""

    kind: Literal["pinball"] = Field(description="The name of the utility.")
    tau: Share = Field(description="Which quantile, read as the decimal written.")


@dataclass(frozen=True, slots=True)
class Pinball(JudgesEstimand):
    tau: Fraction

    @property
    def _scale(self) -> float:
        """The largest loss on [0, 1]."""
        below, whole = self.tau.numerator, self.tau.denominator
        return max(below, whole - below) / whole

    def decide(self, samples: SampleSet) -> Decision:
        response, loss = law_of(self.estimand, samples).quantile(self.tau)
        return Decision(response, in_unit(1 - loss / self._scale))

    def regret(self, samples: int, delta: float) -> Bound:
        return quantile_bound(self.estimand, [(self.tau, 1 / self._scale)], samples, delta)


def parse(spec: PinballSpec, estimand: AnyEstimand | None, context: Context) -> Pinball:
    return Pinball(require_law(estimand, "pinball"), as_written(spec.tau))
