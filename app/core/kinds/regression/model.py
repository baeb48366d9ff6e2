"""Linear regression y = β₀ + Σβ_jx_j + N(0, σ²), with a Gaussian prior restricted to a ball.

In scaled units ỹ = wᵀz + N(0, σ̃²) with z = (1, x̃)/B, ‖z‖₂ ≤ 1, |ỹ| ≤ 1, w ~ N(0, λ⁻¹I) on ‖w‖₂ ≤ R. Since x̃_j = (x_j − c_j)/h_j
and ỹ = (y − c)/h, coefficients in the units of the columns are a linear map of w (post-processing):

    β_j = h·w_j/(B·h_j),    β₀ = c + h·(w₀ − Σ_j w_j·c_j/h_j)/B,

and their public ranges follow from ‖w‖₂ ≤ R. Neighbours: one person's rows replaced.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.parameters import Parameter
from app.core.reading import read_number, read_object
from app.core.schema import Column
from app.core.statistics.coordinates import Coordinate, feature_coordinates, number_coordinate, read_columns
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

PRECISION_MIN, PRECISION_MAX = 1e-6, 1e9
RADIUS_MIN, RADIUS_MAX = 1e-3, 1e3
SCALED_SD_MIN = 1e-4
INTERCEPT = "intercept"


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


def parse_linear_regression(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> LinearModel:
    optional = {"intercept", "noise_sd", "prior", "radius", "norm_bound"}
    fields = read_object("model", spec, required={"family", "target", "features"}, optional=optional)
    name, features = fields["target"], read_columns("model.features", fields["features"])
    if not isinstance(name, str) or name not in columns or columns[name].type == "categorical":
        raise InvalidModel("model.target", "the name of a real, integer or binary column")
    if name in features:
        raise InvalidModel("model.features", "columns other than the target")
    intercept = fields.get("intercept", True)
    if not isinstance(intercept, bool):
        raise InvalidModel("model.intercept", "true or false")
    target = number_coordinate("model.target", columns[name], intercept)
    coordinates = feature_coordinates("model.features", features, columns, intercept)
    longest = norm_bound_default(features, intercept)
    norm_bound = read_between("model.norm_bound", fields.get("norm_bound", longest), longest / 1e3, longest * 1e3)
    return LinearModel(
        target=target,
        features=features,
        coordinates=coordinates,
        intercept=intercept,
        noise_sd=_read_sd(fields.get("noise_sd"), target),
        precision=read_prior_precision(fields),
        radius=read_between("model.radius", fields.get("radius", norm_bound), RADIUS_MIN, RADIUS_MAX),
        norm_bound=norm_bound,
        levels=tuple((name, columns[name].levels) for name in features if columns[name].type == "categorical"),
    )


def _read_sd(value: object, target: Coordinate) -> float | None:
    if value is None:
        return None
    return read_between("model.noise_sd", value, SCALED_SD_MIN * target.half_width, 1e3 * target.half_width)


def read_prior_precision(fields: Mapping[str, Any]) -> float:
    prior = read_object("model.prior", fields.get("prior", {"precision": 1}), required={"precision"}, optional=set())
    return read_between("model.prior.precision", prior["precision"], PRECISION_MIN, PRECISION_MAX)


def read_between(field: str, value: object, lower: float, upper: float) -> float:
    number = read_number(field, value)
    if not lower <= number <= upper:
        raise InvalidModel(field, f"a number from {lower:g} to {upper:g}")
    return number
