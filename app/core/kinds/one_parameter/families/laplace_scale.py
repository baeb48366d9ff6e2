"""Laplace with known location μ: p(x|θ) = θ/2·e^{−θ|x−μ|}, θ the inverse scale. T = |x−μ| clipped, a = 1."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_number, read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_laplace(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "location"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    location = read_number("model.location", fields["location"])
    lower, upper = bounds_of(column)
    if not lower <= location <= upper:
        raise InvalidModel("model.location", "a number inside the column's bounds")
    farthest = max(location - lower, upper - location)
    statistic = real_statistic(column, "absolute", location, 0.0, farthest)
    typical = (4 / farthest, 20 / farthest)
    return rate_model(
        fields, statistic, name="inverse_scale", power=1.0, typical=typical, known=(("location", location),)
    )
