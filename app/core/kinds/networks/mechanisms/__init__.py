"""Mechanisms on networks, all ending in samples of every conditional probability. A file here and a line below."""

from app.core.kinds.networks.mechanisms.baps import NetworkBaps
from app.core.kinds.networks.mechanisms.fourier import NetworkFourier, parse_network_fourier
from app.core.kinds.networks.mechanisms.laplace import NetworkLaplace
from app.core.kinds.networks.mechanisms.map_point import NetworkMap
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.protocols import MechanismOf, MechanismParser
from app.core.statistics.counts import ExactCounts

NetworkMechanism = MechanismOf[NetworkModel, ExactCounts]

NETWORK_MECHANISMS: dict[str, MechanismParser[NetworkMechanism]] = {
    "baps": NetworkBaps.parse,
    "laplace": NetworkLaplace.parse,
    "fourier": parse_network_fourier,
    "map": NetworkMap.parse,
}

__all__ = [
    "NETWORK_MECHANISMS",
    "NetworkBaps",
    "NetworkFourier",
    "NetworkLaplace",
    "NetworkMap",
    "NetworkMechanism",
]
