"""Binomial(m, θ), m trials a record known: T = x, η = log θ − log(1−θ), A = −m·log(1−θ).

The counting term log C(m, x) cancels from every ratio and is not carried (PRIVACY §3).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.grids.bernoulli import LOG_ODDS
from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import build_prior
from app.core.grids.spacing import ARCSINE
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import (
    ProbabilityModel,
    bounds_of,
    read_column,
    whole_statistic,
)
from app.core.parameters import Parameter
from app.core.schema import INTEGER_BOUND_MAX, Column
from app.core.specs import Maybe
from app.errors import InvalidModel


class BinomialModel(ProbabilityModel):
    """The probability of success, from an integer column that counts successes among `trials`."""

    family: Literal["binomial"] = Field(description="The name of the family.")
    trials: Maybe[int] = Field(
        default=None, ge=1, le=INTEGER_BOUND_MAX, description="Trials a record: the column's upper bound."
    )


def build_binomial(spec: BinomialModel, columns: Mapping[str, Column]) -> NaturalModel:
    column = read_column(spec, columns, ("integer",))
    lower, upper = bounds_of(column)
    trials = int(upper) if spec.trials is None else spec.trials
    if lower != 0 or trials != upper:
        raise InvalidModel("model.trials", "the upper bound of an integer column whose lower bound is 0")
    return NaturalModel(
        family="binomial",
        statistic=whole_statistic(column),
        parameter=Parameter("theta", spec.within, 1 - spec.within),
        eta=LOG_ODDS,
        partition=Combination(complement=Fraction(-trials)),
        spacing=ARCSINE,
        information=4.0 * trials,
        prior=build_prior(spec.prior, ARCSINE, "beta"),
        sums=SumLaw("binomial", trials),
        known=(("trials", trials),),
        trim=spec.within,
        range_open=spec.trim is None,
        papers_trials=trials,
    )
