"""Normal with known sd σ: p(x|μ) ∝ e^{−(x−μ)²/(2σ²)}, μ the mean. T = x clipped.

η = μ/σ² and A = μ²/(2σ²), each up to a constant: both are written around the column's lower bound ℓ, u = μ − ℓ, as
η = u/σ², A = (ℓu + u²/2)/σ², so that a column of dates or of other large numbers loses no digits.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import parse_prior
from app.core.grids.spacing import EVEN
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import (
    bounds_of,
    read_column,
    read_positive,
    read_trim,
    real_statistic,
)
from app.core.reading import read_object
from app.core.schema import Column


def parse_normal_mean(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "sd"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("real", "integer"))
    sd = read_positive("model.sd", fields["sd"])
    lower, upper = bounds_of(column)
    margin = (upper - lower) / 10
    precision, origin = 1 / Fraction(sd) ** 2, Fraction(lower)
    default = {"mean": (lower + upper) / 2, "sd": upper - lower}
    return NaturalModel(
        family="normal_mean",
        statistic=real_statistic(column, "identity", 0.0, lower, upper),
        parameter=read_trim(fields.get("trim", {}), "mean", (lower + margin, upper - margin), (lower, upper)),
        eta=Combination(linear=precision, origin=origin),
        partition=Combination(linear=precision * origin, square=precision / 2, origin=origin),
        spacing=EVEN,
        information=1 / sd**2,
        prior=parse_prior(fields.get("prior"), "location", default, EVEN),
        sums=SumLaw("normal", sd),
        known=(("sd", sd),),
    )
