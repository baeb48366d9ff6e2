"""Precision matrix of a multivariate normal law around the columns' public centres, Wishart prior on a Frobenius ball.

z = x̃/max(B, ‖x̃‖) as for a mean; z ~ N(0, Ω⁻¹), Ω ~ Wishart(ν, I/(νλ)), whose mean is I/λ, restricted to ‖Ω‖_F ≤ R. In the units
of the columns Ω_ij/(B²h_ih_j). Neighbours: one person's row replaced. Given A = Σzzᵀ the posterior is
Wishart(ν + n, (νλI + A)⁻¹) on the ball.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.mean_model import number_coordinates
from app.core.kinds.regression.model import PRECISION_MAX, PRECISION_MIN, read_between
from app.core.parameters import Parameter
from app.core.reading import read_object
from app.core.schema import Column
from app.core.statistics.coordinates import Coordinate
from app.core.statistics.moments import MomentsRequest
from app.errors import InvalidModel

Array = NDArray[np.float64]

COLUMNS_MAX = 32


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


def parse_normal_precision_matrix(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> PrecisionMatrixModel:
    fields = read_object("model", spec, required={"family", "columns", "radius"}, optional={"prior", "norm_bound"})
    coordinates = number_coordinates(fields["columns"], columns)
    d = len(coordinates)
    if d > COLUMNS_MAX:
        raise InvalidModel("model.columns", f"at most {COLUMNS_MAX} columns")
    prior = read_object("model.prior", fields.get("prior", {}), required=set(), optional={"degrees", "scale"})
    longest = math.sqrt(d)
    return PrecisionMatrixModel(
        coordinates=coordinates,
        degrees=read_between("model.prior.degrees", prior.get("degrees", d + 1), d, PRECISION_MAX),
        scale=read_between("model.prior.scale", prior.get("scale", 1 / d), PRECISION_MIN, PRECISION_MAX),
        radius=read_between("model.radius", fields["radius"], 1e-3, 1e9),
        norm_bound=read_between("model.norm_bound", fields.get("norm_bound", longest), longest / 1e3, longest * 1e3),
    )
