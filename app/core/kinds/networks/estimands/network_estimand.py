"""What estimands about networks share: the network they are asked of, and one number a sample from it."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, NumberSpec, check_total_work
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import Number
from app.core.kinds.networks.evidence.compiled import (
    CompiledEvidence,
    CompiledExpectation,
    Level,
    compile_evidence,
    compile_expectation,
)
from app.core.kinds.networks.model import NetworkModel
from app.core.language.tree import MAGNITUDE_MAX
from app.core.specs import Expects, ReadInItsPlace

Levels = Annotated[
    dict[str, Annotated[Level | list[Level], ReadInItsPlace()]],
    Expects("an object of variables with a level or a list of levels each"),
]
"""Variables, each with a level or several of which any will do. Which levels there are, the network knows."""
Scores = Annotated[
    dict[str, Number], Expects(f"an object with a number of size at most {MAGNITUDE_MAX:g} for every level")
]


class ProbabilitySpec(NumberSpec):
    """P(event | evidence) in a network, in [0, 1]."""

    kind: Literal["probability"] = Field(description="The name of the estimand.")
    event: Levels = Field(description="Levels by variable, all at once; a list of levels means any of them.")
    evidence: Levels | None = Field(default=None, description="What is known, written in the same way.")


class ExpectationSpec(NumberSpec):
    """E[score of a variable | evidence] in a network."""

    kind: Literal["expectation"] = Field(description="The name of the estimand.")
    variable: str = Field(description="A variable of the network.")
    evidence: Levels | None = Field(default=None, description="Levels by variable: what is known.")
    scores: Scores | None = Field(
        default=None, description="A number for every level, unless levels are whole numbers, or false and true."
    )


@dataclass(frozen=True, slots=True)
class NetworkEstimand:
    """g(θ) by variable elimination in each sample's network."""

    compiled: CompiledEvidence | CompiledExpectation
    where: str = field(default="estimand", compare=False)
    known: str = field(default="evidence", compare=False)
    """The question's own name for the evidence."""
    nodes: ClassVar[int] = 0

    @property
    def lower(self) -> float:
        return self.compiled.lower

    @property
    def upper(self) -> float:
        return self.compiled.upper

    @property
    def work(self) -> int:
        return self.compiled.work

    def check(self, samples: int) -> None:
        check_total_work(f"{self.where}.{self.known}", self.work, samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        return Empirical(self.compiled.values(samples.matrix), self.lower, self.upper)


def network_of(context: Context) -> NetworkModel:
    """The release's model: these estimands are registered with networks only."""
    return cast(NetworkModel, context.model)


def parse_probability(spec: ProbabilitySpec, context: Context) -> NetworkEstimand:
    """`{"kind": "probability", "event": {"cured": true}, "evidence": {"arm": "drug"}}`: P(event | evidence).

    Several variables in the event mean all of them at once; a list of levels means any of them. Its range is [0, 1].
    """
    network = network_of(context).network
    compiled = compile_evidence(network, event=spec.event, evidence=spec.evidence, where=context.where)
    return NetworkEstimand(compiled, context.where)


def parse_expectation(spec: ExpectationSpec, context: Context) -> NetworkEstimand:
    """`{"kind": "expectation", "variable": "visits", "evidence": {…}, "scores": {…}}`: E[score(variable) | evidence].

    Levels that are whole numbers, or false and true, score themselves unless `scores` gives a number for each. The range is
    from the least to the greatest score of a level the evidence leaves.
    """
    network, where = network_of(context).network, context.where
    compiled = compile_expectation(
        network, variable=spec.variable, evidence=spec.evidence, scores=spec.scores, where=where
    )
    return NetworkEstimand(compiled, context.where)
