"""Geometric and negative binomial: failures before the r-th success, r known, θ the success probability.

T = x clipped, η = log(1−θ), A = −r·log θ; information r/(θ²(1−θ)), so even in −2·artanh √(1−θ), where it is r.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import Field

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import build_prior
from app.core.grids.spacing import WAITING
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import (
    Known,
    ProbabilityModel,
    bounds_of,
    read_column,
    whole_statistic,
)
from app.core.parameters import Parameter
from app.core.schema import Column
from app.errors import InvalidModel


class NegativeBinomialModel(ProbabilityModel):
    """The probability of success, from an integer column that counts failures before the last of `successes`."""

    family: Literal["negative_binomial"] = Field(description="The name of the family.")
    successes: Known = Field(description="Successes waited for; need not be whole.")


def build_negative_binomial(spec: NegativeBinomialModel, columns: Mapping[str, Column]) -> NaturalModel:
    return waiting_time(spec, columns, spec.successes, known=(("successes", spec.successes),))


def waiting_time(
    spec: ProbabilityModel, columns: Mapping[str, Column], successes: float, known: tuple[tuple[str, float], ...] = ()
) -> NaturalModel:
    column = read_column(spec, columns, ("integer",))
    if bounds_of(column)[0] != 0:
        raise InvalidModel("model.column", "an integer column with lower bound 0")
    return NaturalModel(
        family=spec.family,
        statistic=whole_statistic(column),
        parameter=Parameter("theta", spec.within, 1 - spec.within),
        eta=Combination(complement=Fraction(1)),
        partition=Combination(log=-Fraction(successes)),
        spacing=WAITING,
        information=successes,
        prior=build_prior(spec.prior, WAITING, "beta"),
        sums=SumLaw("negative_binomial", successes),
        known=known,
        trim=spec.within,
        range_open=spec.trim is None,
    )
