"""Mean of a multivariate normal law with known covariance, with a Gaussian prior restricted to a ball.

Columns are scaled by their public bounds and divided by B: z = x̃/max(B, ‖x̃‖), ‖z‖₂ ≤ 1. In those units z ~ N(m, Σ_z),
Σ_z = H⁻¹ΣH⁻¹/B² with H the half-widths, m ~ N(0, λ⁻¹I) on ‖m‖₂ ≤ R, and the mean in the units of the columns is c + B·H·m.
Neighbours: one person's row replaced.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.model import RADIUS_MAX, RADIUS_MIN, read_between, read_prior_precision
from app.core.parameters import Parameter
from app.core.reading import read_number, read_object
from app.core.schema import Column
from app.core.statistics.coordinates import COORDINATES_MAX, Coordinate, number_coordinate, read_columns
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

CONDITION_MAX = 1e8


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


def parse_mvn_mean(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> MeanModel:
    fields = read_object(
        "model", spec, required={"family", "columns", "covariance"}, optional={"prior", "radius", "norm_bound"}
    )
    coordinates = number_coordinates(fields["columns"], columns)
    longest = math.sqrt(len(coordinates))
    norm_bound = read_between("model.norm_bound", fields.get("norm_bound", longest), longest / 1e3, longest * 1e3)
    model = MeanModel(
        coordinates=coordinates,
        covariance=_read_covariance(fields["covariance"], len(coordinates)),
        precision=read_prior_precision(fields),
        radius=read_between("model.radius", fields.get("radius", 1.0), RADIUS_MIN, RADIUS_MAX),
        norm_bound=norm_bound,
    )
    values = np.linalg.eigvalsh(model.scaled_covariance)
    if not values[0] * CONDITION_MAX >= max(values[-1], 1 / CONDITION_MAX) or not values[-1] <= CONDITION_MAX:
        raise InvalidModel(
            "model.covariance", "a positive definite matrix, not too far from the columns' bounds in size"
        )
    return model


def number_coordinates(names: object, columns: Mapping[str, Column]) -> tuple[Coordinate, ...]:
    found = []
    for name in read_columns("model.columns", names):
        if name not in columns:
            raise InvalidModel("model.columns", f"names of columns; {name!r} is none")
        found.append(number_coordinate("model.columns", columns[name]))
    if len(found) > COORDINATES_MAX:
        raise InvalidModel("model.columns", f"at most {COORDINATES_MAX} columns")
    return tuple(found)


def _read_covariance(value: object, size: int) -> tuple[tuple[float, ...], ...]:
    wanted = f"a symmetric matrix of {size} rows of {size} numbers"
    if not isinstance(value, list | tuple) or len(value) != size:
        raise InvalidModel("model.covariance", wanted)
    rows = []
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != size:
            raise InvalidModel("model.covariance", wanted)
        rows.append(tuple(read_number("model.covariance", entry) for entry in row))
    if any(rows[i][j] != rows[j][i] for i in range(size) for j in range(i)):
        raise InvalidModel("model.covariance", wanted)
    return tuple(rows)
