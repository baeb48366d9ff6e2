"""`{"kind": "predictive", "what": "probability", "at_most": 3}`: what one more record of the model would be.

`mean`, the `probability` of being at most a value, and the `quantile` of a level, each a function of θ. Under `squared` the
answer to the first two is the posterior predictive mean and probability.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, check_total_work
from app.core.decisions.estimands.new_record import NewRecordSpec, number_of
from app.core.decisions.sample_set import SampleSet
from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.predictive import RecordLaw
from app.core.language.tree import MAGNITUDE_MAX
from app.errors import InvalidQuery

Array = NDArray[np.float64]


class PredictiveSpec(NewRecordSpec):
    """What one more record of a one-parameter model would be."""

    kind: Literal["predictive"] = Field(description="The name of the estimand.")
    what: Literal["mean", "probability", "quantile"] = Field(description="Of the record, as a function of θ.")


@dataclass(frozen=True, slots=True)
class PredictiveEstimand:
    """g(θ), monotone in θ: its public range lies between its values at the ends of θ's."""

    law: RecordLaw
    what: str
    number: float
    lower: float
    upper: float
    work: int = 10
    nodes: ClassVar[int] = 0

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        """Samples are grid points, so values are computed once for each point that occurs."""
        points, place = np.unique(samples.columns[0], return_inverse=True)
        values = _values(self.law, self.what, self.number, points).clip(self.lower, self.upper)
        return Empirical(values[place], self.lower, self.upper)


def parse_predictive(spec: PredictiveSpec, context: Context) -> PredictiveEstimand:
    where, parameters, what = context.where, context.parameters, spec.what
    number = number_of(spec, where)
    law = RecordLaw(cast(NaturalModel, context.model))
    ends = _values(law, what, number, np.array([parameters[0].lower, parameters[0].upper], dtype=np.float64))
    if not (np.abs(ends) <= MAGNITUDE_MAX).all():
        raise InvalidQuery(f"{where}.what", "something finite over the parameter's whole range")
    if not ends.min() < ends.max():
        raise InvalidQuery(f"{where}.what", "something that can take more than one value here")
    return PredictiveEstimand(law, what, number, float(ends.min()), float(ends.max()))


def _values(law: RecordLaw, what: str, number: float, theta: Array) -> Array:
    if what == "mean":
        return law.mean(theta)
    return law.at_most(theta, number) if what == "probability" else law.quantile(theta, number)
