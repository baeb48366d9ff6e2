"""`{"kind": "classification", "variable": "cured", "features": {…}}`: which level a variable has, given others.

Each sample has a law of the variable given the features; guessing level v is right with probability P(v | features).
`variable` is a naive Bayes model's class unless named. Asked with `zero_one` the response is the level with the highest mean
probability, of equal ones the first declared; with `log`, the mean law.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.core.decisions.estimands.estimand import Classified, Context, Guess, check_total_work
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import renaming
from app.core.kinds.networks.estimands.network_estimand import Levels, network_of
from app.core.kinds.networks.evidence.compiled import CompiledLaw, compile_law
from app.core.kinds.networks.model import NetworkModel
from app.core.specs import Maybe, Spec
from app.errors import InvalidQuery


class ClassificationSpec(Spec):
    """Which level a variable of a network has."""

    kind: Literal["classification"] = Field(description="The name of the estimand.")
    variable: Maybe[str] = Field(default=None, description="Unless given, a naive Bayes model's class.")
    features: Levels | None = Field(default=None, description="Levels by variable: what is known.")


@dataclass(frozen=True, slots=True)
class Classification(Classified):
    """`levels` are those that the features leave possible."""

    law: CompiledLaw
    levels: tuple[str, ...]

    @property
    def outcomes(self) -> int:
        return len(self.levels)

    @property
    def tried(self) -> int:
        return self.outcomes

    @property
    def work(self) -> int:
        return self.law.work

    def check(self, samples: int) -> None:
        check_total_work(f"{self.law.where}.features", self.work, samples)

    def guess(self, samples: SampleSet) -> Guess:
        law = self.mean_law(samples)
        # Sorting is stable: of equals the level declared first.
        best, second = sorted(law, key=lambda level: -law[level])[:2]
        return Guess(best, law[best], second, law[second])

    def mean_law(self, samples: SampleSet) -> dict[str, float]:
        """Level → mean over the samples of its probability. Each is between 0 and 1; they sum to one up to rounding."""
        rows = dict(zip(self.law.levels, self.law.probabilities(samples.matrix), strict=True))
        return {level: min(1.0, float(rows[level].sum()) / samples.size) for level in self.levels}


def parse(spec: ClassificationSpec, context: Context) -> Classification:
    where, model = context.where, network_of(context)
    variable = class_of(model, spec.variable, where)
    with renaming({f"{where}.evidence": f"{where}.features"}):
        law = compile_law(model.network, variable=variable, evidence=spec.features, where=where)
    left = dict(law.evidence).get(law.variable, range(len(law.levels)))
    return Classification(law, tuple(law.levels[level] for level in left))


def class_of(model: NetworkModel, named: str | None, where: str) -> str:
    """The variable named, or the class of a naive Bayes model."""
    variable = model.target if named is None else named
    if variable is None:
        raise InvalidQuery(f"{where}.variable", "the variable to predict: only naive Bayes has one by itself")
    return variable
