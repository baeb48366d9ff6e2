"""What estimands about networks share: the network they are asked of, and one number a sample from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, check_total_work
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import refuse_unknown
from app.core.kinds.networks.evidence.compiled import (
    CompiledEvidence,
    CompiledExpectation,
    compile_evidence,
    compile_expectation,
)
from app.core.kinds.networks.model import NetworkModel


@dataclass(frozen=True, slots=True)
class NetworkEstimand:
    """g(θ) by variable elimination in each sample's network."""

    compiled: CompiledEvidence | CompiledExpectation
    where: str = field(default="estimand", compare=False)
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
        check_total_work(f"{self.where}.evidence", self.work, samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        return Empirical(self.compiled.values(samples.matrix), self.lower, self.upper)


def network_of(context: Context) -> NetworkModel:
    """The release's model: these estimands are registered with networks only."""
    return cast(NetworkModel, context.model)


def parse_probability(spec: Mapping[str, Any], context: Context) -> NetworkEstimand:
    """`{"kind": "probability", "event": {"cured": true}, "evidence": {"arm": "drug"}}`: P(event | evidence).

    Several variables in the event mean all of them at once; a list of levels means any of them. Its range is [0, 1].
    """
    refuse_unknown(context.where, spec, {"kind", "event", "evidence"})
    network = network_of(context).network
    event, evidence = spec.get("event"), spec.get("evidence")
    compiled = compile_evidence(network, event=event, evidence=evidence, where=context.where)
    return NetworkEstimand(compiled, context.where)


def parse_expectation(spec: Mapping[str, Any], context: Context) -> NetworkEstimand:
    """`{"kind": "expectation", "variable": "visits", "evidence": {…}, "scores": {…}}`: E[score(variable) | evidence].

    Levels that are whole numbers, or false and true, score themselves unless `scores` gives a number for each. The range is
    from the least to the greatest score of a level the evidence leaves.
    """
    refuse_unknown(context.where, spec, {"kind", "variable", "evidence", "scores"})
    network = network_of(context).network
    compiled = compile_expectation(
        network,
        variable=spec.get("variable"),
        evidence=spec.get("evidence"),
        scores=spec.get("scores"),
        where=context.where,
    )
    return NetworkEstimand(compiled, context.where)
