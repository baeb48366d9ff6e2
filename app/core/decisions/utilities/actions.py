"""`{"kind": "actions", "actions": {"treat": "…", "wait": "…"}, "range": [lo, hi]}`: the decision itself.

Each named action is an expression of the parameters giving its utility; u = (value − lo)/(hi − lo). There is
no estimand; `"names": {"p": {estimand}}` lets actions use estimands as well as parameters. The public range of
every action must lie inside the declared one, so u ∈ [0, 1] for certain.
Tie rule: the action declared first. `why` names the runner-up by the same rule, with its expected utility.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.estimands.names import NamedEstimands, Names, read_names
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.regret import Bound, bound_finite
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import NAME_LENGTH_MAX, ExpressionText, is_label
from app.core.decisions.utilities.utility import Decision, Range, check_inside, in_unit, require_increasing, runner_up
from app.core.specs import Expects, ReadInItsPlace, Spec
from app.errors import InvalidQuery

Array = NDArray[np.float64]

ACTIONS_MAX = 100

NamedExpressions = Annotated[
    dict[str, Annotated[ExpressionText, ReadInItsPlace()]],
    Field(min_length=2, max_length=ACTIONS_MAX),
    Expects(f"an object of 2 to {ACTIONS_MAX} named expressions"),
]


class ActionsSpec(Spec):
    """The best of named actions, without an estimand."""

    kind: Literal["actions"] = Field(description="The name of the utility.")
    actions: NamedExpressions = Field(
        description="The utility of each action, an expression of parameters and `names`.",
        examples=[{"treat": "100 * theta - 20", "wait": "0"}],
    )
    range: Range
    names: Names = Field(default_factory=dict, description="Estimands that the actions use, by name.")


@dataclass(frozen=True, slots=True)
class Actions:
    actions: tuple[tuple[str, Expression], ...]
    names: NamedEstimands
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self._nodes + self.names.work

    @property
    def responses(self) -> int:
        return len(self.actions)

    @property
    def _nodes(self) -> int:
        return sum(action.nodes for _, action in self.actions)

    def check(self, samples: int) -> None:
        check_work("utility.actions", self._nodes + self.names.nodes, samples)
        self.names.check(samples)

    def decide(self, samples: SampleSet) -> Decision:
        named = self.names.columns(samples)
        utilities = [self._expected_utility(action, samples, named) for _, action in self.actions]
        # Sorting is stable, so equals stay in the order they were declared.
        best, second = sorted(range(len(utilities)), key=lambda index: -utilities[index])[:2]
        why = runner_up(self.actions[second][0], utilities[second])
        return Decision(self.actions[best][0], utilities[best], why)

    def _expected_utility(self, action: Expression, samples: SampleSet, named: Sequence[Array]) -> float:
        """The mean is normalised, not each value: sums of counts stay exact, and so do their ties.

        `np.sum` adds pairwise in an order fixed by the length, the same in every process.
        """
        values = action.values(samples.columns, named)
        if action.lower < self.lower or action.upper > self.upper:
            values = values.clip(self.lower, self.upper)
        mean = float(np.sum(values)) / samples.size
        return in_unit((mean - self.lower) / (self.upper - self.lower))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_finite([self._width(action) for _, action in self.actions], samples, delta)

    def _width(self, action: Expression) -> float:
        """Of the action's public range, in units of the declared one."""
        return min(1.0, (action.upper - action.lower) / (self.upper - self.lower))


def parse(spec: ActionsSpec, estimand: AnyEstimand | None, context: Context) -> Actions:
    if estimand is not None:
        raise InvalidQuery("estimand", "no estimand beside the utility actions")
    lower, upper = require_increasing(spec.range)
    names = read_names(spec.names, context)
    compiled = []
    for name, text in spec.actions.items():
        if not is_label(name):
            raise InvalidQuery("utility.actions", f"names of 1 to {NAME_LENGTH_MAX} printable characters")
        action = compile_expression(text, context.parameters, f"utility.actions.{name}", names.names)
        check_inside(repr(name), action, lower, upper)
        compiled.append((name, action))
    return Actions(tuple(compiled), names, lower, upper)
