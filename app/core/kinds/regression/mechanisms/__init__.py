"""Mechanisms on moments: noise on them once, or draws from the ball. A file here and a line below."""

from app.core.kinds.protocols import MechanismParser
from app.core.kinds.regression.mechanisms.baps import RegressionBaps
from app.core.kinds.regression.mechanisms.perturbed_statistics import (
    PerturbedStatistics,
    RegressionModel,
    parse_perturbed_statistics,
)

RegressionMechanism = PerturbedStatistics | RegressionBaps

REGRESSION_MECHANISMS: dict[str, MechanismParser[RegressionMechanism]] = {
    "perturbed_statistics": parse_perturbed_statistics,
    "baps": RegressionBaps.parse,
}

__all__ = [
    "REGRESSION_MECHANISMS",
    "PerturbedStatistics",
    "RegressionBaps",
    "RegressionMechanism",
    "RegressionModel",
]
