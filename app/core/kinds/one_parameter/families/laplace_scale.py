"""Laplace with known location μ: p(x|θ) = θ/2·e^{−θ|x−μ|}, θ the inverse scale. T = |x−μ| clipped, a = 1."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import RateModel, bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.schema import Column
from app.errors import InvalidModel


class LaplaceModel(RateModel):
    """The inverse scale of a Laplace distribution of known centre."""

    family: Literal["laplace"] = Field(description="The name of the family.")
    location: float = Field(description="The known centre, inside the column's bounds.")


def build_laplace(spec: LaplaceModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    location = spec.location
    lower, upper = bounds_of(column)
    if not lower <= location <= upper:
        raise InvalidModel("model.location", "a number inside the column's bounds")
    farthest = max(location - lower, upper - location)
    statistic = real_statistic(column, "absolute", location, 0.0, farthest)
    typical = (4 / farthest, 20 / farthest)
    known = (("location", location),)
    return rate_model(spec, statistic, name="inverse_scale", power=1.0, typical=typical, known=known)
