"""Gamma with known shape a: p(x|β) ∝ βᵃx^{a−1}e^{−βx}, β the rate. T = x clipped."""

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


class GammaModel(RateModel):
    """The rate of a gamma distribution of known shape, in a column of numbers from 0 up."""

    family: Literal["gamma"] = Field(description="The name of the family.")
    shape: Known = Field(description="The known shape.")


def build_gamma(spec: GammaModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    lower, upper = bounds_of(column)
    if lower < 0:
        raise InvalidModel("model.column", "a column with lower bound 0 or more")
    statistic = real_statistic(column, "identity", 0.0, lower, upper)
    typical = (4 * spec.shape / upper, 20 * spec.shape / upper)
    known = (("shape", spec.shape),)
    return rate_model(spec, statistic, name="rate", power=spec.shape, typical=typical, known=known)
