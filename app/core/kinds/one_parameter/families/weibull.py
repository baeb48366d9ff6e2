"""Weibull with known shape a: p(x|θ) ∝ θx^{a−1}e^{−θxᵃ}, θ = scale^{−a} the rate. T = xᵃ clipped."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

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

SHAPE_MAX = 20.0


class WeibullModel(RateModel):
    """The rate, scale^(−shape), of a Weibull distribution of known shape, in a column of numbers from 0 up."""

    family: Literal["weibull"] = Field(description="The name of the family.")
    shape: Annotated[Known, Field(le=SHAPE_MAX)] = Field(description="The known shape.")


def build_weibull(spec: WeibullModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    shape = spec.shape
    lower, upper = bounds_of(column)
    if lower < 0 or not abs(shape * math.log10(upper)) <= 12:  # before a power that no double holds is taken
        raise InvalidModel(
            "model.shape", f"at most {SHAPE_MAX:g}, on a column from 0 up with upper^shape in 1e-12 … 1e12"
        )
    statistic = real_statistic(column, "power", shape, lower**shape, upper**shape)
    typical = (4 * upper**-shape, max(20.0, 10**shape) * upper**-shape)
    return rate_model(spec, statistic, name="rate", power=1.0, typical=typical, known=(("shape", shape),))
