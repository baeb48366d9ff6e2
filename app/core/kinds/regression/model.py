"""Linear regression y = β₀ + Σβ_jx_j + N(0, σ²), with a Gaussian prior restricted to a ball.

In scaled units ỹ = wᵀz + N(0, σ̃²) with z = (1, x̃)/B, ‖z‖₂ ≤ 1, |ỹ| ≤ 1, w ~ N(0, λ⁻¹I) on ‖w‖₂ ≤ R. Since x̃_j = (x_j − c_j)/h_j
and ỹ = (y − c)/h, coefficients in the units of the columns are a linear map of w (post-processing):

    β_j = h·w_j/(B·h_j),    β₀ = c + h·(w₀ − Σ_j w_j·c_j/h_j)/B,

and their public ranges follow from ‖w‖₂ ≤ R. Neighbours: one person's rows replaced.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.parameters import Parameter
from app.core.schema import NAME_LENGTH_MAX, Column, ColumnNames
from app.core.specs import Maybe, Spec
from app.core.statistics.coordinates import COORDINATES_MAX, Coordinate, feature_coordinates, number_coordinate
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

PRECISION_MIN, PRECISION_MAX = 1e-6, 1e9
RADIUS_MIN, RADIUS_MAX = 1e-3, 1e3
SCALED_SD_MIN = 1e-4
SD_LEAST = 0.01
"""Of a scaled sd that nobody declared: its prior is log-even from here to 1, the largest of anything within the bounds."""
INTERCEPT = "intercept"
LONGEST = "How long a record may be in scaled units before it is shortened; enough for every record if left out."


class PrecisionPrior(Spec):
    """A normal prior around 0, in units scaled by the columns' bounds."""

    precision: float = Field(ge=PRECISION_MIN, le=PRECISION_MAX, description="One over its variance.")


class LinearRegressionModel(Spec):
    """Coefficients of a linear regression of one column on others."""

    family: Literal["linear_regression"] = Field(description="The name of the family.")
    target: str = Field(
        min_length=1, max_length=NAME_LENGTH_MAX, description="The column explained: real, integer or binary."
    )
    features: Annotated[ColumnNames, Field(max_length=COORDINATES_MAX)] = Field(
        description="The columns it is explained by; of a categorical one every level but the first."
    )
    intercept: bool = Field(default=True, description="Whether there is a constant term.")
    noise_sd: float | None = Field(
        default=None,
        gt=0,
        description="The known standard deviation around the line, in the target's units; null: unknown.",
    )
    prior: PrecisionPrior = Field(default=PrecisionPrior(precision=1.0), description="Of the scaled coefficients.")
    radius: Maybe[float] = Field(
        default=None,
        ge=RADIUS_MIN,
        le=RADIUS_MAX,
        description="Of the ball that scaled coefficients are restricted to; `norm_bound` if left out.",
    )
    norm_bound: Maybe[float] = Field(default=None, gt=0, description=LONGEST)


