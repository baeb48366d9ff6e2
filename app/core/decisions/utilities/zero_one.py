"""`{"kind": "zero_one"}`: u = 1 for naming the right outcome, 0 for any other. The response is the likeliest outcome.

Averaged over what a sample leaves open, u(θ, v) = P_θ(v): for `classification` the probability of a level given the features,
for `explanation` that of all levels together; for an expression or a comparison with finitely many values, 1 where it takes the
value v. So the response is the outcome with the highest mean probability, a mode. Tie rule: the estimand's own.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.estimands.estimand import Guessed, is_guessed
from app.core.decisions.regret import Bound, bound_mode
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.utilities.utility import Decision, in_unit, require_any, runner_up
from app.core.specs import Spec
from app.errors import InvalidQuery


class ZeroOneSpec(Spec):
    """The likeliest of finitely many outcomes."""

    kind: Literal["zero_one"] = Field(description="The name of the utility.")


@dataclass(frozen=True, slots=True)
class ZeroOne:
    estimand: Guessed

    @property
    def work(self) -> int:
        return self.estimand.work

    @property
    def responses(self) -> int:
        return self.estimand.tried

    def check(self, samples: int) -> None:
        self.estimand.check(samples)

    def decide(self, samples: SampleSet) -> Decision:
        found = self.estimand.guess(samples)
        why = None if found.runner_up is None else runner_up(found.runner_up, in_unit(found.runner_up_probability))
        return Decision(found.outcome, in_unit(found.probability), why, found.gap)

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_mode(self.estimand.outcomes, samples, delta)


def parse(spec: ZeroOneSpec, estimand: AnyEstimand | None, context: Context) -> ZeroOne:
    found = require_any(estimand, "zero_one")
    if not is_guessed(found):
        expected = (
            "classification, explanation, comparison, or an expression whose comparisons leave it at most 100 values"
        )
        raise InvalidQuery("estimand.kind", expected)
    return ZeroOne(found)
