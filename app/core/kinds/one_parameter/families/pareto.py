"""Pareto with known smallest value s: p(x|α) = α·sᵅ/x^{α+1}, α the shape. T = log(x/s) clipped."""

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import (
    Known,
    RateModel,
    bounds_of,
    read_column,
    real_statistic,
)
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.schema import Column
from app.errors import InvalidModel


class ParetoModel(RateModel):
    """The shape of a Pareto distribution of known smallest value."""

    family: Literal["pareto"] = Field(description="The name of the family.")
    scale: Known = Field(description="The known smallest value, not above the column's lower bound.")


def build_pareto(spec: ParetoModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    scale = spec.scale
    lower, upper = bounds_of(column)
    if not scale <= lower:
        raise InvalidModel("model.scale", "a positive number not above the column's lower bound")
    statistic = real_statistic(column, "log_ratio", scale, math.log(lower / scale), math.log(upper / scale))
    return rate_model(spec, statistic, name="shape", power=1.0, typical=(0.5, 10.0), known=(("scale", scale),))
