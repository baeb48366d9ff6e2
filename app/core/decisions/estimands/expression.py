"""`{"kind": "expression", "expression": "theta / (1 - theta)"}`: arithmetic of the parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.decisions.empirical import Empirical
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import refuse_unknown
from app.core.families import Model
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

FIELD = "estimand.expression"


@dataclass(frozen=True, slots=True)
class ExpressionEstimand:
    """g(θ) = the expression, between the bounds interval arithmetic gives from public ranges."""

    expression: Expression

    @property
    def lower(self) -> float:
        return self.expression.lower

    @property
    def upper(self) -> float:
        return self.expression.upper

    def distribution(self, samples: SampleSet) -> Empirical:
        check_work(FIELD, self.expression.nodes, samples.size)
        return Empirical(self.expression.values(samples.columns), self.lower, self.upper)


def parse(spec: Mapping[str, Any], parameters: Sequence[Parameter], model: Model | None = None) -> ExpressionEstimand:
    refuse_unknown("estimand", spec, {"kind", "expression"})
    expression = compile_expression(spec.get("expression"), parameters, FIELD)
    if not expression.lower < expression.upper:
        raise InvalidQuery(FIELD, "an expression that can take more than one value")
    return ExpressionEstimand(expression)
