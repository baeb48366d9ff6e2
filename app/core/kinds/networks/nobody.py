"""A stratum without people: the Dirichlet priors of a network's tables, trimmed, and as they are."""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import POINTS, Belief
from app.core.kinds.networks.beliefs.pooled_prior import prior_concentration
from app.core.kinds.networks.beliefs.posterior import calibrated_range, within_range
from app.core.kinds.networks.mechanisms import NetworkBaps
from app.core.kinds.networks.model import NetworkModel

Array = NDArray[np.float64]

_BYTES = 8
_UNDERFLOWS = 1e-290


class NobodysTables:
    """No counts: what is left of every table is its prior."""

    def samples(self, model: NetworkModel, samples: int, random_bytes: Callable[[int], bytes]) -> Array:
        if model.pooled:
            return within_range(model, _prior_points(model, random_bytes(32), samples))
        return NetworkBaps(samples).draw(model, 1, 1, model.statistic.of_no_rows(), random_bytes)

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
            own = _uniforms(hashlib.sha256(seed + b"pooled " + node.name.encode()).digest(), (points, shape[2] + 1))
            concentration = prior_concentration(node, own[:, 0], _dirichlet(concentration, own[:, 1:]))
        found[:, network.cells(i)] = _dirichlet(concentration, uniform).reshape(points, -1)
    return found


def _dirichlet(concentration: Array, uniform: Array) -> Array:
    """Gamma variates over their sum, by their logarithms: of a weak prior most are smaller than doubles go."""
    from scipy.special import gammaincinv, gammaln  # loaded when first needed: half a second

    drawn = gammaincinv(concentration, uniform)
    with np.errstate(divide="ignore"):
        small = (np.log(uniform) + gammaln(concentration + 1)) / concentration  # F(x) = xᵃ/Γ(a+1) for small x
        logarithm = np.where(drawn < _UNDERFLOWS, small, np.log(drawn))
    share = np.exp(logarithm - logarithm.max(axis=-1, keepdims=True))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def _uniforms(seed: bytes, shape: tuple[int, ...]) -> Array:
    """In (0, 1), from a hash: no library's generator may change under a release."""
    words = np.frombuffer(hashlib.shake_256(seed).digest(_BYTES * int(np.prod(shape))), dtype="<u8")
    return np.asarray((((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53).reshape(shape))
