"""Pareto with known smallest value s: p(x|α) = α·sᵅ/x^{α+1}, α the shape. T = log(x/s) clipped."""

import math
from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, read_positive, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_pareto(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "scale"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    scale = read_positive("model.scale", fields["scale"])
    lower, upper = bounds_of(column)
    if not scale <= lower:
        raise InvalidModel("model.scale", "a positive number not above the column's lower bound")
    statistic = real_statistic(column, "log_ratio", scale, math.log(lower / scale), math.log(upper / scale))
    return rate_model(fields, statistic, name="shape", power=1.0, typical=(0.5, 10.0), known=(("scale", scale),))
