"""`{"kind": "parameter", "name": "theta"}`: a parameter of the release itself, read from kept sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import refuse_unknown
from app.core.parameters import listed, places
from app.errors import InvalidQuery


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


def parse(spec: Mapping[str, Any], context: Context) -> ParameterEstimand:
    refuse_unknown(context.where, spec, {"kind", "name"})
    known = places(context.parameters)
    name = spec.get("name")
    if not isinstance(name, str) or name not in known:
        raise InvalidQuery(f"{context.where}.name", f"a parameter of this release: {listed(list(known))}")
    parameter = context.parameters[known[name]]
    return ParameterEstimand(known[name], float(parameter.lower), float(parameter.upper))
