"""Mechanisms on networks, all ending in samples of every conditional probability. A file here and a line below."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.mechanisms.release_cost import ReleaseCost
from app.core.networks.counts import ExactCounts
from app.core.networks.mechanisms.baps import NetworkBaps, parse_network_baps
from app.core.networks.mechanisms.fourier import NetworkFourier, parse_network_fourier
from app.core.networks.mechanisms.laplace import NetworkLaplace, parse_network_laplace
from app.core.networks.mechanisms.map_point import NetworkMap, parse_network_map
from app.core.networks.model import NetworkModel


class NetworkMechanism(Hashable, Protocol):
    """The shape of every mechanism, with counts for a statistic. `cost` uses public numbers only."""

    @property
    def kind(self) -> str: ...
    @property
    def samples(self) -> int: ...
    def as_json(self) -> dict[str, Any]: ...
    def with_samples(self, samples: int) -> "NetworkMechanism": ...
    def cost(self, model: NetworkModel, people: int, unit_rows: int) -> ReleaseCost: ...
    def draw(
        self,
        model: NetworkModel,
        people: int,
        unit_rows: int,
        counts: ExactCounts,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]: ...


NETWORK_MECHANISMS: dict[str, Callable[[Mapping[str, Any]], NetworkMechanism]] = {
    "baps": parse_network_baps,
    "laplace": parse_network_laplace,
    "fourier": parse_network_fourier,
    "map": parse_network_map,
}


__all__ = [
    "NETWORK_MECHANISMS",
    "NetworkBaps",
    "NetworkFourier",
    "NetworkLaplace",
    "NetworkMap",
    "NetworkMechanism",
]
