"""Poisson: p(x|λ) = λˣe^{−λ}/x!, λ the rate. T = x clipped, η = log λ, A = λ; even in √λ, information 4."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import build_prior
from app.core.grids.spacing import SQUARE_ROOT
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import (
    RATE_MAX,
    RATE_MIN,
    RateModel,
    bounds_of,
    is_open,
    read_column,
    read_trim,
    whole_statistic,
)
from app.core.schema import Column
from app.errors import InvalidModel


class PoissonModel(RateModel):
    """The rate of Poisson counts, in an integer column from 0 up."""

    family: Literal["poisson"] = Field(description="The name of the family.")


def build_poisson(spec: PoissonModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("integer",))
    lower, upper = bounds_of(column)
    if lower < 0:
        raise InvalidModel("model.column", "an integer column with lower bound 0 or more")
    return NaturalModel(
        family="poisson",
        statistic=whole_statistic(column),
        parameter=read_trim(spec.trim, "rate", (upper / 20, upper / 2), (RATE_MIN, RATE_MAX)),
        eta=Combination(log=Fraction(1)),
        partition=Combination(linear=Fraction(1)),
        spacing=SQUARE_ROOT,
        information=4.0,
        prior=build_prior(spec.prior, SQUARE_ROOT, "gamma", shape=1.0, rate=6 / upper),
        sums=SumLaw("poisson"),
        range_open=is_open(spec.trim),
    )
