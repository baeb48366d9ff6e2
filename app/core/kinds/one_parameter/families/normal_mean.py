"""Normal with known sd σ: p(x|μ) ∝ e^{−(x−μ)²/(2σ²)}, μ the mean. T = x clipped.

η = μ/σ² and A = μ²/(2σ²), each up to a constant: both are written around the column's lower bound ℓ, u = μ − ℓ, as
η = u/σ², A = (ℓu + u²/2)/σ², so that a column of dates or of other large numbers loses no digits.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import LocationPrior, build_prior
from app.core.grids.spacing import EVEN
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import (
    ColumnModel,
    Known,
    TrimRange,
    bounds_of,
    is_open,
    read_column,
    read_trim,
    real_statistic,
)
from app.core.schema import Column


class NormalMeanModel(ColumnModel):
    """The mean of a normal distribution of known standard deviation."""

    family: Literal["normal_mean"] = Field(description="The name of the family.")
    prior: LocationPrior | None = Field(
        default=None, description="Normal, as wide as the column's bounds, if null or left out."
    )
    trim: TrimRange = Field(
        default=TrimRange(), description="The public range of the mean, inside the column's bounds."
    )
    sd: Known = Field(description="The known standard deviation.")


def build_normal_mean(spec: NormalMeanModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("real", "integer"))
    lower, upper = bounds_of(column)
    margin = (upper - lower) / 10
    precision, origin = 1 / Fraction(spec.sd) ** 2, Fraction(lower)
    return NaturalModel(
        family="normal_mean",
        statistic=real_statistic(column, "identity", 0.0, lower, upper),
        parameter=read_trim(spec.trim, "mean", (lower + margin, upper - margin), (lower, upper)),
        eta=Combination(linear=precision, origin=origin),
        partition=Combination(linear=precision * origin, square=precision / 2, origin=origin),
        spacing=EVEN,
        information=1 / spec.sd**2,
        prior=build_prior(spec.prior, EVEN, "normal", mean=(lower + upper) / 2, sd=upper - lower),
        sums=SumLaw("normal", spec.sd),
        known=(("sd", spec.sd),),
        range_open=is_open(spec.trim),
    )
