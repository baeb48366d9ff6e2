"""Families of models. To add one: a file here, a line in FAMILIES, and the contract tests pick it up."""

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.families.bernoulli import BernoulliModel, build_bernoulli
from app.core.kinds.one_parameter.families.binomial import BinomialModel, build_binomial
from app.core.kinds.one_parameter.families.exponential import ExponentialModel, build_exponential
from app.core.kinds.one_parameter.families.gamma_rate import GammaModel, build_gamma
from app.core.kinds.one_parameter.families.geometric import GeometricModel, build_geometric
from app.core.kinds.one_parameter.families.laplace_scale import LaplaceModel, build_laplace
from app.core.kinds.one_parameter.families.negative_binomial import NegativeBinomialModel, build_negative_binomial
from app.core.kinds.one_parameter.families.normal_mean import NormalMeanModel, build_normal_mean
from app.core.kinds.one_parameter.families.normal_precision import NormalPrecisionModel, build_normal_precision
from app.core.kinds.one_parameter.families.pareto import ParetoModel, build_pareto
from app.core.kinds.one_parameter.families.poisson import PoissonModel, build_poisson
from app.core.kinds.one_parameter.families.weibull import WeibullModel, build_weibull
from app.core.kinds.protocols import Family

Model = NaturalModel

FAMILIES: dict[str, Family[Model]] = {
    "bernoulli": Family(BernoulliModel, build_bernoulli),
    "binomial": Family(BinomialModel, build_binomial),
    "geometric": Family(GeometricModel, build_geometric),
    "negative_binomial": Family(NegativeBinomialModel, build_negative_binomial),
    "poisson": Family(PoissonModel, build_poisson),
    "exponential": Family(ExponentialModel, build_exponential),
    "gamma": Family(GammaModel, build_gamma),
    "weibull": Family(WeibullModel, build_weibull),
    "pareto": Family(ParetoModel, build_pareto),
    "laplace": Family(LaplaceModel, build_laplace),
    "normal_precision": Family(NormalPrecisionModel, build_normal_precision),
    "normal_mean": Family(NormalMeanModel, build_normal_mean),
}

__all__ = ["FAMILIES", "Model"]
