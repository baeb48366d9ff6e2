"""`{"kind": "parameter", "name": "theta"}`: a parameter of the release itself, read from kept sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.decisions.empirical import Empirical
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import refuse_unknown
from app.core.families import Model
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

NAMES_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class ParameterEstimand:
    """g(θ) = θ_index, between the parameter's public bounds."""

    index: int
    lower: float
    upper: float

    def distribution(self, samples: SampleSet) -> Empirical:
        return samples.marginal(self.index)


def parse(spec: Mapping[str, Any], parameters: Sequence[Parameter], model: Model | None = None) -> ParameterEstimand:
    refuse_unknown("estimand", spec, {"kind", "name"})
    for index, parameter in enumerate(parameters):
        if parameter.name == spec.get("name"):
            return ParameterEstimand(index, float(parameter.lower), float(parameter.upper))
    names = [parameter.name for parameter in parameters[:NAMES_SHOWN_MAX]]
    more = ", …" if len(parameters) > NAMES_SHOWN_MAX else ""
    raise InvalidQuery("estimand.name", f"a parameter of this release: {', '.join(names)}{more}")
