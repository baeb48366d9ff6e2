"""A yes/no record on the public grid: a family of its own, and every block of a network."""

from fractions import Fraction
from typing import Annotated

from pydantic import Field, TypeAdapter

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import BetaPrior, ProbabilityPrior, build_prior
from app.core.grids.spacing import ARCSINE
from app.core.grids.sum_laws import SumLaw
from app.core.parameters import Parameter
from app.core.specs import Spec, read_spec
from app.core.statistics.sums import StatisticRequest
from app.errors import InvalidModel

TRIM_DEFAULT = 0.05
TRIM_MIN = 1e-6
"""What a trim is where it costs nothing: of a uniform prior two in a million lie beyond."""
TRIM_MAX = 0.49
LOG_ODDS = Combination(log=Fraction(1), complement=Fraction(-1))
Trim = Annotated[float, Field(ge=TRIM_MIN, le=TRIM_MAX)]
TRIM_WORDS = (
    "ω: the public range of every probability is [ω, 1−ω]. If left out, "
    f"{TRIM_DEFAULT:g} where samples are drawn (`baps`, `map`), {TRIM_MIN:g} where noise is added, which it costs nothing."
)


class _TrimmedBeta(Spec):
    prior: BetaPrior
    trim: Trim


_TRIMMED_BETA = TypeAdapter(_TrimmedBeta)


def bernoulli(column: str, alpha: float = 1.0, beta: float = 1.0, trim: float = TRIM_DEFAULT) -> NaturalModel:
    """With a Beta(alpha, beta) prior. Raises InvalidModel."""
    given = {"prior": {"alpha": alpha, "beta": beta}, "trim": trim}
    spec = read_spec(_TRIMMED_BETA, given, "model", InvalidModel)
    return bernoulli_model(column, spec.prior, spec.trim)


def bernoulli_model(column: str, prior: ProbabilityPrior | None, trim: float | None) -> NaturalModel:
    """`trim` None leaves it open: the default of draws until a mechanism is known."""
    within = TRIM_DEFAULT if trim is None else trim
    return NaturalModel(
        family="bernoulli",
        statistic=StatisticRequest(column),
        parameter=Parameter("theta", within, 1 - within),
        eta=LOG_ODDS,
        partition=Combination(complement=Fraction(-1)),
        spacing=ARCSINE,
        information=4.0,
        prior=build_prior(prior, ARCSINE, "beta"),
        sums=SumLaw("binomial"),
        trim=within,
        papers_trials=1,
        range_open=trim is None,
    )
