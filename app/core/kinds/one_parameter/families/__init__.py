"""Families of models. To add one: a file here, a line in FAMILIES, and the contract tests pick it up."""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.bernoulli import parse_bernoulli
from app.core.kinds.one_parameter.families.binomial import parse_binomial
from app.core.kinds.one_parameter.families.exponential import parse_exponential
from app.core.kinds.one_parameter.families.gamma_rate import parse_gamma
from app.core.kinds.one_parameter.families.geometric import parse_geometric
from app.core.kinds.one_parameter.families.laplace_scale import parse_laplace
from app.core.kinds.one_parameter.families.negative_binomial import parse_negative_binomial
from app.core.kinds.one_parameter.families.normal_mean import parse_normal_mean
from app.core.kinds.one_parameter.families.normal_precision import parse_normal_precision
from app.core.kinds.one_parameter.families.pareto import parse_pareto
from app.core.kinds.one_parameter.families.poisson import parse_poisson
from app.core.kinds.one_parameter.families.weibull import parse_weibull
from app.core.schema import Column

Model = NaturalModel

FAMILIES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Column]], Model]] = {
    "bernoulli": parse_bernoulli,
    "binomial": parse_binomial,
    "geometric": parse_geometric,
    "negative_binomial": parse_negative_binomial,
    "poisson": parse_poisson,
    "exponential": parse_exponential,
    "gamma": parse_gamma,
    "weibull": parse_weibull,
    "pareto": parse_pareto,
    "laplace": parse_laplace,
    "normal_precision": parse_normal_precision,
    "normal_mean": parse_normal_mean,
}

__all__ = ["FAMILIES", "Model"]
