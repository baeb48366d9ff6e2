"""Mechanisms on one column: every one ends in a stored sample set. To add one: a file here and a line in MECHANISMS."""

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.mechanism_fields import (
    BapsMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    MapMechanism,
    PlanBapsMechanism,
)
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.gaussian import Gaussian
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint
from app.core.kinds.protocols import MechanismKind, MechanismOf
from app.core.statistics.sums import ExactStatistic

Mechanism = MechanismOf[NaturalModel, ExactStatistic]

MECHANISMS: dict[str, MechanismKind[Mechanism]] = {
    "baps": MechanismKind(BapsMechanism, Baps, PlanBapsMechanism),
    "laplace": MechanismKind(LaplaceMechanism, Laplace),
    "gaussian": MechanismKind(GaussianMechanism, Gaussian),
    "map": MechanismKind(MapMechanism, MapPoint),
}

__all__ = ["MECHANISMS", "Baps", "Gaussian", "Laplace", "MapPoint", "Mechanism"]
