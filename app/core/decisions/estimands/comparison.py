"""`{"kind": "comparison", "left": {…}, "right": {…}}`: 1 where left > right, 0 where left < right, ½ where they are equal.

Left and right are estimands that are numbers. Under `squared` the answer is P(left > right) + ½·P(left = right) over the
samples: swapping the sides gives one minus it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, Estimand, Guess, Inner, NumberSpec, check_total_work
from app.core.decisions.estimands.finite_values import guess_frequent
from app.core.decisions.expressions import check_work
from app.core.decisions.sample_set import SampleSet
from app.errors import InvalidQuery

VALUES = (0.0, 0.5, 1.0)


class ComparisonSpec(NumberSpec):
    """1 where left > right, 0 where left < right, ½ where they are equal."""

    kind: Literal["comparison"] = Field(description="The name of the estimand.")
    left: Inner = Field(description="A number.")
    right: Inner = Field(description="Another number, whose range meets that of the left.")


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Estimand
    right: Estimand
    where: str
    lower: float = 0.0
    upper: float = 1.0

    @property
    def work(self) -> int:
        return self.left.work + self.right.work + 1

    @property
    def nodes(self) -> int:
        return self.left.nodes + self.right.nodes

    @property
    def outcomes(self) -> int:
        return len(VALUES)

    @property
    def tried(self) -> int:
        return len(VALUES)

    def check(self, samples: int) -> None:
        check_work(self.where, self.nodes, samples)
        check_total_work(self.where, self.work, samples)
        self.left.check(samples)
        self.right.check(samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        difference = self.left.distribution(samples).values - self.right.distribution(samples).values
        return Empirical(0.5 + 0.5 * np.sign(difference), self.lower, self.upper)

    def guess(self, samples: SampleSet) -> Guess:
        return guess_frequent(self.distribution(samples).values, VALUES)


def parse(spec: ComparisonSpec, context: Context) -> Comparison:
    left, right = context.inner("left", spec.left), context.inner("right", spec.right)
    if left == right:
        raise InvalidQuery(f"{context.where}.right", "another estimand than on the left")
    if left.upper < right.lower or right.upper < left.lower:
        raise InvalidQuery(f"{context.where}.right", "an estimand whose public range meets that of the left")
    return Comparison(left, right, context.where)
