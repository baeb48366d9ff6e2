"""`{"kind": "absolute"}`: u = 1 − |g − r|/(upper − lower). The response is the median.

Tie rule: of an even number of samples every point between the two middle ones is a maximiser; the response is
the lower of the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.core.decisions.estimands import AnyEstimand, Context, Estimand
from app.core.decisions.regret import Bound, bound_quantiles, rank_of
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import refuse_unknown
from app.core.decisions.utilities.utility import Decision, in_unit, require_estimand

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Absolute:
    """|x| is twice the pinball loss at 1/2."""

    estimand: Estimand

    def decide(self, samples: SampleSet) -> Decision:
        values = self.estimand.distribution(samples)
        rank = rank_of(HALF, values.size)
        return Decision(values.order_statistic(rank), in_unit(1 - 2 * values.pinball_loss(rank, 0.5)))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_quantiles([(HALF, 2.0)], samples, delta)


def parse(spec: Mapping[str, Any], estimand: AnyEstimand | None, context: Context) -> Absolute:
    refuse_unknown("utility", spec, {"kind"})
    return Absolute(require_estimand(estimand, "absolute"))
