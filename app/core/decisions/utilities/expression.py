"""`{"kind": "expression", "utility": "…", "responses": […], "range": [lo, hi]}`: any utility u(θ, r) of a response r.

In the text `r` is the response, `g` the estimand if there is one, and every other name a parameter, or an estimand in
`names` (a parameter called r or g steps back: give it a name there). `responses` are 2 to 1,000 different numbers, or
`{"lower", "upper", "steps"}` for that many evenly spaced ones, both ends included; or `{"lower", "upper"}` for all numbers
between (`real_responses.py`). The public range must lie inside the
declared one, so that (value − lo)/(hi − lo) ∈ [0, 1] for certain. Tie rule: the response listed first, so on a grid the
smallest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.estimands.estimand import require_number
from app.core.decisions.estimands.names import NamedEstimands, read_names
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.regret import Bound, bound_finite
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import read_number, refuse_unknown
from app.core.decisions.utilities.real_responses import RealExpressionUtility, compile_real
from app.core.decisions.utilities.table_sums import TableSums
from app.core.decisions.utilities.utility import Decision, check_inside, read_range, runner_up
from app.core.parameters import Parameter
from app.errors import InvalidQuery

RESPONSES_MAX = 1_000
RESPONSE, ESTIMAND = "r", "g"


@dataclass(frozen=True, slots=True)
class ExpressionUtility:
    """`names` holds the estimand first, if there is one; `expression` was given the names and then `r`."""

    expression: Expression
    names: NamedEstimands
    points: tuple[float, ...]
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self.expression.nodes * len(self.points) + self.names.work

    @property
    def responses(self) -> int:
        return len(self.points)

    def check(self, samples: int) -> None:
        check_work("utility.utility", self.expression.nodes * len(self.points) + self.names.nodes, samples)
        self.names.check(samples)

    def decide(self, samples: SampleSet) -> Decision:
        sums = TableSums(self.expression, self.names, np.array(self.points), samples)
        means = sums.total(self.lower, self.upper) / samples.size
        # Rounding may leave [0, 1] by a last digit; and −0.0 is 0.0.
        utilities = np.clip((means - self.lower) / (self.upper - self.lower), 0.0, 1.0) + 0.0
        # Sorting is stable, so equals stay in the order they were listed.
        best, second = np.argsort(-utilities, kind="stable")[:2].tolist()
        why = runner_up(self.points[second], float(utilities[second]))
        return Decision(self.points[best], float(utilities[best]), why)

    def regret(self, samples: int, delta: float) -> Bound:
        width = min(1.0, (self.expression.upper - self.expression.lower) / (self.upper - self.lower))
        return bound_finite([width] * len(self.points), samples, delta)


def parse(
    spec: Mapping[str, Any], estimand: AnyEstimand | None, context: Context
) -> ExpressionUtility | RealExpressionUtility:
    refuse_unknown("utility", spec, {"kind", "utility", "responses", "range", "names"})
    lower, upper = read_range(spec.get("range"))
    responses = _read_responses(spec.get("responses"))
    names = read_names(spec, context, (RESPONSE, ESTIMAND))
    if estimand is not None:
        names = NamedEstimands(((ESTIMAND, require_number(estimand, "estimand")), *names.entries), context.where)
    ends = min(responses.points), max(responses.points)
    extra = (*names.names, Parameter(RESPONSE, *ends))
    expression = compile_expression(spec.get("utility"), context.parameters, "utility.utility", extra)
    check_inside("the utility", expression, lower, upper)
    if responses.real:
        return compile_real(expression, names, ends, lower, upper)
    return ExpressionUtility(expression, names, responses.points, lower, upper)


class _Responses(NamedTuple):
    """The points, or, where all between them count, the two ends."""

    points: tuple[float, ...]
    real: bool = False


def _read_responses(value: object) -> _Responses:
    field = "utility.responses"
    if isinstance(value, Mapping):
        return _read_interval(value, field)
    expected = f'a list of 2 to {RESPONSES_MAX} different numbers, or "lower" and "upper", with or without "steps"'
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= RESPONSES_MAX:
        raise InvalidQuery(field, expected)
    numbers = tuple(read_number(field, number) + 0.0 for number in value)
    if len(set(numbers)) != len(numbers):
        raise InvalidQuery(field, expected)
    return _Responses(numbers)


def _read_interval(value: Mapping[str, Any], field: str) -> _Responses:
    refuse_unknown(field, value, {"lower", "upper", "steps"})
    lower, upper = (read_number(f"{field}.{end}", value.get(end)) + 0.0 for end in ("lower", "upper"))
    if not lower < upper:
        raise InvalidQuery(f"{field}.upper", "a number above lower")
    if "steps" not in value:
        return _Responses((lower, upper), real=True)
    steps = value["steps"]
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= RESPONSES_MAX:
        raise InvalidQuery(
            f"{field}.steps", f"a whole number from 2 to {RESPONSES_MAX}, or none for all numbers between"
        )
    return _Responses(_grid(lower, upper, steps))


@lru_cache(maxsize=64)
def _grid(lower: float, upper: float, steps: int) -> tuple[float, ...]:
    return tuple((np.linspace(lower, upper, steps) + 0.0).tolist())
