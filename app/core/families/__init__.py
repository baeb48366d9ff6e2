"""Families of models. To add one: a file here, a line in FAMILIES, and the contract tests pick it up."""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.families.bernoulli import parse_bernoulli
from app.core.families.binomial import parse_binomial
from app.core.families.exponential_waiting import parse_exponential
from app.core.families.gamma_rate import parse_gamma
from app.core.families.geometric import parse_geometric
from app.core.families.laplace_scale import parse_laplace
from app.core.families.natural import NaturalModel
from app.core.families.negative_binomial import parse_negative_binomial
from app.core.families.normal_mean import parse_normal_mean
from app.core.families.normal_precision import parse_normal_precision
from app.core.families.parameters import Parameter
from app.core.families.pareto import parse_pareto
from app.core.families.poisson import parse_poisson
from app.core.families.weibull import parse_weibull
from app.core.schema import Column
from app.errors import InvalidModel

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


def parse_model(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> Model:
    if not isinstance(spec, Mapping):
        raise InvalidModel("model", "an object")
    family = spec.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InvalidModel("model.family", "one of " + ", ".join(sorted(FAMILIES)))
    return FAMILIES[family](spec, columns)


__all__ = ["FAMILIES", "Model", "Parameter", "parse_model"]
