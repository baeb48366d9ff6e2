"""Exponential: p(x|λ) = λe^{−λx}, λ the rate. T = x clipped to the column's bounds, a = 1."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import RateModel, bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.schema import Column
from app.errors import InvalidModel


class ExponentialModel(RateModel):
    """The rate of exponential waiting times, in a column of numbers from 0 up."""

    family: Literal["exponential"] = Field(description="The name of the family.")


def build_exponential(spec: ExponentialModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    lower, upper = bounds_of(column)
    if lower < 0:
        raise InvalidModel("model.column", "a column with lower bound 0 or more")
    statistic = real_statistic(column, "identity", 0.0, lower, upper)
    return rate_model(spec, statistic, name="rate", power=1.0, typical=(4 / upper, 20 / upper))
