"""One column as a normal law, mean and standard deviation both unknown.

In units scaled by the column's bounds x̃ ~ N(m, s²), with m ~ N(0, λ⁻¹) and s log-even from SD_LEAST to 1, the largest sd of
anything within the bounds; in those of the column the mean is c + h·m and the sd h·s. Neighbours: one person's row replaced.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.regression.model import SD_LEAST, PrecisionPrior
from app.core.parameters import Parameter
from app.core.schema import NAME_LENGTH_MAX, Column
from app.core.specs import Spec
from app.core.statistics.coordinates import Coordinate, number_coordinate
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

REACH_SDS = 7.1
"""Of the mean's prior on either side: 10⁻¹² is left out."""


class NormalModel(Spec):
    """The mean and the standard deviation of one column together."""

    family: Literal["normal"] = Field(description="The name of the family.")
    column: str = Field(min_length=1, max_length=NAME_LENGTH_MAX, description="A real or integer column.")
    prior: PrecisionPrior = Field(default=PrecisionPrior(precision=4.0), description="Of the scaled mean.")


@dataclass(frozen=True)
class MeanAndSdModel:
    """`precision` λ in scaled units."""

    coordinate: Coordinate
    precision: float
    family: str = "normal"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        c, h = self.coordinate.centre, self.coordinate.half_width
        reach = h * self.mean_reach
        return Parameter("mean", c - reach, c + reach), Parameter("sd", SD_LEAST * h, h)

    @property
    def statistic(self) -> MomentsRequest:
        return MomentsRequest((self.coordinate,), False, 1.0)

    @property
    def dimension(self) -> int:
        return 1

    @property
    def mean_reach(self) -> float:
        return REACH_SDS / math.sqrt(self.precision)

    def in_units(self, scaled: Array) -> Array:
        """(N, 2) of m and s to means and sds in the units of the column, inside their public ranges."""
        h = self.coordinate.half_width
        lower, upper = (np.array([getattr(p, end) for p in self.parameters]) for end in ("lower", "upper"))
        return np.clip(np.array([self.coordinate.centre, 0.0]) + h * scaled, lower, upper)

    def as_json(self) -> dict[str, Any]:
        return {"family": self.family, "column": self.coordinate.column, "prior": {"precision": self.precision}}


def build_normal(spec: NormalModel, columns: Mapping[str, Column]) -> MeanAndSdModel:
    if spec.column not in columns or columns[spec.column].type not in ("real", "integer"):
        raise InvalidModel("model.column", "the name of a real or integer column")
    return MeanAndSdModel(number_coordinate("model.column", columns[spec.column]), spec.prior.precision)
