"""Weibull with known shape a: p(x|θ) ∝ θx^{a−1}e^{−θxᵃ}, θ = scale^{−a} the rate. T = xᵃ clipped."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, read_positive, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel

SHAPE_MAX = 20.0


def parse_weibull(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "shape"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    shape = read_positive("model.shape", fields["shape"])
    lower, upper = bounds_of(column)
    if lower < 0 or not shape <= SHAPE_MAX or not 1e-12 <= upper**shape <= 1e12:
        raise InvalidModel(
            "model.shape", f"at most {SHAPE_MAX:g}, on a column from 0 up with upper^shape in 1e-12 … 1e12"
        )
    statistic = real_statistic(column, "power", shape, lower**shape, upper**shape)
    typical = (4 * upper**-shape, max(20.0, 10**shape) * upper**-shape)
    return rate_model(fields, statistic, name="rate", power=1.0, typical=typical, known=(("shape", shape),))
