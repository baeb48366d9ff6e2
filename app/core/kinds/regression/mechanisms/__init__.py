"""Mechanisms on moments: noise on them once, or draws from the ball. A file here and a line below.

`gaussian` is what such noise is called in every other kind: whoever asks for it gets, and reads of, `perturbed_statistics`.
"""

from app.core.kinds.mechanism_fields import BapsMechanism, GaussianMechanism, PlanBapsMechanism
from app.core.kinds.protocols import MechanismKind
from app.core.kinds.regression.mechanisms.baps import RegressionBaps
from app.core.kinds.regression.mechanisms.perturbed_statistics import (
    PerturbedStatistics,
    PerturbedStatisticsMechanism,
    RegressionModel,
)

RegressionMechanism = PerturbedStatistics | RegressionBaps

REGRESSION_MECHANISMS: dict[str, MechanismKind[RegressionMechanism]] = {
    "perturbed_statistics": MechanismKind(PerturbedStatisticsMechanism, PerturbedStatistics),
    "gaussian": MechanismKind(GaussianMechanism, PerturbedStatistics),
    "baps": MechanismKind(BapsMechanism, RegressionBaps, PlanBapsMechanism),
}

__all__ = [
    "REGRESSION_MECHANISMS",
    "PerturbedStatistics",
    "RegressionBaps",
    "RegressionMechanism",
    "RegressionModel",
]
