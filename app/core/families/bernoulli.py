"""Bernoulli: p(x|θ) = θˣ(1−θ)^{1−x}, θ the success probability, on [ω, 1−ω].

T = x, η = log θ − log(1−θ), A = −log(1−θ); even in arcsin √θ, where one record carries information 4.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from app.core.families.combination import Combination
from app.core.families.family_parts import read_column
from app.core.families.natural import NaturalModel
from app.core.families.parameters import Parameter
from app.core.families.priors import parse_prior
from app.core.families.reading import read_number, read_object
from app.core.families.spacing import ARCSINE
from app.core.families.sums import SumLaw
from app.core.schema import Column
from app.core.statistics import StatisticRequest
from app.errors import InvalidModel

TRIM_DEFAULT = 0.05
TRIM_MIN = 1e-6
TRIM_MAX = 0.49
LOG_ODDS = Combination(log=Fraction(1), complement=Fraction(-1))


def parse_bernoulli(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim"})
    column = read_column(fields, columns, ("binary",))
    return _model(column.name, fields.get("prior"), fields.get("trim", TRIM_DEFAULT))


def bernoulli(column: str, alpha: float = 1.0, beta: float = 1.0, trim: float = TRIM_DEFAULT) -> NaturalModel:
    """With a Beta(alpha, beta) prior."""
    return _model(column, {"alpha": alpha, "beta": beta}, trim)


def _model(column: str, prior: object, given_trim: object) -> NaturalModel:
    trim = read_probability_trim(given_trim)
    return NaturalModel(
        family="bernoulli",
        statistic=StatisticRequest(column),
        parameter=Parameter("theta", trim, 1 - trim),
        eta=LOG_ODDS,
        partition=Combination(complement=Fraction(-1)),
        spacing=ARCSINE,
        information=4.0,
        prior=parse_prior(prior, "probability", {"alpha": 1, "beta": 1}, ARCSINE),
        sums=SumLaw("binomial"),
        trim=trim,
        papers_trials=1,
    )


def read_probability_trim(value: object) -> float:
    """ω: the parameter stays in [ω, 1−ω]."""
    trim = read_number("model.trim", value)
    if not TRIM_MIN <= trim <= TRIM_MAX:
        raise InvalidModel("model.trim", f"a number from {TRIM_MIN} to {TRIM_MAX}")
    return trim
