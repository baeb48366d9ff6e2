"""Exponential: p(x|λ) = λe^{−λx}, λ the rate. T = x clipped to the column's bounds, a = 1."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_exponential(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    lower, upper = bounds_of(column)
    if lower < 0:
        raise InvalidModel("model.column", "a column with lower bound 0 or more")
    statistic = real_statistic(column, "identity", 0.0, lower, upper)
    return rate_model(fields, statistic, name="rate", power=1.0, typical=(4 / upper, 20 / upper))
