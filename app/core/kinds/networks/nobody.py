"""A stratum without people: the Dirichlet priors of a network's tables, trimmed, and as they are."""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import POINTS, Belief
from app.core.kinds.networks.beliefs.pooled_prior import dirichlet_of, prior_concentration
from app.core.kinds.networks.beliefs.posterior import calibrated_range, within_range
from app.core.kinds.networks.mechanisms import NetworkBaps
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import counts_request

Array = NDArray[np.float64]

_BYTES = 8


class NobodysTables:
    """No counts: what is left of every table is its prior."""

    def samples(self, model: NetworkModel, samples: int, random_bytes: Callable[[int], bytes]) -> Array:
        if model.pooled:
            return within_range(model, _prior_points(model, random_bytes(32), samples))
        return NetworkBaps(samples).draw(model, 1, 1, counts_request(model.network).of_no_rows(), random_bytes)

    def belief(self, model: NetworkModel, seed: bytes) -> Belief:
        parameters = calibrated_range(model)
        points = _prior_points(model, seed, POINTS)
        lower = np.array([each.lower for each in parameters])
        upper = np.array([each.upper for each in parameters])
        return Belief(parameters, points.clip(lower, upper))


def _prior_points(model: NetworkModel, seed: bytes, points: int) -> Array:
    network = model.network
    found = np.empty((points, network.cell_count))
    for i, node in enumerate(network.nodes):
        shape = (points, network.configurations(i), len(node.levels))
        uniform = _uniforms(hashlib.sha256(seed + node.name.encode()).digest(), shape)
        concentration = np.array(node.concentration)
        if network.pooled(i):
            stream = _Uniforms(seed + b"pooled " + node.name.encode())
            concentration = prior_concentration(node, network.pooled_groups(i), points, stream)
        found[:, network.cells(i)] = dirichlet_of(concentration, uniform).reshape(points, -1)
    return found


class _Uniforms:
    """One array after another."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._asked = seed, 0

    def __call__(self, shape: tuple[int, ...]) -> Array:
        self._asked += 1
        return _uniforms(hashlib.sha256(self._seed + b" %d" % self._asked).digest(), shape)


def _uniforms(seed: bytes, shape: tuple[int, ...]) -> Array:
    """In (0, 1), from a hash: no library's generator may change under a release."""
    words = np.frombuffer(hashlib.shake_256(seed).digest(_BYTES * int(np.prod(shape))), dtype="<u8")
    return np.asarray((((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53).reshape(shape))
