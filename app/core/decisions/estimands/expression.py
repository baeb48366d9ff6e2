"""`{"kind": "expression", "expression": "theta / (1 - theta)"}`: arithmetic of the parameters.

`"names": {"p": {estimand}}` lets it use other estimands too. Where comparisons leave it finitely many values, it can be
asked with `zero_one`: the most frequent value, of equals the smallest.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, Estimand, Guess, NumberSpec
from app.core.decisions.estimands.finite_values import finite_values, guess_frequent
from app.core.decisions.estimands.names import NamedEstimands, Names, read_names
from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import ExpressionText
from app.errors import InvalidQuery


class ExpressionSpec(NumberSpec):
    """Arithmetic of the parameters."""

    kind: Literal["expression"] = Field(description="The name of the estimand.")
    expression: ExpressionText = Field(
        description="Of parameters and `names`; see docs/queries.md.", examples=["theta / (1 - theta)"]
    )
    names: Names = Field(default_factory=dict, description="Estimands that the expression uses, by name.")


@dataclass(frozen=True, slots=True)
class ExpressionEstimand:
    """g(θ) = the expression, between the bounds interval arithmetic gives from public ranges."""

    expression: Expression
    names: NamedEstimands
    where: str

    @property
    def lower(self) -> float:
        return self.expression.lower

    @property
    def upper(self) -> float:
        return self.expression.upper

    @property
    def work(self) -> int:
        return self.expression.nodes + self.names.work

    @property
    def nodes(self) -> int:
        return self.expression.nodes + self.names.nodes

    def check(self, samples: int) -> None:
        check_work(f"{self.where}.expression", self.nodes, samples)
        self.names.check(samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        values = self.expression.values(samples.columns, self.names.columns(samples))
        return Empirical(values, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class FiniteExpression(ExpressionEstimand):
    """One whose possible values are known and few."""

    values: tuple[float, ...]

    @property
    def outcomes(self) -> int:
        return len(self.values)

    @property
    def tried(self) -> int:
        return self.outcomes

    def guess(self, samples: SampleSet) -> Guess:
        return guess_frequent(self.distribution(samples).values, self.values)


def parse(spec: ExpressionSpec, context: Context) -> Estimand:
    field = f"{context.where}.expression"
    names = read_names(spec.names, context)
    expression = compile_expression(spec.expression, context.parameters, field, names.names)
    if not expression.lower < expression.upper:
        raise InvalidQuery(field, "an expression that can take more than one value")
    values = finite_values(expression)
    if values is None or len(values) < 2:
        return ExpressionEstimand(expression, names, context.where)
    return FiniteExpression(expression, names, context.where, values)
