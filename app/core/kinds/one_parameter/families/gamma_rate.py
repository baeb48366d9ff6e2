"""Gamma with known shape a: p(x|β) ∝ βᵃx^{a−1}e^{−βx}, β the rate. T = x clipped."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, read_positive, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_gamma(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "shape"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    shape = read_positive("model.shape", fields["shape"])
    lower, upper = bounds_of(column)
    if lower < 0:
        raise InvalidModel("model.column", "a column with lower bound 0 or more")
    statistic = real_statistic(column, "identity", 0.0, lower, upper)
    typical = (4 * shape / upper, 20 * shape / upper)
    return rate_model(fields, statistic, name="rate", power=shape, typical=typical, known=(("shape", shape),))
