"""A yes/no record on the public grid: a family of its own, and every block of a network."""

from fractions import Fraction

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import parse_prior
from app.core.grids.spacing import ARCSINE
from app.core.grids.sum_laws import SumLaw
from app.core.parameters import Parameter
from app.core.reading import read_number
from app.core.statistics.sums import StatisticRequest
from app.errors import InvalidModel

TRIM_DEFAULT = 0.05
TRIM_MIN = 1e-6
TRIM_MAX = 0.49
LOG_ODDS = Combination(log=Fraction(1), complement=Fraction(-1))


def bernoulli(column: str, alpha: float = 1.0, beta: float = 1.0, trim: float = TRIM_DEFAULT) -> NaturalModel:
    """With a Beta(alpha, beta) prior."""
    return bernoulli_model(column, {"alpha": alpha, "beta": beta}, trim)


def bernoulli_model(column: str, prior: object, given_trim: object) -> NaturalModel:
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
