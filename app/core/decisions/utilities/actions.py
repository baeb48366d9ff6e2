"""`{"kind": "actions", "actions": {"treat": "…", "wait": "…"}, "range": [lo, hi]}`: the decision itself.

Each named action is an expression of the parameters giving its utility; u = (value − lo)/(hi − lo). There is
no estimand. The public range of every action must lie inside the declared one, so u ∈ [0, 1] for certain.
Tie rule: the action declared first. `why` names the runner-up by the same rule, with its expected utility.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.decisions.estimands import Estimand
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.regret import Bound, bound_finite
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import NAME_LENGTH_MAX, is_label, read_number, refuse_unknown
from app.core.decisions.utilities.utility import Decision, in_unit
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

ACTIONS_MAX = 100

# 0.1 + 0.2 reaches a last digit above 0.3: an overshoot this small, relative to the range, is clipped instead.
OVERSHOOT_MAX = 1e-9


@dataclass(frozen=True, slots=True)
class Actions:
    actions: tuple[tuple[str, Expression], ...]
    lower: float
    upper: float

    def decide(self, samples: SampleSet) -> Decision:
        check_work("utility.actions", sum(action.nodes for _, action in self.actions), samples.size)
        utilities = [self._expected_utility(action, samples) for _, action in self.actions]
        # Sorting is stable, so equals stay in the order they were declared.
        best, second = sorted(range(len(utilities)), key=lambda index: -utilities[index])[:2]
        why = {"runner_up": self.actions[second][0], "expected_utility": utilities[second]}
        return Decision(self.actions[best][0], utilities[best], why)

    def _expected_utility(self, action: Expression, samples: SampleSet) -> float:
        """The mean is normalised, not each value: sums of counts stay exact, and so do their ties.

        `np.sum` adds pairwise in an order fixed by the length, the same in every process.
        """
        values = np.minimum(np.maximum(action.values(samples.columns), self.lower), self.upper)
        mean = float(np.sum(values)) / samples.size
        return in_unit((mean - self.lower) / (self.upper - self.lower))

    def regret(self, samples: int, delta: float) -> Bound:
        return bound_finite([self._width(action) for _, action in self.actions], samples, delta)

    def _width(self, action: Expression) -> float:
        """Of the action's public range, in units of the declared one."""
        return min(1.0, (action.upper - action.lower) / (self.upper - self.lower))


def parse(spec: Mapping[str, Any], estimand: Estimand | None, parameters: Sequence[Parameter]) -> Actions:
    refuse_unknown("utility", spec, {"kind", "actions", "range"})
    if estimand is not None:
        raise InvalidQuery("estimand", "no estimand beside the utility actions")
    lower, upper = _parse_range(spec.get("range"))
    actions = spec.get("actions")
    if not isinstance(actions, Mapping) or not 2 <= len(actions) <= ACTIONS_MAX:
        raise InvalidQuery("utility.actions", f"an object of 2 to {ACTIONS_MAX} named expressions")
    compiled = []
    for name, text in actions.items():
        if not is_label(name):
            raise InvalidQuery("utility.actions", f"names of 1 to {NAME_LENGTH_MAX} printable characters")
        action = compile_expression(text, parameters, f"utility.actions.{name}")
        _check_inside(name, action, lower, upper)
        compiled.append((name, action))
    return Actions(tuple(compiled), lower, upper)


def _parse_range(value: object) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InvalidQuery("utility.range", "two numbers, the lowest and the highest utility")
    lower, upper = (read_number("utility.range", bound) for bound in value)
    if not lower < upper:
        raise InvalidQuery("utility.range", "a first number below the second")
    return lower, upper


def _check_inside(name: str, action: Expression, lower: float, upper: float) -> None:
    slack = OVERSHOOT_MAX * (upper - lower)
    if action.lower < lower - slack or action.upper > upper + slack:
        reach = f"[{action.lower:.6g}, {action.upper:.6g}]"
        raise InvalidQuery("utility.range", f"a range that contains {reach}, the public range of {name!r}")
