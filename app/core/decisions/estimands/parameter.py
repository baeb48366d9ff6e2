"""`{"kind": "parameter", "name": "theta"}`: a parameter of the release itself, read from kept sums."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, NumberSpec
from app.core.decisions.sample_set import SampleSet
from app.core.parameters import listed, places
from app.errors import InvalidQuery


class ParameterSpec(NumberSpec):
    """A parameter of the release."""

    kind: Literal["parameter"] = Field(description="The name of the estimand.")
    name: str = Field(description="As the release lists it.", examples=["theta"])


@dataclass(frozen=True, slots=True)
class ParameterEstimand:
    """g(θ) = θ_index, between the parameter's public bounds."""

    index: int
    lower: float
    upper: float
    work: int = 1
    nodes: ClassVar[int] = 0

    def check(self, samples: int) -> None:
        """Sums kept for any number of samples."""

    def distribution(self, samples: SampleSet) -> Empirical:
        return samples.marginal(self.index)


def parse(spec: ParameterSpec, context: Context) -> ParameterEstimand:
    known = places(context.parameters)
    index = known.get(spec.name)
    if index is None:
        raise InvalidQuery(f"{context.where}.name", f"a parameter of this release: {listed(list(known))}")
    parameter = context.parameters[index]
    return ParameterEstimand(index, float(parameter.lower), float(parameter.upper))
