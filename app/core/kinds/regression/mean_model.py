"""Mean of a multivariate normal law with known covariance, with a Gaussian prior restricted to a ball.

Columns are scaled by their public bounds and divided by B: z = x̃/max(B, ‖x̃‖), ‖z‖₂ ≤ 1. In those units z ~ N(m, Σ_z),
Σ_z = H⁻¹ΣH⁻¹/B² with H the half-widths, m ~ N(0, λ⁻¹I) on ‖m‖₂ ≤ R, and the mean in the units of the columns is c + B·H·m.
Neighbours: one person's row replaced.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.regression.model import LONGEST, RADIUS_MAX, RADIUS_MIN, PrecisionPrior, read_norm_bound
from app.core.parameters import Parameter
from app.core.schema import Column, ColumnNames
from app.core.specs import Maybe, Spec
from app.core.statistics.coordinates import COORDINATES_MAX, Coordinate, number_coordinate
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

CONDITION_MAX = 1e8


class MvnMeanModel(Spec):
    """The mean of several columns together, normal with known covariance."""

    family: Literal["mvn_mean"] = Field(description="The name of the family.")
    columns: Annotated[ColumnNames, Field(max_length=COORDINATES_MAX)] = Field(
        description="Real, integer or binary columns."
    )
    covariance: list[Annotated[list[float], Field(min_length=1, max_length=COORDINATES_MAX)]] = Field(
        min_length=1,
        max_length=COORDINATES_MAX,
        description="The known covariance in the units of the columns: a symmetric matrix, row by row.",
    )
    prior: PrecisionPrior = Field(default=PrecisionPrior(precision=1.0), description="Of the scaled mean.")
    radius: float = Field(
        default=1.0, ge=RADIUS_MIN, le=RADIUS_MAX, description="Of the ball that the scaled mean is restricted to."
    )
    norm_bound: Maybe[float] = Field(default=None, gt=0, description=LONGEST)


@dataclass(frozen=True)
class MeanModel:
    """`covariance` Σ in the units of the columns; `precision` λ, `radius` R and `norm_bound` B in scaled ones."""

    coordinates: tuple[Coordinate, ...]
    covariance: tuple[tuple[float, ...], ...]
    precision: float
    radius: float
    norm_bound: float
    family: str = "mvn_mean"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        reach = self.radius * self.norm_bound
        return tuple(
            Parameter(c.name, c.centre - reach * c.half_width, c.centre + reach * c.half_width)
            for c in self.coordinates
        )

    @property
    def statistic(self) -> MomentsRequest:
        return MomentsRequest(self.coordinates, False, self.norm_bound)

    @property
    def dimension(self) -> int:
        return len(self.coordinates)

    @cached_property
    def scaled_covariance(self) -> Array:
        """Σ_z."""
        scale = self.norm_bound * np.array([c.half_width for c in self.coordinates])
        return np.array(self.covariance) / np.outer(scale, scale)

    def means(self, m: Array) -> Array:
        """(N, d) draws in the ball to means in the units of the columns, inside their public ranges."""
        centre = np.array([c.centre for c in self.coordinates])
        scale = self.norm_bound * np.array([c.half_width for c in self.coordinates])
        lower, upper = (np.array([getattr(p, end) for p in self.parameters]) for end in ("lower", "upper"))
        return np.clip(centre + m * scale, lower, upper)

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "columns": [c.column for c in self.coordinates],
            "covariance": [list(row) for row in self.covariance],
            "prior": {"precision": self.precision},
            "radius": self.radius,
            "norm_bound": self.norm_bound,
        }


def build_mvn_mean(spec: MvnMeanModel, columns: Mapping[str, Column]) -> MeanModel:
    coordinates = number_coordinates(spec.columns, columns)
    model = MeanModel(
        coordinates=coordinates,
        covariance=_symmetric(spec.covariance, len(coordinates)),
        precision=spec.prior.precision,
        radius=spec.radius,
        norm_bound=read_norm_bound(spec.norm_bound, math.sqrt(len(coordinates))),
    )
    values = np.linalg.eigvalsh(model.scaled_covariance)
    if not values[0] * CONDITION_MAX >= max(values[-1], 1 / CONDITION_MAX) or not values[-1] <= CONDITION_MAX:
        raise InvalidModel(
            "model.covariance", "a positive definite matrix, not too far from the columns' bounds in size"
        )
    return model


def number_coordinates(names: list[str], columns: Mapping[str, Column]) -> tuple[Coordinate, ...]:
    for name in names:
        if name not in columns:
            raise InvalidModel("model.columns", f"names of columns; {name!r} is none")
    return tuple(number_coordinate("model.columns", columns[name]) for name in names)


def _symmetric(rows: list[list[float]], size: int) -> tuple[tuple[float, ...], ...]:
    square = len(rows) == size and all(len(row) == size for row in rows)
    if not square or any(rows[i][j] != rows[j][i] for i in range(size) for j in range(i)):
        raise InvalidModel("model.covariance", f"a symmetric matrix of {size} rows of {size} numbers")
    return tuple(tuple(row) for row in rows)
