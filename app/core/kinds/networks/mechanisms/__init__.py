"""Mechanisms on networks, all ending in samples of every conditional probability. A file here and a line below."""

from app.core.kinds.mechanism_fields import (
    BapsMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    MapMechanism,
    PlanBapsMechanism,
)
from app.core.kinds.networks.mechanisms.baps import NetworkBaps
from app.core.kinds.networks.mechanisms.fourier import FourierMechanism, NetworkFourier
from app.core.kinds.networks.mechanisms.gaussian import NetworkGaussian
from app.core.kinds.networks.mechanisms.laplace import NetworkLaplace
from app.core.kinds.networks.mechanisms.map_point import NetworkMap
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.protocols import MechanismKind, MechanismOf
from app.core.statistics.counts import ExactCounts

NetworkMechanism = MechanismOf[NetworkModel, ExactCounts]

NETWORK_MECHANISMS: dict[str, MechanismKind[NetworkMechanism]] = {
    "baps": MechanismKind(BapsMechanism, NetworkBaps, PlanBapsMechanism),
    "laplace": MechanismKind(LaplaceMechanism, NetworkLaplace),
    "gaussian": MechanismKind(GaussianMechanism, NetworkGaussian),
    "fourier": MechanismKind(FourierMechanism, NetworkFourier),
    "map": MechanismKind(MapMechanism, NetworkMap),
}

__all__ = [
    "NETWORK_MECHANISMS",
    "NetworkBaps",
    "NetworkFourier",
    "NetworkGaussian",
    "NetworkLaplace",
    "NetworkMap",
    "NetworkMechanism",
]
