"""Normal with known mean μ: p(x|θ) ∝ √θ·e^{−θ(x−μ)²/2}, θ the precision. T = (x−μ)²/2 clipped, a = ½."""

from collections.abc import Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.reading import read_number, read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_normal_precision(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "mean"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    mean = read_number("model.mean", fields["mean"])
    lower, upper = bounds_of(column)
    if not lower <= mean <= upper:
        raise InvalidModel("model.mean", "a number inside the column's bounds")
    farthest = max(mean - lower, upper - mean)
    statistic = real_statistic(column, "square", mean, 0.0, farthest**2 / 2)
    typical = ((farthest / 3) ** -2, (farthest / 10) ** -2)
    return rate_model(fields, statistic, name="precision", power=0.5, typical=typical, known=(("mean", mean),))
