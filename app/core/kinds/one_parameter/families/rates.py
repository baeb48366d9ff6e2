"""Families with likelihood θᵃ·e^{−θT}: one shape for waiting times, scales, precisions and tails.

η = −θ, A = −a·log θ; one record carries information a in log θ, so the grid is even there.
"""

from fractions import Fraction

from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import build_prior
from app.core.grids.spacing import LOGARITHM
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import RATE_MAX, RATE_MIN, RateModel, is_open, read_trim
from app.core.statistics.sums import StatisticRequest


def rate_model(
    spec: RateModel,
    statistic: StatisticRequest,
    *,
    name: str,
    power: float,
    typical: tuple[float, float],
    known: tuple[tuple[str, float], ...] = (),
) -> NaturalModel:
    """`power` is a, `typical` the default range of the parameter; the default prior is exponential with its mean inside.

    Default ranges begin where the largest T is four times its mean (the largest deviation three sds for the precision):
    2 % of exponential records are then clipped, 0.2 % on average over the prior, and intervals of a thousand records
    still cover what they say.
    """
    parameter = read_trim(spec.trim, name, typical, (RATE_MIN, RATE_MAX))
    centre = (parameter.lower * parameter.upper) ** 0.5
    return NaturalModel(
        family=spec.family,
        statistic=statistic,
        parameter=parameter,
        eta=Combination(linear=Fraction(-1)),
        partition=Combination(log=-Fraction(power)),
        spacing=LOGARITHM,
        information=power,
        prior=build_prior(spec.prior, LOGARITHM, "gamma", shape=1.0, rate=1 / centre),
        sums=SumLaw("gamma", power),
        known=known,
        range_open=is_open(spec.trim),
    )
