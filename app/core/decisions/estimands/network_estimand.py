"""What estimands about networks share: the network they are asked of, and one number a sample from it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, check_total_work
from app.core.decisions.sample_set import SampleSet
from app.core.networks.evidence import CompiledEvidence, CompiledExpectation
from app.core.networks.model import NetworkModel
from app.errors import InvalidQuery


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


def require_network(context: Context, kind: str) -> NetworkModel:
    if not isinstance(context.model, NetworkModel):
        expected = f"an estimand for this release's model; {kind} is for networks and naive Bayes"
        raise InvalidQuery(f"{context.where}.kind", expected)
    return context.model


@contextmanager
def renaming(fields: Mapping[str, str]) -> Iterator[None]:
    """Refusals name the field as the question wrote it, not as the network's own reader calls it."""
    try:
        yield
    except InvalidQuery as refusal:
        problem = refusal.problems[0]
        for theirs, ours in fields.items():
            if problem.field == theirs or problem.field.startswith(f"{theirs}."):
                raise InvalidQuery(ours + problem.field[len(theirs) :], problem.expected) from None
        raise
