"""Geometric and negative binomial: failures before the r-th success, r known, θ the success probability.

T = x clipped, η = log(1−θ), A = −r·log θ; information r/(θ²(1−θ)), so even in −2·artanh √(1−θ), where it is r.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from app.core.grids.bernoulli import TRIM_DEFAULT, read_probability_trim
from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import parse_prior
from app.core.grids.spacing import WAITING
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, read_positive, whole_statistic
from app.core.parameters import Parameter
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_negative_binomial(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column", "successes"}, optional={"prior", "trim"})
    return waiting_time(fields, columns, read_positive("model.successes", fields["successes"]))


def waiting_time(fields: Mapping[str, Any], columns: Mapping[str, Column], successes: float) -> NaturalModel:
    column = read_column(fields, columns, ("integer",))
    if bounds_of(column)[0] != 0:
        raise InvalidModel("model.column", "an integer column with lower bound 0")
    trim = read_probability_trim(fields.get("trim", TRIM_DEFAULT))
    known = (("successes", successes),) if fields["family"] == "negative_binomial" else ()
    return NaturalModel(
        family=fields["family"],
        statistic=whole_statistic(column),
        parameter=Parameter("theta", trim, 1 - trim),
        eta=Combination(complement=Fraction(1)),
        partition=Combination(log=-Fraction(successes)),
        spacing=WAITING,
        information=successes,
        prior=parse_prior(fields.get("prior"), "probability", {"alpha": 1, "beta": 1}, WAITING),
        sums=SumLaw("negative_binomial", successes),
        known=known,
        trim=trim,
    )