@dataclass(frozen=True)
class LinearModel:
    """`noise_sd` in the target's units, None if unknown; `precision` λ, `radius` R and `norm_bound` B in scaled ones."""

    target: Coordinate
    features: tuple[str, ...]
    coordinates: tuple[Coordinate, ...]
    intercept: bool
    noise_sd: float | None
    precision: float
    radius: float
    norm_bound: float
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of the categorical features; the first of each is the one others are compared with."""
    family: str = "linear_regression"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Of the coefficients in the units of the columns, intercept first: |β_j − c| ≤ R·‖row j of the map‖₂."""
        offset, matrix = self._map
        reach = self.radius * np.sqrt((matrix**2).sum(axis=1))
        names = [INTERCEPT] * self.intercept + [coordinate.name for coordinate in self.coordinates]
        ends = zip(names, (offset - reach).tolist(), (offset + reach).tolist(), strict=True)
        return tuple(Parameter(name, low, high) for name, low, high in ends)

    @property
    def statistic(self) -> MomentsRequest:
        return MomentsRequest(self.coordinates, self.intercept, self.norm_bound, self.target)

    @property
    def dimension(self) -> int:
        return len(self.coordinates) + self.intercept

    @property
    def scaled_sd(self) -> float | None:
        return None if self.noise_sd is None else self.noise_sd / self.target.half_width

    @property
    def clips(self) -> bool:
        """Whether B is so small that some record may be shortened."""
        return self.norm_bound < norm_bound_default(self.features, self.intercept)

    def coefficients(self, w: Array) -> Array:
        """(N, d) draws in the ball to (N, P) coefficients in the units of the columns, inside their public ranges."""
        offset, matrix = self._map
        lower, upper = (np.array([getattr(p, end) for p in self.parameters]) for end in ("lower", "upper"))
        return np.clip(offset + w @ matrix.T, lower, upper)

    def within(self, parameters: Sequence[Parameter]) -> "LinearModel":
        """The same with the ball that gives its coefficients these ranges: a view's may be wider than the sampler's."""
        reach = (parameters[0].upper - parameters[0].lower) / 2
        return replace(self, radius=reach / float(np.linalg.norm(self._map[1][0])))

    def combination_range(self, weights: Array) -> tuple[float, float]:
        """(middle, reach) of weightsᵀβ over the ball."""
        offset, matrix = self._map
        return float(weights @ offset), self.radius * float(np.linalg.norm(matrix.T @ weights))

    @cached_property
    def _map(self) -> tuple[Array, Array]:
        """β = offset + matrix·w."""
        scale = self.target.half_width / self.norm_bound
        half_widths = np.array([coordinate.half_width for coordinate in self.coordinates])
        centres = np.array([coordinate.centre for coordinate in self.coordinates])
        matrix = np.diag(np.concatenate([[scale] * self.intercept, scale / half_widths]))
        offset = np.zeros(self.dimension)
        if self.intercept:
            matrix[0, 1:] = -scale * centres / half_widths
            offset[0] = self.target.centre
        return offset, matrix

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "target": self.target.column,
            "features": list(self.features),
            "intercept": self.intercept,
            "noise_sd": self.noise_sd,
            "prior": {"precision": self.precision},
            "radius": self.radius,
            "norm_bound": self.norm_bound,
        }


def norm_bound_default(features: tuple[str, ...], intercept: bool) -> float:
    """√(number of features, and one for the intercept): no record is longer, so none is clipped."""
    return math.sqrt(len(features) + intercept)


def build_linear_regression(spec: LinearRegressionModel, columns: Mapping[str, Column]) -> LinearModel:
    name, features = spec.target, tuple(spec.features)
    if name not in columns or columns[name].type == "categorical":
        raise InvalidModel("model.target", "the name of a real, integer or binary column")
    if name in features:
        raise InvalidModel("model.features", "columns other than the target")
    target = number_coordinate("model.target", columns[name], spec.intercept)
    coordinates = feature_coordinates("model.features", features, columns, spec.intercept)
    norm_bound = read_norm_bound(spec.norm_bound, norm_bound_default(features, spec.intercept))
    return LinearModel(
        target=target,
        features=features,
        coordinates=coordinates,
        intercept=spec.intercept,
        noise_sd=_read_sd(spec.noise_sd, target),
        precision=spec.prior.precision,
        radius=check_between("model.radius", spec.radius or norm_bound, RADIUS_MIN, RADIUS_MAX),
        norm_bound=norm_bound,
        levels=tuple((name, columns[name].levels) for name in features if columns[name].type == "categorical"),
    )


def _read_sd(sd: float | None, target: Coordinate) -> float | None:
    if sd is None:
        return None
    return check_between("model.noise_sd", sd, SCALED_SD_MIN * target.half_width, 1e3 * target.half_width)


def read_norm_bound(given: float | None, longest: float) -> float:
    return check_between("model.norm_bound", given or longest, longest / 1e3, longest * 1e3)


def check_between(field: str, number: float, lower: float, upper: float) -> float:
    """For limits that depend on the columns."""
    if not lower <= number <= upper:
        raise InvalidModel(field, f"a number from {lower:g} to {upper:g}")
    return number
