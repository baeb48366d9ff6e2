"""`{"kind": "expression", "utility": "…", "responses": […], "range": [lo, hi]}`: any utility u(θ, r) of a response r.

In the text `r` is the response, `g` the estimand if there is one, and every other name a parameter, or an estimand in
`names` (a parameter called r or g steps back: give it a name there). `responses` are 2 to 1,000 different numbers, or
`{"lower", "upper", "steps"}` for that many evenly spaced ones, both ends included; or `{"lower", "upper"}` for all numbers
between (`real_responses.py`). The public range must lie inside the
declared one, so that (value − lo)/(hi − lo) ∈ [0, 1] for certain. Tie rule: the response listed first, so on a grid the
smallest.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter

from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.estimands.estimand import require_number
from app.core.decisions.estimands.names import NamedEstimands, Names, read_names
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.regret import Bound, bound_finite
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import ExpressionText, Number, check_fields
from app.core.decisions.utilities.real_responses import RealExpressionUtility, compile_real
from app.core.decisions.utilities.table_sums import TableSums
from app.core.decisions.utilities.utility import Decision, Range, check_inside, require_increasing, runner_up
from app.core.parameters import Parameter
from app.core.specs import Expects, ReadInItsPlace, Spec, read_spec
from app.errors import InvalidQuery

RESPONSES_MAX = 1_000
RESPONSE, ESTIMAND = "r", "g"

Listed = Annotated[
    list[Number],
    Field(min_length=2, max_length=RESPONSES_MAX),
    Expects(f'a list of 2 to {RESPONSES_MAX} different numbers, or "lower" and "upper", with or without "steps"'),
]
_LISTED: TypeAdapter[list[float]] = TypeAdapter(Listed, config=Spec.model_config)


class RealResponses(Spec):
    """Every number between, found by a certified search."""

    lower: Number = Field(description="The least response.")
    upper: Number = Field(description="The greatest response.")


class SpacedResponses(RealResponses):
    """Evenly spaced, both ends included."""

    steps: Annotated[
        int,
        Field(ge=2, le=RESPONSES_MAX),
        Expects(f"a whole number from 2 to {RESPONSES_MAX}, or none for all numbers between"),
    ] = Field(description="How many.")


class ExpressionUtilitySpec(Spec):
    """The best response under a utility written down."""

    kind: Literal["expression"] = Field(description="The name of the utility.")
    utility: ExpressionText = Field(
        description="Of the response `r`, the estimand `g` if there is one, parameters and `names`.",
        examples=["-4 * max(g - r, 0) - max(r - g, 0)"],
    )
    responses: Annotated[Listed | SpacedResponses | RealResponses, ReadInItsPlace()] = Field(
        description="Different numbers, or an interval of them, with `steps` for evenly spaced ones."
    )
    range: Range
    names: Names = Field(default_factory=dict, description="Estimands that the utility uses, by name; not `r` or `g`.")


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
    spec: ExpressionUtilitySpec, estimand: AnyEstimand | None, context: Context
) -> ExpressionUtility | RealExpressionUtility:
    lower, upper = require_increasing(spec.range)
    responses = _read_responses(spec.responses)
    names = read_names(spec.names, context, (RESPONSE, ESTIMAND))
    if estimand is not None:
        names = NamedEstimands(((ESTIMAND, require_number(estimand, "estimand")), *names.entries), context.where)
    ends = min(responses.points), max(responses.points)
    extra = (*names.names, Parameter(RESPONSE, *ends))
    expression = compile_expression(spec.utility, context.parameters, "utility.utility", extra)
    check_inside("the utility", expression, lower, upper)
    if responses.real:
        return compile_real(expression, names, ends, lower, upper)
    return ExpressionUtility(expression, names, responses.points, lower, upper)


class _Responses(NamedTuple):
    """The points, or, where all between them count, the two ends."""

    points: tuple[float, ...]
    real: bool = False


def _read_responses(value: object) -> _Responses:
    """Which of three it is shows at a glance; each is then refused in its own words. −0.0 is 0.0."""
    field = "utility.responses"
    if not isinstance(value, dict):
        numbers = tuple(number + 0.0 for number in read_spec(_LISTED, value, field, InvalidQuery))
        if len(set(numbers)) != len(numbers):
            raise InvalidQuery(field, "numbers that are all different")
        return _Responses(numbers)
    described = SpacedResponses if value.keys() - {"lower", "upper"} else RealResponses
    spec = check_fields(described, value, field)
    lower, upper = spec.lower + 0.0, spec.upper + 0.0
    if not lower < upper:
        raise InvalidQuery(f"{field}.upper", "a number above lower")
    if isinstance(spec, SpacedResponses):
        return _Responses(_grid(lower, upper, spec.steps))
    return _Responses((lower, upper), real=True)


@lru_cache(maxsize=64)
def _grid(lower: float, upper: float, steps: int) -> tuple[float, ...]:
    return tuple((np.linspace(lower, upper, steps) + 0.0).tolist())
