"""Precision matrix of a multivariate normal law around the columns' public centres, Wishart prior on a Frobenius ball.

z = x̃/max(B, ‖x̃‖) as for a mean; z ~ N(0, Ω⁻¹), Ω ~ Wishart(ν, I/(νλ)), whose mean is I/λ, restricted to ‖Ω‖_F ≤ R. In the units
of the columns Ω_ij/(B²h_ih_j). Neighbours: one person's row replaced. Given A = Σzzᵀ the posterior is
Wishart(ν + n, (νλI + A)⁻¹) on the ball.

**The prior, if left out**, must not contradict the bounds, which cut what lies beyond them: a prior of sd 1 (in half-widths)
would have a third of every column cut off, and no interval would cover. The variance of one column is νλB²/χ²_{ν−d+1}. With
ν = d + 7 and νλB² = 0.18 its sd, in half-widths, lies between 0.09 and 0.33 with probability 0.98, so that the bounds are three
sds or more from the centre; it weighs as much as eight rows. The ball, if left out, reaches to a hundred times the prior's
mean, sds down to about 0.01 half-widths. It restricts the ranges of answers; the noise does not depend on it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.regression.mean_model import number_coordinates
from app.core.kinds.regression.model import LONGEST, PRECISION_MAX, check_between, read_norm_bound
from app.core.parameters import Parameter
from app.core.schema import Column, ColumnNames
from app.core.specs import Maybe, Spec
from app.core.statistics.coordinates import Coordinate
from app.core.statistics.moments import MomentsRequest

Array = NDArray[np.float64]

COLUMNS_MAX = 32
SCALE_MIN, RADIUS_MIN, RADIUS_MAX = 1e-18, 1e-3, 1e21
"""Wide enough for what is left out, whatever else is given: a model is written down in full and read again."""
SPARE_DEGREES = 7
SPREAD = 0.18
"""νλB² of the default prior: the 1 % quantile of χ² with 8 degrees of freedom over 3²."""
RADIUS_RATIO = 100.0


class WishartPrior(Spec):
    """Of the precision matrix in units scaled by the columns' bounds."""

    degrees: Maybe[float] = Field(
        default=None,
        ge=1,
        le=PRECISION_MAX,
        description="Degrees of freedom, at least the number of columns; seven more than that if left out.",
    )
    scale: Maybe[float] = Field(
        default=None,
        ge=SCALE_MIN,
        le=PRECISION_MAX,
        description="One over the mean of a diagonal entry; so that columns stay within their bounds if left out.",
    )


class NormalPrecisionMatrixModel(Spec):
    """The precision matrix of several columns together, normal around the middles of their bounds."""

    family: Literal["normal_precision_matrix"] = Field(description="The name of the family.")
    columns: Annotated[ColumnNames, Field(max_length=COLUMNS_MAX)] = Field(
        description="Real, integer or binary columns."
    )
    prior: WishartPrior = Field(default=WishartPrior(), description="Of the scaled matrix.")
    radius: Maybe[float] = Field(
        default=None,
        ge=RADIUS_MIN,
        le=RADIUS_MAX,
        description="Of the ball, by Frobenius norm, for the scaled matrix; a hundred times the prior's mean if left out.",
    )
    norm_bound: Maybe[float] = Field(default=None, gt=0, description=LONGEST)


@dataclass(frozen=True)
class PrecisionMatrixModel:
    """`degrees` ν and `scale` λ of the prior; `radius` R of the Frobenius ball and `norm_bound` B in scaled units."""

    coordinates: tuple[Coordinate, ...]
    degrees: float
    scale: float
    radius: float
    norm_bound: float
    family: str = "normal_precision_matrix"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Of the entries i ≤ j, row by row: |Ω_ij| ≤ R on the diagonal and R/√2 beside it, where two entries share the norm."""
        found = []
        for i, j in zip(*np.triu_indices(self.dimension), strict=True):
            first, second = self.coordinates[i], self.coordinates[j]
            reach = self.radius * (1.0 if i == j else math.sqrt(0.5)) * float(self._units[i] * self._units[j])
            found.append(Parameter(f"{first.name}*{second.name}", 0.0 if i == j else -reach, reach))
        return tuple(found)

    @property
    def statistic(self) -> MomentsRequest:
        return MomentsRequest(self.coordinates, False, self.norm_bound)

    @property
    def dimension(self) -> int:
        return len(self.coordinates)

    @cached_property
    def _units(self) -> Array:
        return 1 / (self.norm_bound * np.array([c.half_width for c in self.coordinates]))

    def entries(self, matrices: Array) -> Array:
        """(N, d, d) matrices in the ball to (N, P) entries in the units of the columns, inside their public ranges."""
        upper = np.triu_indices(self.dimension)
        values = (matrices * np.outer(self._units, self._units))[:, upper[0], upper[1]]
        low, high = (np.array([getattr(p, end) for p in self.parameters]) for end in ("lower", "upper"))
        return np.clip(values, low, high)

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "columns": [c.column for c in self.coordinates],
            "prior": {"degrees": self.degrees, "scale": self.scale},
            "radius": self.radius,
            "norm_bound": self.norm_bound,
        }


def build_normal_precision_matrix(
    spec: NormalPrecisionMatrixModel, columns: Mapping[str, Column]
) -> PrecisionMatrixModel:
    coordinates = number_coordinates(spec.columns, columns)
    d = len(coordinates)
    degrees = check_between("model.prior.degrees", spec.prior.degrees or float(d + SPARE_DEGREES), d, PRECISION_MAX)
    norm_bound = read_norm_bound(spec.norm_bound, math.sqrt(d))
    scale = spec.prior.scale or SPREAD / (degrees * norm_bound**2)
    return PrecisionMatrixModel(
        coordinates=coordinates,
        degrees=degrees,
        scale=scale,
        radius=spec.radius or max(RADIUS_RATIO * math.sqrt(d) / scale, RADIUS_MIN),
        norm_bound=norm_bound,
    )
