"""Normal with known mean μ: p(x|θ) ∝ √θ·e^{−θ(x−μ)²/2}, θ the precision. T = (x−μ)²/2 clipped, a = ½."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.family_parts import RateModel, bounds_of, read_column, real_statistic
from app.core.kinds.one_parameter.families.rates import rate_model
from app.core.schema import Column
from app.errors import InvalidModel

FARTHEST_MIN = 1e-150
"""Squares, and what is divided by them, stay finite."""


class NormalPrecisionModel(RateModel):
    """The precision, one over the variance, of a normal distribution of known mean."""

    family: Literal["normal_precision"] = Field(description="The name of the family.")
    mean: float = Field(description="The known mean, inside the column's bounds.")


def build_normal_precision(spec: NormalPrecisionModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    mean = spec.mean
    lower, upper = bounds_of(column)
    if not lower <= mean <= upper:
        raise InvalidModel("model.mean", "a number inside the column's bounds")
    farthest = max(mean - lower, upper - mean)
    if not FARTHEST_MIN <= farthest <= 1 / FARTHEST_MIN:
        raise InvalidModel("model.column", f"bounds from {FARTHEST_MIN:g} to {1 / FARTHEST_MIN:g} away from the mean")
    statistic = real_statistic(column, "square", mean, 0.0, farthest**2 / 2)
    typical = ((farthest / 3) ** -2, (farthest / 10) ** -2)
    return rate_model(spec, statistic, name="precision", power=0.5, typical=typical, known=(("mean", mean),))
