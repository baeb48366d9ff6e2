"""Binomial(m, θ), m trials a record known: T = x, η = log θ − log(1−θ), A = −m·log(1−θ).

The counting term log C(m, x) cancels from every ratio and is not carried (PRIVACY §3).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from app.core.grids.bernoulli import LOG_ODDS, TRIM_DEFAULT, read_probability_trim
from app.core.grids.combination import Combination
from app.core.grids.natural_model import NaturalModel
from app.core.grids.priors import parse_prior
from app.core.grids.spacing import ARCSINE
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.families.family_parts import bounds_of, read_column, whole_statistic
from app.core.parameters import Parameter
from app.core.reading import read_object
from app.core.schema import Column
from app.errors import InvalidModel


def parse_binomial(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NaturalModel:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim", "trials"})
    column = read_column(fields, columns, ("integer",))
    lower, upper = bounds_of(column)
    trials = fields.get("trials", int(upper))
    if isinstance(trials, bool) or not isinstance(trials, int) or lower != 0 or trials != upper:
        raise InvalidModel("model.trials", "the upper bound of an integer column whose lower bound is 0")
    trim = read_probability_trim(fields.get("trim", TRIM_DEFAULT))
    return NaturalModel(
        family="binomial",
        statistic=whole_statistic(column),
        parameter=Parameter("theta", trim, 1 - trim),
        eta=LOG_ODDS,
        partition=Combination(complement=Fraction(-trials)),
        spacing=ARCSINE,
        information=4.0 * trials,
        prior=parse_prior(fields.get("prior"), "probability", {"alpha": 1, "beta": 1}, ARCSINE),
        sums=SumLaw("binomial", trials),
        known=(("trials", trials),),
        trim=trim,
        papers_trials=trials,
    )
