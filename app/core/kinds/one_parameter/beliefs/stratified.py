"""A table of masses as a fixed set of points: one in each of equally probable strata, the same for ever from the same seed."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import POINTS

Array = NDArray[np.float64]

_BYTES = 8


def stratified_points(edges: Array, masses: Array, seed: bytes) -> Array:
    """`masses` lie between `edges`, spread evenly. In an order of the seed's, so that a few are like all of them."""
    below = np.concatenate([[0.0], np.cumsum(masses)])
    uniform, shuffle = _uniforms(seed, 2 * POINTS).reshape(2, POINTS)
    levels = (np.arange(POINTS) + uniform) / POINTS
    points = np.interp(levels * below[-1], below, edges)
    return np.asarray(points[np.argsort(shuffle, kind="stable")])


def _uniforms(seed: bytes, count: int) -> Array:
    """In (0, 1), from a hash: no library's generator may change under a release."""
    words = np.frombuffer(hashlib.shake_256(seed).digest(_BYTES * count), dtype="<u8")
    return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)
